import type { RealmRef } from '../domain/store/realms'
import type { Commit, Database } from '../domain/store/store'
import { realmSetHash } from '../domain/sync/realm-set'
import { HOUR, MINUTE, SECOND } from '../domain/value/time'
import { createFanOut } from './fan-out'
import { createFeed } from './feed'
import type { Ticket } from './gate'
import { clientName, clientOf, createListeners } from './listeners'
import type { Delivery, Rejections } from '../host/live-event'
import type { Follower } from '../host/live-view'
import { createOutbox } from './outbox'
import { createPageSessions } from './page-sessions'
import { Session, type SessionHub, TELL_EVERY_MS } from './session'
import type { Caller, SocketClient } from './socket'
import { createWatch, type Watch } from './watch'

// A commit on its way to the sockets of its database:
//
// 1. The engine announces it before its writer is answered (`Database.onCommit`). `hear` notes which realms it
//    touched (`feed`), wakes the sessions that see them, and doubts those whose rights it may have changed
//    (`listeners`).
// 2. In the next turn of the event loop `fan-out` serves the woken sessions, many in one read.
// 3. A session whose client waits sends the changes after the revision that its client has (`client-copy`). They are
//    encoded once for each realm (`feed`), and the message once for all clients that were in step (`outbox`). A
//    client that lacks too much, or knows other realms (`sight`), is told to pull.
// 4. The client stores the changes and says `ready` with their revision: it waits again (`session`).

/** The sockets of one database, whether it is open or not (protocol.md §5). */
export type Hub = ReturnType<typeof createHub>

/** A request of a client that is being answered: until it is disposed, its sockets hear nothing. */
export interface Answering extends Disposable {
  /** The answer is complete: the client has this when it receives the rest of it. */
  answered(answer: Answered): void
  /** From now on it waits for others of its caller alone: others need not wait for it. Returns the way back. */
  stepAside(): () => void
}

/** What a client has after an answer to its request: the fields of that answer. */
export interface Answered {
  /** `serverRevision` as it was sent, and its number. */
  readonly serverRevision: string
  readonly revision: number
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
  /** The tables that the client declares and marks for sync. */
  readonly tables: ReadonlySet<string>
  /** The `Y.Doc` properties of the client (`textsDeclared`). */
  readonly texts: string
}

export interface HubContext {
  /** The database, opened if it is closed. */
  readonly open: () => Promise<Database>
  /** ms; never goes back. */
  readonly now: () => number
  readonly report: (error: unknown) => void
}

/** While this many clients are being answered, no others are told to pull: their requests would only wait. */
const MAX_PULLING = 64

export function createHub(databaseId: string, context: HubContext) {
  const { open, now, report } = context
  const listeners = createListeners()
  const pages = createPageSessions(report)
  const feed = createFeed()
  const outbox = createOutbox()
  const fanOut = createFanOut({ feed, outbox, pages, open, isCrowded, ended: end, report })
  /** How many requests of a client are being answered, and when the last one was. */
  const held = new Map<string, number>()
  /** The clients among them that make no crowd. */
  const aside = new Set<string>()
  let lastAnswer = now()
  /** Realms that have changed during a job, which commits all the time: a socket hears of them once a second. */
  const quietRealms = new Set<RealmRef>()
  let quietUntil = 0
  /** While somebody follows. */
  let watch: Watch | undefined
  let follows = 0
  let stopHearing: () => void = () => undefined
  let lookedForAge = now()
  let agedFeed = now()
  let lastUse = now()

  const parts: SessionHub = {
    feed,
    outbox,
    now,
    isCrowded,
    joined(session) {
      listeners.add(session)
      pages.add(session)
      watch?.joined(session)
    },
    left(session) {
      listeners.remove(session)
      pages.remove(session)
      fanOut.remove(session)
      watch?.left(session)
    },
    serve(session) {
      fanOut.serve(session)
      fanOut.start()
    },
    moved: (session, before) => listeners.moved(session, before),
    isHeld: (session) => held.has(clientOf(session)),
    postpone: (session) => fanOut.postpone(session),
    pulls: () => fanOut.pulls(),
    delivered: (...delivery) => watch?.delivered(...delivery),
  }

  function hear(commit: Commit): void {
    feed.hear(commit)
    if (commit.jobs) quietUntil = now() + SECOND
    const isQuiet = now() < quietUntil
    for (const unit of commit.units) {
      pages.hear(unit)
      for (const realm of unit.realms) {
        if (isQuiet) quietRealms.add(realm)
        else listeners.seeing(realm, wake)
      }
      listeners.doubtedBy(unit, doubt)
    }
    watch?.committed(commit)
    fanOut.start()
  }

  function wake(session: Session): void {
    if (session.phase === 'waiting') fanOut.wake(session)
  }

  function doubt(session: Session): void {
    session.doubt()
    fanOut.wake(session)
  }

  /** The sessions that get nothing of a commit: it does not concern them, or they are behind. */
  function* silent(commit: Commit): Generator<readonly [Session, Delivery]> {
    const concerned = new Set<Session>()
    for (const realm of commit.units.flatMap(({ realms }) => realms)) {
      listeners.seeing(realm, (session) => concerned.add(session))
    }
    for (const session of listeners) {
      const silence = concerned.has(session) ? session.delay : session.silence
      if (silence !== undefined) yield [session, silence]
    }
  }

  function follow(follower: Follower): Disposable {
    watch ??= createWatch({ open, now, sessions: listeners, silent, report })
    using undo = new DisposableStack()
    undo.use(watch.add(follower))
    follows += 1
    undo.defer(() => {
      follows -= 1
      if (follows === 0) watch = undefined
    })
    return undo.move()
  }

  function isCrowded(): boolean {
    // Slow readers may keep all of these requests open: when none has ended for a minute, others are told too.
    return held.size - aside.size >= MAX_PULLING && now() - lastAnswer < TELL_EVERY_MS
  }

  function answering(identity: string, subject: string | null): Answering {
    lastUse = now()
    const client = clientName(identity, subject)
    held.set(client, (held.get(client) ?? 0) + 1)
    let isOver = false
    return {
      answered({ serverRevision: text, revision, realms, inviteRealms, tables, texts }) {
        let hash: string | undefined
        for (const session of listeners.ofClient(client)) {
          hash ??= realmSetHash(realms, inviteRealms)
          session.answered({ text, revision }, hash, { tables, texts })
          watch?.delivered(session, 'answered', revision)
        }
      },
      stepAside() {
        aside.add(client)
        fanOut.resume()
        fanOut.start()
        return () => void aside.delete(client)
      },
      [Symbol.dispose]() {
        if (isOver) return
        isOver = true
        aside.delete(client)
        lastAnswer = now()
        const others = (held.get(client) ?? 1) - 1
        if (others > 0) held.set(client, others)
        else held.delete(client)
        for (const session of listeners.ofClient(client)) fanOut.serve(session)
        fanOut.resume()
        fanOut.start()
      },
    }
  }

  function tick(): void {
    for (const session of listeners) if (session.tick()) fanOut.wake(session)
    if (now() - lookedForAge >= HOUR) {
      lookedForAge = now()
      for (const session of listeners) if (session.age()) fanOut.wake(session)
    }
    if (now() - agedFeed >= MINUTE) {
      agedFeed = now()
      feed.age()
    }
    for (const realm of quietRealms) listeners.seeing(realm, wake)
    quietRealms.clear()
    fanOut.tick()
    watch?.tick()
  }

  function end(): void {
    for (const session of listeners) session.mute('The database no longer exists')
    watch?.end()
  }

  return {
    databaseId,
    /** ms; never goes back. */
    now,
    connect(client: SocketClient, caller: Caller | undefined, ticket: Ticket): Session {
      lastUse = now()
      return new Session(parts, client, caller, ticket)
    },
    answering,
    /** How many sockets are open. */
    get size() {
      return listeners.size
    },
    /** The same sockets. */
    sessions: listeners,
    /** `follower` hears of commits and deliveries until the result is disposed. Throws `TOO_MANY_REQUESTS`. */
    follow,
    /** Tells followers what a request could not change; `find` is called if anybody follows. */
    rejected(find: () => Rejections | undefined) {
      const found = watch && find()
      if (found !== undefined) watch?.rejected(found)
    },
    /** Hears the commits of the database, which was opened. */
    attach(database: Database) {
      stopHearing()
      feed.restart()
      stopHearing = database.onCommit(hear)
      // Others may have committed since it was opened.
      for (const session of listeners) doubt(session)
      fanOut.start()
    },
    /** Called once a second. */
    tick,
    /** Mutes all sockets: the database is gone. */
    end,
    /** Closes all sockets: their clients come back. */
    drop() {
      for (const session of listeners) session.drop()
    },
    /** Hears no more commits. */
    detach() {
      stopHearing()
      watch?.end()
    },
    /** True when nothing has used it for a while. */
    get isIdle() {
      const isUsed = listeners.size > 0 || held.size > 0 || watch !== undefined
      return !isUsed && now() - lastUse >= MINUTE
    },
  }
}
