import type { Change } from '../domain/store/objects'
import type { Commit, CommitUnit, Database, ReadTx } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import type {
  CommitEvent,
  Delivery,
  LiveEvent,
  RejectedEvent,
  Rejection,
  Rejections,
  SessionEvent,
  TableChanges,
  Writer,
} from '../host/live-event'
import type { Follower, LiveSession } from '../host/live-view'

/**
 * Tells administrators what is written to a database, and what becomes of it at the sockets. Nothing but a look at a
 * counter and an entry in a list is on the way of a writer; the rest is read afterwards. Only `add` throws.
 */
export type Watch = ReturnType<typeof createWatch>

export interface WatchParts {
  /** The database, opened if it is closed. */
  readonly open: () => Promise<Database>
  /** ms since the epoch. */
  readonly now: () => number
  readonly sessions: Iterable<LiveSession>
  /** The sessions that get nothing of a commit, with the reason. */
  readonly silent: (commit: Commit) => Iterable<readonly [LiveSession, Delivery]>
  readonly report: (error: unknown) => void
}

const MOST_FOLLOWERS = 20
/** So many events are told at once, and so many in each second after that: a person reads no more. */
const BURST = 100
const EVENTS_A_SECOND = 50
/** So many of them are left for commits: anybody may send writes that are rejected. */
const BURST_OF_COMMITS = 50
/** Events within this time are told together, ms. */
const TOGETHER_MS = 100
/** So many sessions are named when a follower comes, and with a commit that does not concern them. */
const MOST_SESSIONS = 50
/** So many objects of a unit are looked at. */
const MOST_OBJECTS = 20
const MOST_REALMS = 20
/** So many entries are looked at in one read. */
const ENTRIES_OF_READ = 50
/** Commits that a delivery is told for. */
const MOST_RECENT = 100

/** Something to tell: an event, a unit that is read first, or the beginning for a new follower. */
type Entry =
  | LiveEvent
  | { readonly unit: CommitUnit; readonly at: number }
  | { readonly rejected: Rejection; readonly at: number }
  | { readonly begins: Follower }

export function createWatch({ open, now, sessions, silent, report }: WatchParts) {
  /** Those that have begun hear everything; true for these. */
  const followers = new Map<Follower, boolean>()
  const pending: Entry[] = []
  let left = BURST
  let missed = 0
  let isTelling = false
  /** The newest commits with their times by `performance.now`. */
  const recent: { readonly revision: number; readonly at: number }[] = []
  /** A reader may see a commit a moment before it is announced. */
  let early: (readonly [LiveSession, Delivery, number])[] = []
  /** The revision up to which it is known what a session got. */
  const reported = new WeakMap<LiveSession, number>()

  function isOver(): boolean {
    if (left > 0) {
      left -= 1
      return false
    }
    missed += 1
    return true
  }

  function push(entry: Entry): void {
    pending.push(entry)
    if (isTelling) return
    isTelling = true
    setImmediate(() => void tell())
  }

  async function tell(): Promise<void> {
    try {
      while (pending.length > 0) {
        const some = pending.splice(0, ENTRIES_OF_READ)
        const database = await open()
        const events = await database.read((tx) => some.map((entry) => describe(tx, entry)))
        for (const [at, event] of events.entries()) {
          const entry = some[at]
          if (entry !== undefined && 'begins' in entry) begin(entry.begins, event)
          else tellAll(event)
        }
        await Bun.sleep(TOGETHER_MS)
      }
    } catch (error) {
      missed += pending.length
      pending.length = 0
      // Those that could not begin hear what comes.
      for (const follower of followers.keys()) followers.set(follower, true)
      report(error)
    } finally {
      isTelling = false
    }
  }

  function describe(tx: ReadTx, entry: Entry): LiveEvent {
    if ('begins' in entry) return { kind: 'start', at: now(), revision: tx.revision() }
    if ('unit' in entry) return describeUnit(tx, entry.unit, entry.at)
    return 'rejected' in entry ? describeRejected(tx, entry.rejected, entry.at) : entry
  }

  function begin(follower: Follower, start: LiveEvent): void {
    if (!followers.has(follower)) return
    followers.set(follower, true)
    follower.take(start)
    let count = 0
    for (const session of sessions) {
      count += 1
      if (count > MOST_SESSIONS) return
      follower.take(sessionEvent(session, 'there', now()))
    }
  }

  function tellAll(event: LiveEvent): void {
    for (const [follower, hasBegun] of followers) if (hasBegun) follower.take(event)
  }

  function hear(session: LiveSession, outcome: Delivery, revision: number): void {
    if (revision <= (recent.at(-1)?.revision ?? 0)) tellDelivery(session, outcome, revision)
    else if (early.length < MOST_SESSIONS) early.push([session, outcome, revision])
  }

  function tellEarly(): void {
    const some = early
    early = []
    for (const delivery of some) tellDelivery(...delivery)
  }

  function tellDelivery(session: LiveSession, outcome: Delivery, revision: number): void {
    const after = reported.get(session) ?? (recent[0]?.revision ?? 1) - 1
    const newest = recent.findLast((commit) => commit.revision <= revision)
    if (newest === undefined || newest.revision <= after || isOver()) return
    // A client that was told to pull will do so: then it is answered.
    if (outcome !== 'told-to-pull' && outcome !== 'behind') reported.set(session, revision)
    const afterMs = Math.round((performance.now() - newest.at) * 10) / 10
    push({ kind: 'heard', after, revision, ...nameOf(session), outcome, afterMs })
  }

  function silence(commit: Commit): void {
    let count = 0
    for (const [session, outcome] of silent(commit)) {
      count += 1
      if (count > MOST_SESSIONS) return
      hear(session, outcome, commit.revision)
    }
  }

  function tellSession(session: LiveSession, state: SessionEvent['state']): void {
    if (!isOver()) push(sessionEvent(session, state, now()))
  }

  return {
    /** Throws `TOO_MANY_REQUESTS`. */
    add(follower: Follower): Disposable {
      if (followers.size >= MOST_FOLLOWERS) {
        throw new SatchelError(
          'TOO_MANY_REQUESTS',
          `At most ${MOST_FOLLOWERS} can follow a database at a time: close one of the others`,
        )
      }
      followers.set(follower, false)
      push({ begins: follower })
      return { [Symbol.dispose]: () => void followers.delete(follower) }
    },
    /** Called on the way of the writer. */
    committed(commit: Commit) {
      recent.push({ revision: commit.revision, at: performance.now() })
      if (recent.length > MOST_RECENT) recent.shift()
      const at = now()
      for (const unit of commit.units) if (!isOver()) push({ unit, at })
      tellEarly()
      // Later, because there may be very many sessions.
      if (left > 0) setImmediate(() => silence(commit))
    },
    /** Concerns every commit up to `revision` that was not reported for this session before. */
    delivered: hear,
    joined: (session: LiveSession) => tellSession(session, 'opened'),
    left: (session: LiveSession) => tellSession(session, 'closed'),
    rejected({ first, count }: Rejections) {
      const at = now()
      let told = 0
      for (const rejected of first) {
        if (left <= BURST_OF_COMMITS) break
        left -= 1
        told += 1
        push({ rejected, at })
      }
      missed += count - told
    },
    /** Called once a second. */
    tick() {
      left = Math.min(BURST, left + EVENTS_A_SECOND)
      tellEarly()
      if (missed === 0) return
      tellAll({ kind: 'missed', count: missed })
      missed = 0
    },
    /** The database is gone. */
    end() {
      for (const follower of followers.keys()) follower.ended()
    },
  }
}

function nameOf({ client, caller }: LiveSession) {
  return { device: client.identity, uid: caller?.actor.subject ?? null }
}

function sessionEvent(
  session: LiveSession,
  state: SessionEvent['state'],
  at: number,
): SessionEvent {
  return {
    kind: 'session',
    at,
    ...nameOf(session),
    origin: session.client.page?.origin ?? null,
    state,
  }
}

function describeUnit(tx: ReadTx, unit: CommitUnit, at: number): CommitEvent {
  const { revision, realms, records } = unit
  const { tables, hasMore } = changesOf(tx, unit)
  const ids = realms.slice(0, MOST_REALMS).map((realm) => tx.realms.findByRef(realm)?.id)
  return {
    kind: 'commit',
    at,
    revision,
    tables,
    hasMore,
    realms: ids.filter((id) => id !== undefined),
    records: records.slice(0, MOST_REALMS),
    writer: writerOf(tx, unit),
  }
}

function describeRejected(
  tx: ReadTx,
  { subject, device, door, ...rest }: Rejection,
  at: number,
): RejectedEvent {
  return { kind: 'rejected', at, ...rest, writer: { ...nameOfWriter(tx, subject), device, door } }
}

function changesOf(
  tx: ReadTx,
  { revision, realms, tables }: CommitUnit,
): { readonly tables: readonly TableChanges[]; readonly hasMore: boolean } {
  if (tables.length === 0) return { tables: [], hasMore: false }
  const { changes, next } = tx.objects.changes(
    new Set(realms),
    revision - 1,
    revision,
    { rows: MOST_OBJECTS, bytes: 64 * 1024 },
    new Set(tables),
  )
  const byTable = Map.groupBy(changes, ({ table }) => table)
  return {
    tables: Array.from(byTable, ([table, some]) => summarise(table, some)),
    hasMore: next !== undefined,
  }
}

function summarise(table: string, changes: readonly Change[]): TableChanges {
  const put = new Set(changes.flatMap(({ key, object }) => (object === null ? [] : [key])))
  // An object that moved is gone from one realm and in another.
  const gone = new Set(changes.flatMap(({ key }) => (put.has(key) ? [] : [key])))
  return { table, puts: put.size, deletes: gone.size, keys: [...put, ...gone] }
}

function writerOf(tx: ReadTx, { subject, client, programPart }: CommitUnit): Writer {
  const [device] = client === null ? [] : tx.syncClients.list(client - 1, 1)
  return {
    ...nameOfWriter(tx, subject),
    device: device?.number === client ? (device?.identity ?? null) : null,
    door: programPart,
  }
}

function nameOfWriter(
  tx: ReadTx,
  subject: string | null,
): Pick<Writer, 'uid' | 'email' | 'client'> {
  const isClient = subject !== null && tx.clients.find(subject) !== undefined
  const user = subject === null || isClient ? undefined : tx.users.find(subject)
  const email = user?.data?.['email']
  return {
    uid: isClient ? null : subject,
    email: typeof email === 'string' ? email : null,
    client: isClient ? subject : null,
  }
}
