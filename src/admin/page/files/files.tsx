import { useState } from 'preact/hooks'
import { PAGE, type Paging, usePages } from '../data/use-rows'
import { Ago } from '../parts/ago'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { ListPage } from '../parts/list-page'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { isReadOnly } from '../server/session'
import { database, goTo, place } from '../shell/route'
import { sizeText } from '../value/typed'
import type { BlobInfo } from './blob'
import { FilePanel } from './file-panel'
import { FileWork } from './file-work'
import { type Quota, QuotaDialog } from './quota-dialog'

const PAGES: Paging = {
  list: 'blobs',
  inputOf: (query, after) => ({ ...query, after: after ?? '' }),
  cursorOf: ({ next }) => next as string | null,
}

/** The blobs of the database with their references. */
export function Files() {
  const [onlyUnreferenced, setOnly] = useState(false)
  const query = { database: database.value, limit: PAGE, onlyUnreferenced }
  const list = usePages<BlobInfo>('blob.list', PAGES, query)
  const quota = useOperation<Quota>('blob.quota', { database: database.value })
  const [isLimiting, setIsLimiting] = useState(false)
  const [chosen] = place.value.rest
  return (
    <>
      <ListPage
        title="Files"
        about={
          quota.value === undefined ? (
            ''
          ) : (
            <Usage quota={quota.value} onChange={() => setIsLimiting(true)} />
          )
        }
        actions={
          <button aria-pressed={onlyUnreferenced} onClick={() => setOnly(!onlyUnreferenced)}>
            Unreferenced
          </button>
        }
        work={
          <>
            <Failure error={quota.error} onAgain={quota.reload} />
            <FileWork
              onDone={() => {
                list.reload()
                quota.reload()
              }}
            />
          </>
        }
        list={list}
        columns={
          <>
            <th scope="col">File</th>
            <th scope="col" class="wide-only">
              Type
            </th>
            <th scope="col" class="number">
              Size
            </th>
            <th scope="col" class="wide-only">
              Came
            </th>
            <th scope="col">Referenced</th>
          </>
        }
        rowOf={(blob) => <BlobRow key={blob.ref} blob={blob} isChosen={blob.ref === chosen} />}
        empty={
          <Empty icon="files" title={onlyUnreferenced ? 'All files are referenced' : 'No file yet'}>
            <p>
              Pictures and other files of objects are kept as blobs.{' '}
              <a href="docs/blobs" target="_blank" rel="noopener">
                Store files and pictures
              </a>
            </p>
          </Empty>
        }
        panel={chosen && <FilePanel key={chosen} blob={chosen} onClose={() => goTo('files')} />}
      />
      {isLimiting && quota.value !== undefined && (
        <QuotaDialog
          quota={quota.value}
          onClose={() => setIsLimiting(false)}
          onChanged={() => {
            setIsLimiting(false)
            quota.reload()
          }}
        />
      )}
    </>
  )
}

/** How much there is, and how much may be. */
function Usage({ quota: { usage, limits }, onChange }: { quota: Quota; onChange: () => void }) {
  const most = limits.database === null ? '' : ` of ${sizeText(limits.database)}`
  return (
    <>
      {usage.blobs.toLocaleString()} files, {sizeText(usage.bytes)}
      {most}
      {!isReadOnly.value && (
        <>
          {' · '}
          <button class="link" onClick={onChange}>
            Limits
          </button>
        </>
      )}
    </>
  )
}

function BlobRow({ blob, isChosen }: { blob: BlobInfo; isChosen: boolean }) {
  const { ref, size, type, created, unreferencedSince } = blob
  return (
    <tr class={isChosen ? 'chosen' : ''} onClick={() => goTo('files', ref)}>
      <th scope="row">
        <button class="row-button mono" onClick={() => goTo('files', ref)}>
          <span class="clip">
            <Text text={ref} />
          </span>
        </button>
      </th>
      <td class="soft wide-only">
        <Text text={type} most={60} />
      </td>
      <td class="number">{sizeText(size)}</td>
      <td class="soft wide-only">
        <Ago at={created} />
      </td>
      <td>
        {unreferencedSince === null ? (
          <span class="soft">yes</span>
        ) : (
          <span class="badge warn">
            not since <Ago at={unreferencedSince} />
          </span>
        )}
      </td>
    </tr>
  )
}
