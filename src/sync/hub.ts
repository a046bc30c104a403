import { PUBLIC_CLIENT } from '../domain/access/actor'
import type { RealmRef } from '../domain/store/realms'
import type { Commit, Database, ReadTx } from '../domain/store/store'
import { realmSetHash } from '../domain/sync/realm-set'
import { SatchelError } from '../domain/value/error'
import { DAY, HOUR, MINUTE, SECOND } from '../domain/value/time'
import { nextTurn } from '../domain/value/turn'
import { createAudience } from './audience'
import { createDelivery, TELL_EVERY } from './delivery'
import { createFeed } from './feed'
import type { Ticket } from './gate'
import { createPages } from './pages'
import { type Caller, Session, type SocketClient } from './session'
import { BLIND, type Sight } from './sight'

/** What a client has after an answer to its request: the fields of that answer. */
export interface Answered {
  /** `serverRevision` as it was sent, and its number. */
  readonly serverRevision: string
  readonly revision: number
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
  /** The tables that the client declares and marks for sync. */
  readonly tables: ReadonlySet<string>
  /** Its `Y.Doc` properties (`textsDeclared`). */
  readonly texts: string
}

/** A request of a client that is being answered: until it is disposed, its sockets hear nothing. */
export interface Answering extends Disposable {
  /** The answer is complete: the client has this when it receives the rest of it. */
  answered(answer: Answered): void
}

/** The sockets of one database, whether it is open or not (protocol.md §5). */
export interface Hub {
  readonly databaseId: string
  /** ms; never goes back. */
  now(): number
  connect(client: SocketClient, caller: Caller | undefined, ticket: Ticket): Session
  answering(identity: string, subject: string | null): Answering
  /** Hears the commits of the database, which was opened. */
  attach(database: Database): void
  /** Called once a second. */
  tick(): void
  /** Mutes all sockets: the database is gone. */
  end(): void
  /** Closes all sockets: their clients come back. */
  drop(): void
  /** Hears no more commits. */
  detach(): void
  /** True when nothing has used it for a while. */
  readonly isIdle: boolean
}

export interface HubContext {
  /** The database, opened if it is closed. */
  open(): Promise<Database>
  /** ms; never goes back. */
  now(): number
  report(error: unknown): void
}

/** The most sockets that one turn of the event loop serves, and how long it may take, ms. */
const TURN_SOCKETS = 256
const TURN_MS = 8
/** How many clients are told to pull at a time, and the pause before the next ones, ms. */
const TURN_PULLS = 16
const PULLS_PAUSE_MS = 20
/** While this many clients are being answered, no others are told to pull: their requests would only wait. */
const MOST_PULLING = 64
/** A client that hears nothing for this long gets the newest revision, before its own is forgotten. */
const AGE = DAY

export function createHub(databaseId: string, context: HubContext): Hub {
  const now = () => context.now()
  const sessions = new Set<Session>()
  /** Sockets of a user share one `Sight`, which listens to each of its realms in their place. */
  const byRealm = createAudience<RealmRef, Sight>()
  const bySight = createAudience<Sight, Session>()
  const bySubject = createAudience<string, Session>()
  const byClient = createAudience<string, Session>()
  /** By the records, besides its user, that the token of a session ends with (`CommitUnit.records`). */
  const byRecord = createAudience<string, Session>()
  /** How many requests of a client are being answered. */
  const held = new Map<string, number>()
  /** Sessions to serve, now and at the next tick. */
  const due = new Set<Session>()
  const later = new Set<Session>()
  /** Sessions whose clients are told to pull when fewer clients are being answered. */
  const postponed = new Set<Session>()
  /** Realms that have changed during a job. */
  const laterRealms = new Set<RealmRef>()
  const feed = createFeed()
  // Slow readers may keep all of these requests open: when none has ended for a minute, others are told too.
  const isCrowded = () => held.size >= MOST_PULLING && now() - lastEnd < TELL_EVERY
  const delivery = createDelivery({
    feed,
    now,
    listen,
    isHeld: (session) => held.has(clientOf(session)),
    isCrowded,
    postpone: (session) => void postponed.add(session),
  })
  const pages = createPages({ mute: delivery.mute, report: (error) => context.report(error) })
  let stopHearing: () => void = () => undefined
  let isServing = false
  let quietUntil = 0
  let lookedForAge = now()
  let used = now()
  /** When the last answer was complete. */
  let lastEnd = now()

  function hear(commit: Commit): void {
    feed.hear(commit)
    // A job commits all the time: during it a socket hears once a second.
    if (commit.jobs) quietUntil = now() + SECOND
    const isQuiet = now() < quietUntil
    for (const unit of commit.units) {
      const { realms, subjects, records } = unit
      pages.hear(unit)
      for (const realm of realms) {
        if (isQuiet) laterRealms.add(realm)
        else wake(realm)
      }
      for (const subject of subjects) {
        for (const session of bySubject.of(subject)) doubt(session)
      }
      for (const record of records) {
        const concerned = record === 'everything' ? sessions : byRecord.of(record)
        for (const session of concerned) doubt(session)
      }
    }
    schedule()
  }

  function wake(realm: RealmRef): void {
    for (const sight of byRealm.of(realm)) {
      for (const session of bySight.of(sight)) if (session.isReady) due.add(session)
    }
  }

  /** Looks at the rights of its user again. */
  function doubt(session: Session): void {
    session.isStale = true
    due.add(session)
  }

  function schedule(): void {
    if (isServing || (due.size === 0 && !pages.areDue)) return
    isServing = true
    setImmediate(() => void serveAll())
  }

  async function serveAll(): Promise<void> {
    try {
      while (due.size > 0 || pages.areDue) {
        const database = await context.open()
        const before = delivery.pulls
        await database.read(serveSome)
        // Clients that pull at the same time wait for each other, and slow down everybody else.
        if (delivery.pulls > before && due.size > 0) await Bun.sleep(PULLS_PAUSE_MS)
        else await nextTurn()
      }
    } catch (error) {
      fail(error)
    } finally {
      isServing = false
      delivery.rest()
      feed.rest()
      schedule()
    }
  }

  function fail(error: unknown): void {
    const code = error instanceof SatchelError ? error.code : undefined
    if (code === 'UNKNOWN_DATABASE') end()
    else if (code !== 'BUSY') context.report(error)
    for (const session of due) later.add(session)
    due.clear()
    pages.postpone()
  }

  function serveSome(tx: ReadTx): void {
    if (pages.areDue) pages.dismiss(tx)
    const revision = tx.revision()
    const start = performance.now()
    const before = delivery.pulls
    let count = 0
    for (const session of due) {
      due.delete(session)
      // It has to pull: its changes were read before, and were too many for a message.
      if (postponed.has(session) && !session.isStale && isCrowded()) continue
      postponed.delete(session)
      try {
        delivery.serve(tx, session, revision)
      } catch (error) {
        session.told = now()
        context.report(error)
      }
      count += 1
      if (count >= TURN_SOCKETS || performance.now() - start >= TURN_MS) return
      if (delivery.pulls - before >= TURN_PULLS) return
    }
  }

  function listen(session: Session, sight: Sight): void {
    if (!sessions.has(session)) return
    const former = session.sight
    if (former === sight) return
    if (sight !== BLIND && bySight.add(sight, session)) {
      for (const realm of sight.realms) byRealm.add(realm, sight)
      for (const realm of sight.invited) byRealm.add(realm, sight)
    }
    if (former !== BLIND && bySight.remove(former, session)) {
      for (const realm of former.realms) byRealm.remove(realm, former)
      for (const realm of former.invited) byRealm.remove(realm, former)
    }
  }

  function answering(identity: string, subject: string | null): Answering {
    used = now()
    const client = nameOf(identity, subject)
    held.set(client, (held.get(client) ?? 0) + 1)
    let isOver = false
    return {
      answered({ serverRevision: text, revision, realms, inviteRealms, tables, texts }) {
        let hash: string | undefined
        for (const session of byClient.of(client)) {
          hash ??= realmSetHash(realms, inviteRealms)
          session.answered({ text, revision }, hash, { tables, texts })
        }
      },
      [Symbol.dispose]() {
        if (isOver) return
        isOver = true
        lastEnd = now()
        const others = (held.get(client) ?? 1) - 1
        if (others > 0) held.set(client, others)
        else held.delete(client)
        for (const session of byClient.of(client)) {
          postponed.delete(session)
          due.add(session)
        }
        const [next] = postponed
        if (next !== undefined) due.add(next)
        schedule()
      },
    }
  }

  function tick(): void {
    const time = now()
    for (const session of sessions) {
      const { ends, told } = session
      if (session.isMuted) {
        if (time - told >= TELL_EVERY && !session.isFull) session.remind()
      } else if (ends <= time) {
        delivery.mute(session)
      } else if (session.hasMissed()) {
        delivery.tellMissed(session)
      } else if (session.isReady && told !== 0 && time - told >= TELL_EVERY) {
        due.add(session)
      }
    }
    if (time - lookedForAge >= HOUR) {
      lookedForAge = time
      for (const session of sessions) {
        if (!session.isReady || time - session.since < AGE) continue
        session.isAging = true
        due.add(session)
      }
    }
    for (const session of [...later, ...postponed]) due.add(session)
    later.clear()
    pages.resume()
    for (const realm of laterRealms) wake(realm)
    laterRealms.clear()
    schedule()
  }

  function end(): void {
    for (const session of sessions) delivery.mute(session, 'The database no longer exists')
  }

  const own = {
    now,
    joined(session: Session) {
      sessions.add(session)
      byClient.add(clientOf(session), session)
      for (const subject of subjectsOf(session)) bySubject.add(subject, session)
      for (const record of recordsOf(session)) byRecord.add(record, session)
      pages.add(session)
    },
    left(session: Session) {
      listen(session, BLIND)
      delivery.forget(session)
      sessions.delete(session)
      byClient.remove(clientOf(session), session)
      for (const subject of subjectsOf(session)) bySubject.remove(subject, session)
      for (const record of recordsOf(session)) byRecord.remove(record, session)
      pages.remove(session)
      for (const set of [due, later, postponed]) set.delete(session)
    },
    serve(session: Session) {
      postponed.delete(session)
      due.add(session)
      schedule()
    },
  }

  return {
    databaseId,
    now,
    connect(client, caller, ticket) {
      used = now()
      return new Session(own, client, caller, ticket)
    },
    answering,
    attach(database) {
      stopHearing()
      feed.restart()
      stopHearing = database.onCommit(hear)
      // Others may have committed since it was opened.
      for (const session of sessions) doubt(session)
      schedule()
    },
    tick,
    end,
    drop() {
      for (const session of sessions) session.drop()
    },
    detach: () => stopHearing(),
    get isIdle() {
      return sessions.size === 0 && held.size === 0 && now() - used >= MINUTE
    },
  }
}

function nameOf(identity: string, subject: string | null): string {
  return `${subject ?? ''}\n${identity}`
}

function clientOf({ client, caller }: Session): string {
  return nameOf(client.identity, caller?.actor.subject ?? null)
}

/** The names under which commits announce changes that concern the user. */
function subjectsOf({ caller }: Session): readonly string[] {
  const { subject = null, email = null } = caller?.actor ?? {}
  return [...new Set([subject, email])].filter((name) => name !== null)
}

/** The client and the login that its token ends with, as commits name them (`CommitUnit.records`). */
function recordsOf({ caller }: Session): readonly string[] {
  const facts = caller?.actor.bond?.facts
  if (facts === undefined) return []
  const { clientId, login } = facts
  const client = clientId === PUBLIC_CLIENT ? [] : [`clients ${clientId}`]
  return login === null ? client : [...client, `logins ${login}`]
}
