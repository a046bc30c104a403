import type { CommitEvent, HeardEvent, LiveEvent, RejectedEvent } from '../../../host/live-event'

/** A line of the page. */
export type Entry =
  | { readonly id: number; readonly commit: CommitEvent; readonly heard: readonly HeardEvent[] }
  | { readonly id: number; readonly rejected: RejectedEvent }
  | { readonly id: number; readonly gap: Gap }

/** The page did not hear of so many events, or of so many changes while the way to the server was cut. */
export interface Gap {
  readonly at: number
  readonly missed: number
  readonly of: 'event' | 'change'
}

export interface Feed {
  /** The newest first. */
  readonly entries: readonly Entry[]
  readonly nextId: number
  /** The last commit that was heard of; null before the first. */
  readonly revision: number | null
  /** The users of the devices with a live connection; null: nobody is logged in. */
  readonly devices: ReadonlyMap<string, string | null>
}

export const EMPTY_FEED: Feed = {
  entries: [],
  nextId: 1,
  revision: null,
  devices: new Map(),
}

/** The most lines that are kept. */
export const MOST_ENTRIES = 500

/** The lines after these items. `now` in ms. */
export function addItems(feed: Feed, items: readonly LiveEvent[], now: number): Feed {
  const added = items.reduce((each, item) => addItem(each, item, now), feed)
  return added.entries.length <= MOST_ENTRIES
    ? added
    : { ...added, entries: added.entries.slice(0, MOST_ENTRIES) }
}

function addItem(feed: Feed, item: LiveEvent, now: number): Feed {
  switch (item.kind) {
    case 'start':
      return begin(feed, item)
    case 'commit': {
      const after = addEntry(feed, { id: feed.nextId, commit: item, heard: [] })
      return { ...after, revision: item.revision }
    }
    case 'heard':
      return addHeard(feed, item)
    case 'rejected':
      return addEntry(feed, { id: feed.nextId, rejected: item })
    case 'missed':
      return addEntry(feed, { id: feed.nextId, gap: { at: now, missed: item.count, of: 'event' } })
    case 'session': {
      const devices = new Map(feed.devices)
      if (item.state === 'closed') devices.delete(item.device)
      else devices.set(item.device, item.uid)
      return { ...feed, devices }
    }
    default:
      return feed
  }
}

/** After a cut, the page says how many changes it did not hear of. */
function begin(feed: Feed, { at, revision }: Extract<LiveEvent, { kind: 'start' }>): Feed {
  const missed = revision - (feed.revision ?? revision)
  const fresh = { ...feed, revision, devices: new Map() }
  return missed > 0
    ? addEntry(fresh, { id: feed.nextId, gap: { at, missed, of: 'change' } })
    : fresh
}

/** A message to a device may have the changes of several commits. */
function addHeard(feed: Feed, heard: HeardEvent): Feed {
  if (heard.outcome === 'nothing') return feed
  const entries = feed.entries.map((entry) =>
    'commit' in entry && isIn(heard, entry.commit)
      ? { ...entry, heard: [...entry.heard, heard] }
      : entry,
  )
  return { ...feed, entries }
}

function isIn({ after, revision }: HeardEvent, commit: CommitEvent): boolean {
  return commit.revision > after && commit.revision <= revision
}

function addEntry(feed: Feed, entry: Entry): Feed {
  return { ...feed, nextId: feed.nextId + 1, entries: [entry, ...feed.entries] }
}

/** Without the lines before this one. */
export function withoutOld(feed: Feed, id: number): Feed {
  return { ...feed, entries: feed.entries.filter((entry) => entry.id >= id) }
}

/** True for a line that has the text in its writer, tables, keys, realms, code or sentence. */
export function matches(entry: Entry, text: string, onlyRejected: boolean): boolean {
  if ('gap' in entry) return text === ''
  if (onlyRejected && !('rejected' in entry)) return false
  if (text === '') return true
  const wanted = text.toLowerCase()
  return textsOf(entry).some((each) => each?.toLowerCase().includes(wanted) === true)
}

function textsOf(entry: Exclude<Entry, { gap: unknown }>): (string | null | undefined)[] {
  if ('rejected' in entry) {
    const { writer, table, key, code, message } = entry.rejected
    return [writer.uid, writer.email, writer.client, table, key, code, message]
  }
  const { writer, tables, realms, records } = entry.commit
  return [
    writer.uid,
    writer.email,
    writer.client,
    writer.door,
    ...realms,
    ...records,
    ...tables.flatMap(({ table, keys }) => [table, ...keys]),
    ...entry.heard.map(({ uid }) => uid),
  ]
}
