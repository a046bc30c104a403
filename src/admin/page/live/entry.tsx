import { useState } from 'preact/hooks'
import { ExplainDialog } from '../explain/explain-dialog'
import { questionOf } from '../explain/question'
import { Icon } from '../parts/icon'
import { exactTime } from '../parts/ago'
import { still } from '../parts/still'
import { visible } from '../parts/visible'
import { shortText, Text } from '../parts/text'
import { may } from '../server/session'
import { hrefOf } from '../shell/route'
import type {
  CommitEvent,
  Delivery,
  HeardEvent,
  RejectedEvent,
  TableChanges,
  Writer,
} from '../../../host/live-event'
import type { Entry, Gap } from './feed'
import { Hearers } from './hearers'

/** A line, which is only drawn again when it has changed. */
export const EntryRow = still(({ entry }: { entry: Entry }) => {
  if ('rejected' in entry) return <RejectedRow rejected={entry.rejected} />
  if ('gap' in entry) return <GapRow gap={entry.gap} />
  return <CommitRow commit={entry.commit} heard={entry.heard} />
})

function CommitRow({ commit, heard }: { commit: CommitEvent; heard: readonly HeardEvent[] }) {
  return (
    <li class="entry">
      <Clock at={commit.at} />
      <Author writer={commit.writer} />
      <div class="changes">
        {commit.tables.map((change) => (
          <Change key={change.table} change={change} />
        ))}
        {commit.hasMore && <span class="soft small">and more objects</span>}
        {commit.records.map((record) => (
          <span key={record} class="soft">
            <Text text={record} />
          </span>
        ))}
        {commit.tables.length === 0 && commit.records.length === 0 && (
          <span class="soft">no object</span>
        )}
        <Realms realms={commit.realms} writer={commit.writer.uid} />
      </div>
      <Hearers
        heard={heard.filter(({ outcome, device }) => isOther(commit.writer, outcome, device))}
      />
    </li>
  )
}

/** The writer of a change has it in the answer. */
function isOther(writer: Writer, outcome: Delivery, device: string): boolean {
  return outcome !== 'answered' || device !== writer.device
}

function RejectedRow({ rejected }: { rejected: RejectedEvent }) {
  const [isExplaining, setIsExplaining] = useState(false)
  const { writer, table, key, code, message, rule } = rejected
  const user = table === null ? null : writer.uid
  return (
    <li class="entry rejected">
      <Clock at={rejected.at} />
      <Author writer={writer} />
      <div class="changes">
        <span class="change">
          <Icon name="close" />
          {table === null ? (
            'All changes of a request'
          ) : (
            <span class="table-name">
              <Text text={table} />
            </span>
          )}
          {table !== null && key !== null && <KeyLink table={table} objectKey={key} />}
        </span>
        <span class="sentence">
          <Text text={message} />
          {rule !== null && (
            <span class="soft">
              {' '}
              (<Text text={rule} />)
            </span>
          )}
        </span>
      </div>
      <div class="hearers">
        <code class="badge bad">{code}</code>
        {user && may('explain') && (
          <button class="small-button" onClick={() => setIsExplaining(true)}>
            Explain
          </button>
        )}
      </div>
      {isExplaining && user && (
        <ExplainDialog
          question={questionOf(user, rejected)}
          onClose={() => setIsExplaining(false)}
        />
      )}
    </li>
  )
}

function GapRow({ gap: { at, missed, of } }: { gap: Gap }) {
  return (
    <li class="entry gap">
      <Clock at={at} />
      <span>
        This page missed {missed.toLocaleString()} {missed === 1 ? of : `${of}s`} here.
      </span>
    </li>
  )
}

function Clock({ at }: { at: number }) {
  const date = new Date(at)
  const pad = (value: number, length = 2) => String(value).padStart(length, '0')
  return (
    <time class="clock" dateTime={date.toISOString()} title={exactTime(date)}>
      {pad(date.getHours())}:{pad(date.getMinutes())}:{pad(date.getSeconds())}
      <span class="ms">.{pad(date.getMilliseconds(), 3)}</span>
    </time>
  )
}

function Author({ writer }: { writer: Writer }) {
  const { uid, email, client, device, door } = writer
  const isFromOutside = door === 'rest' || door === 'sync'
  const name = email ?? uid ?? client ?? (isFromOutside ? 'anonymous' : 'the server')
  return (
    <div class="author">
      <span class="clip" title={shortText(name, MOST_OF_TITLE)}>
        <Text text={name} />
      </span>
      <span class="soft small clip">
        {door}
        {device === null ? '' : ` · ${visible(device.slice(0, 6))}`}
      </span>
    </div>
  )
}

const SHOWN_KEYS = 3
const MOST_OF_TITLE = 1_000

function Change({ change }: { change: TableChanges }) {
  const { table, puts, deletes, keys } = change
  const rest = puts + deletes - Math.min(keys.length, SHOWN_KEYS)
  return (
    <span class="change">
      {puts > 0 && <span class="count good-text">+{puts.toLocaleString()}</span>}
      {deletes > 0 && <span class="count bad-text">−{deletes.toLocaleString()}</span>}
      <a class="table-name" href={hrefOf('data', table)}>
        <Text text={table} />
      </a>
      {keys.slice(0, SHOWN_KEYS).map((key) => (
        <KeyLink key={key} table={table} objectKey={key} />
      ))}
      {rest > 0 && <span class="soft small">and {rest.toLocaleString()} more</span>}
    </span>
  )
}

function KeyLink({ table, objectKey }: { table: string; objectKey: string }) {
  return (
    <a
      class="object-key"
      title={shortText(objectKey, MOST_OF_TITLE)}
      href={hrefOf('data', table, objectKey)}
    >
      <Text text={objectKey} />
    </a>
  )
}

/** The private realm of the writer is the usual one, and is not named again. */
function Realms({ realms, writer }: { realms: readonly string[]; writer: string | null }) {
  const [first] = realms
  if (first === undefined) return null
  if (realms.length === 1 && first === writer) return <span class="realm">private</span>
  return (
    <a
      class="realm"
      title={shortText(realms.join('\n'), MOST_OF_TITLE)}
      href={hrefOf('sharing', first)}
    >
      <Text text={first} />
      {realms.length > 1 && ` +${realms.length - 1}`}
    </a>
  )
}
