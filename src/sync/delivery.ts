import { findStanding } from '../domain/access/actor'
import type { ReadTx } from '../domain/store/store'
import { formatRevision } from '../domain/sync/revision'
import { readTexts, withoutText } from '../domain/sync/text'
import { visibilityOf } from '../domain/sync/visible'
import { mentionsBlobs } from '../domain/value/blob'
import { MINUTE } from '../domain/value/time'
import type { Feed } from './feed'
import type { Session } from './session'
import { BLIND, lostSome, noticesOf, type Sight, sightOf } from './sight'

/** What one session gets, and when (protocol.md §5.4). */
export interface Delivery {
  /** Sends a session what it lacks up to `upTo`, the revision of `tx`, if it waits for that. */
  readonly serve: (tx: ReadTx, session: Session, upTo: number) => void
  /** Has the client pull, because messages of it were dropped. */
  readonly tellMissed: (session: Session) => void
  /** Sends one last message, with the reason or that the token has ended, and nothing after it. */
  readonly mute: (session: Session, reason?: string) => void
  /** Its socket is closed, and its messages that wait are discarded. */
  readonly forget: (session: Session) => void
  /** All sessions are up to date: frees the last message. */
  readonly rest: () => void
  /** How often a client was told to pull because it lacks more than a message may have. */
  readonly pulls: number
}

export interface DeliveryParts {
  readonly feed: Feed
  /** ms; never goes back. */
  readonly now: () => number
  /** From now on the session hears of changes in these realms. */
  readonly listen: (session: Session, sight: Sight) => void
  /** True while a request of its client is being answered. */
  readonly isHeld: (session: Session) => boolean
  /** True while no more clients are to pull. */
  readonly isCrowded: () => boolean
  /** Serves the session later, when fewer clients pull. */
  readonly postpone: (session: Session) => void
}

/** A client that did not come into step is told again after this time, ms. */
export const TELL_EVERY = MINUTE

/** The characters of all messages that wait in memory for slow readers: with more, clients have to pull. */
const MOST_WAITING = 8 * 1024 * 1024

/** The characters of a message in which values of `Y.Doc` properties are looked for. */
const MOST_SEARCHED = 64 * 1024

const NOTHING = { head: '', changes: '', text: '' }
const UNSTRIPPED = { texts: '', changes: '', text: '' }

export function createDelivery(parts: DeliveryParts): Delivery {
  const { feed, now, listen, isHeld, isCrowded, postpone } = parts
  let pulls = 0
  let waiting = 0
  const waitingBySession = new Map<Session, number>()
  let last = NOTHING
  let lastTables: ReadonlySet<string> = new Set()
  let stripped = UNSTRIPPED

  function serve(tx: ReadTx, session: Session, upTo: number): void {
    if (session.isFull) return
    forget(session)
    if (session.isMuted) return
    if (!stands(tx, session)) {
      mute(session)
      return
    }
    if (session.isStale) {
      // The origin may have been removed while the socket was opened.
      const { page } = session.client
      if (page?.isAllowed(tx) === false) return mute(session, page?.refusal)
      session.isStale = false
      look(tx, session)
    }
    const { base } = session
    if (!session.isReady || base === undefined || isHeld(session)) return
    const changes = feed.changesFor(tx, session, upTo)
    if (changes === undefined || isBeyond(session, changes)) {
      tellToPull(tx, session)
      return
    }
    session.told = 0
    if (changes === '' && !session.isAging) return
    const sent = session.texts === '' ? changes : strippedFor(session, changes)
    sendChanges(tx, session, sent, upTo)
  }

  function stands(tx: ReadTx, session: Session): boolean {
    const { caller } = session
    const bond = caller?.actor.bond
    if (caller === undefined || bond === undefined) return true
    const standing = findStanding(tx, bond.facts)
    if (standing === undefined) return false
    session.ends = Math.min(caller.ends, standing.ends - caller.lead)
    return session.ends > now() && typeof standing.user?.deactivated !== 'number'
  }

  /** Learns what the user of the session sees, and listens to those realms. */
  function look(tx: ReadTx, session: Session): void {
    const { caller, client: named, sight: before } = session
    if (caller === undefined) return
    const sight = sightOf(visibilityOf(tx, caller.actor))
    // Equal texts share one string in memory.
    if (session.hash === sight.hash) session.hash = sight.hash
    if (caller.actor.subject !== null) {
      const client = tx.syncClients.find(caller.actor.subject, named.identity)
      if (client !== undefined) {
        session.tables = tablesOf(client.tables)
        session.texts = client.texts
      }
    }
    listen(session, sight)
    session.sight = sight
    if (before.hash === sight.hash) {
      // The same id is another realm now: the client has to fetch it anew.
      if (lostSome(before, sight)) session.isStuck = true
      return
    }
    if (before !== BLIND && session.hash === before.hash) session.former = before
    session.told = 0
  }

  /** Clients of one application declare the same tables: they share one set. */
  function tablesOf(names: readonly string[]): ReadonlySet<string> {
    const { size } = lastTables
    const isSame = size === names.length && names.every((name) => lastTables.has(name))
    if (!isSame) lastTables = new Set(names)
    return lastTables
  }

  function sendChanges(tx: ReadTx, session: Session, changes: string, upTo: number): void {
    const { base, isNamed } = session
    const run = tx.runs.list().at(-1)
    if (base === undefined || run === undefined) return
    const head = JSON.stringify({
      type: 'changes',
      baseRev: base.text,
      realmSetHash: session.hash,
      newRev: formatRevision(run, upTo),
    })
    const text = messageOf(head, changes)
    if (waiting + text.length > MOST_WAITING) {
      tellToPull(tx, session)
      return
    }
    session.isReady = !session.send(text)
    // A message that the socket has dropped does not wait.
    if (session.isFull && !session.isReady) {
      waitingBySession.set(session, text.length)
      waiting += text.length
    }
    session.sentFrom = isNamed ? base.text : undefined
    session.isAging = false
  }

  /** The same for all clients of one application that were in step before. */
  function strippedFor({ texts }: Session, changes: string): string {
    if (stripped.texts !== texts || stripped.changes !== changes) {
      stripped = { texts, changes, text: withoutText(changes, readTexts(texts)) }
    }
    return stripped.text
  }

  /** Clients that were in step before get the same text, which is made once for all of them. */
  function messageOf(head: string, changes: string): string {
    if (last.head !== head || last.changes !== changes) {
      last = { head, changes, text: `${head.slice(0, -1)},"changes":[${changes}]}` }
    }
    return last.text
  }

  function forget(session: Session): void {
    waiting -= waitingBySession.get(session) ?? 0
    waitingBySession.delete(session)
  }

  /** Has the client pull: it is out of step with its realms, or lacks more than a message may have. */
  function tellToPull(tx: ReadTx, session: Session): void {
    if (session.told !== 0 && now() - session.told < TELL_EVERY) return
    const { former, sight } = session
    const isInStep = session.hash === sight.hash
    if (isInStep && isCrowded()) return postpone(session)
    const isFormer = session.hash === former?.hash && session.hash !== sight.hash
    const notices = isFormer ? noticesOf(tx, former, sight) : undefined
    session.told = now()
    if (isInStep) pulls += 1
    session.former = undefined
    const texts = notices ?? [realmsChanged(sight.hash)]
    session.isReady = !texts.every((text) => session.send(text))
  }

  function tellMissed(session: Session): void {
    session.told = now()
    session.isReady = !session.send(realmsChanged(session.sight.hash))
  }

  function mute(session: Session, reason?: string): void {
    if (reason === undefined) session.expire()
    else session.fail(reason)
    listen(session, BLIND)
    session.sight = BLIND
  }

  return {
    serve,
    tellMissed,
    mute,
    forget,
    rest() {
      last = NOTHING
      stripped = UNSTRIPPED
    },
    get pulls() {
      return pulls
    },
  }
}

/**
 * True for changes with blobs whose client gets their bytes from an answer to a pull, and for long ones
 * in which text would have to be found: answers are made in short steps.
 */
function isBeyond({ client, texts }: Session, changes: string): boolean {
  if (texts !== '' && changes.length > MOST_SEARCHED) return true
  return !client.knowsBlobRefs && mentionsBlobs(changes)
}

function realmsChanged(realmsHash: string): string {
  return JSON.stringify({ type: 'realms-changed', realmsHash })
}
