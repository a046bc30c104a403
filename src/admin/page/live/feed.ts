/** The author of a change. */
export interface Writer {
  readonly uid?: string | null
  readonly email?: string | null
  readonly client?: string | null
  readonly device?: string | null
  readonly door: string
}

export interface TableChange {
  readonly table: string
  readonly puts: number
  readonly deletes: number
  /** The first few keys. */
  readonly keys: readonly string[]
}

export interface Commit {
  readonly kind: 'commit'
  /** ms since the epoch. */
  readonly at: number
  readonly revision: number
  readonly tables: readonly TableChange[]
  readonly realms: readonly string[]
  readonly writer: Writer
  readonly txid?: string | null
}

export type Outcome = 'sent' | 'pull' | 'token-expired' | 'not-a-member' | 'behind'

export interface Heard {
  readonly kind: 'heard'
  readonly revision: number
  readonly device: string
  readonly uid: string
  readonly outcome: Outcome
  readonly afterMs: number
}

export interface Rejected {
  readonly kind: 'rejected'
  readonly at: number
  readonly writer: Writer
  readonly table: string
  readonly key: string | null
  readonly code: string
  readonly rule?: string | null
  readonly message: string
  readonly txid?: string | null
}

export interface SessionChange {
  readonly kind: 'session'
  readonly device: string
  readonly uid: string
  readonly state: string
}

export interface Missed {
  readonly kind: 'missed'
  readonly count: number
}

export type LiveItem = Commit | Heard | Rejected | SessionChange | Missed

/** A line of the page. */
export type Entry =
  | { readonly id: number; readonly commit: Commit; readonly heard: readonly Heard[] }
  | { readonly id: number; readonly rejected: Rejected }
  /** A time in which the page heard nothing; `missed` counts the changes then, null when it is unknown. */
  | { readonly id: number; readonly gap: { readonly at: number; readonly missed: number | null } }

export interface Feed {
  /** The newest first. */
  readonly entries: readonly Entry[]
  readonly nextId: number
  /** The last commit that was heard of; null before the first. */
  readonly revision: number | null
  /** True between a cut and the next commit. */
  readonly wasCut: boolean
  /** The users of the devices with a live connection. */
  readonly devices: ReadonlyMap<string, string>
}

export const EMPTY_FEED: Feed = {
  entries: [],
  nextId: 1,
  revision: null,
  wasCut: false,
  devices: new Map(),
}

/** The most lines that are kept. */
export const MOST_ENTRIES = 500

/** The lines after these items. `now` in ms. */
export function addItems(feed: Feed, items: readonly LiveItem[], now: number): Feed {
  const added = items.reduce((each, item) => addItem(each, item, now), feed)
  return added.entries.length <= MOST_ENTRIES
    ? added
    : { ...added, entries: added.entries.slice(0, MOST_ENTRIES) }
}

function addItem(feed: Feed, item: LiveItem, now: number): Feed {
  switch (item.kind) {
    case 'commit':
      return addCommit(feed, item)
    case 'heard':
      return addHeard(feed, item)
    case 'rejected':
      return addEntry(feed, { id: feed.nextId, rejected: item })
    case 'missed':
      return addEntry(feed, { id: feed.nextId, gap: { at: now, missed: item.count } })
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

function addCommit(feed: Feed, commit: Commit): Feed {
  const { revision, wasCut } = feed
  const missed = revision === null ? 0 : commit.revision - revision - 1
  const before =
    wasCut && missed > 0
      ? addEntry(feed, { id: feed.nextId, gap: { at: commit.at, missed } })
      : feed
  const after = addEntry(before, { id: before.nextId, commit, heard: [] })
  return { ...after, revision: commit.revision, wasCut: false }
}

function addHeard(feed: Feed, heard: Heard): Feed {
  const at = feed.entries.findIndex(
    (each) => 'commit' in each && each.commit.revision === heard.revision,
  )
  const entry = feed.entries[at]
  if (entry === undefined || !('commit' in entry)) return feed
  return {
    ...feed,
    entries: feed.entries.with(at, { ...entry, heard: [...entry.heard, heard] }),
  }
}

function addEntry(feed: Feed, entry: Entry): Feed {
  return { ...feed, nextId: feed.nextId + 1, entries: [entry, ...feed.entries] }
}

/** The feed after the way to the server was cut: its devices are not known any more. */
export function cutFeed(feed: Feed): Feed {
  return { ...feed, wasCut: true, devices: new Map() }
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
  const { writer, tables, realms } = entry.commit
  return [
    writer.uid,
    writer.email,
    writer.client,
    writer.door,
    ...realms,
    ...tables.flatMap(({ table, keys }) => [table, ...keys]),
    ...entry.heard.map(({ uid }) => uid),
  ]
}
