import { useEffect, useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { moveByArrows } from '../parts/arrow-keys'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { PageHead } from '../parts/page-head'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { database, goTo, place } from '../shell/route'
import { sizeText } from '../value/typed'
import type { BlobInfo } from './blob'
import { FilePanel } from './file-panel'
import { FileWork } from './file-work'

interface BlobPage {
  readonly blobs: readonly BlobInfo[]
  readonly next: string | null
}

const PAGE = 200

/** The blobs of the database with their references. */
export function Files() {
  const [onlyUnreferenced, setOnly] = useState(false)
  const [after, setAfter] = useState('')
  const [before, setBefore] = useState<readonly BlobInfo[]>([])
  const { value, error, reload } = useOperation<BlobPage>('blob.list', {
    database: database.value,
    after,
    limit: PAGE,
    onlyUnreferenced,
  })
  useEffect(() => {
    setAfter('')
    setBefore([])
  }, [onlyUnreferenced])
  const blobs = [...before, ...(value?.blobs ?? [])]
  const [chosen] = place.value.rest
  const more = () => {
    setBefore(blobs)
    setAfter(value?.next ?? '')
  }
  return (
    <div class={`split ${chosen === undefined ? '' : 'with-panel'}`}>
      <section class="fill">
        <PageHead title="Files" about={<Usage />}>
          <button aria-pressed={onlyUnreferenced} onClick={() => setOnly(!onlyUnreferenced)}>
            Unreferenced
          </button>
        </PageHead>
        <Failure error={error} onAgain={reload} />
        <FileWork onDone={reload} />
        {value !== undefined && blobs.length === 0 ? (
          <Empty icon="files" title={onlyUnreferenced ? 'All files are referenced' : 'No file yet'}>
            <p>
              Pictures and other files of objects are kept as blobs.{' '}
              <a href="docs/blobs" target="_blank" rel="noopener">
                Store files and pictures
              </a>
            </p>
          </Empty>
        ) : (
          <div class="sheet-box">
            <table class="sheet" onKeyDown={moveByArrows}>
              <thead>
                <tr>
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
                </tr>
              </thead>
              <tbody>
                {blobs.map((blob) => (
                  <BlobRow key={blob.ref} blob={blob} isChosen={blob.ref === chosen} />
                ))}
              </tbody>
            </table>
            {(value?.next ?? null) !== null && (
              <button class="more" onClick={more}>
                More
              </button>
            )}
          </div>
        )}
      </section>
      {chosen !== undefined && (
        <FilePanel key={chosen} blob={chosen} onClose={() => goTo('files')} />
      )}
    </div>
  )
}

interface Quota {
  readonly usage: { readonly blobs: number; readonly bytes: number }
  readonly limits: { readonly database: number | null }
}

function Usage() {
  const { value } = useOperation<Quota>('blob.quota', { database: database.value })
  if (value === undefined) return null
  const { usage, limits } = value
  const most = limits.database === null ? '' : ` of ${sizeText(limits.database)}`
  return (
    <>
      {usage.blobs.toLocaleString()} files, {sizeText(usage.bytes)}
      {most}
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
