import { findStanding } from '../domain/access/actor'
import type { ReadTx } from '../domain/store/store'
import { formatRevision } from '../domain/sync/revision'
import { visibilityOf } from '../domain/sync/visible'
import { DAY, MINUTE, SECOND } from '../domain/value/time'
import { type Base, ClientCopy, type Declared } from './client-copy'
import type { Feed, Reader } from './feed'
import type { Ticket } from './gate'
import {
  errorMessage,
  type Fields,
  PONG,
  readMessage,
  realmsChanged,
  TOKEN_EXPIRED,
} from './messages'
import type { Delivery } from '../host/live-event'
import type { LiveSession, SessionState } from '../host/live-view'
import type { Outbox } from './outbox'
import { BLIND, lostSome, noticesOf, type Sight, sightOf } from './sight'
import type { Caller, Socket, SocketClient, SocketOwner } from './socket'

/** A message of a client, by its `type` (protocol.md §5.3). Other kinds are ignored, as clients ignore ours. */
const KINDS: ReadonlyMap<unknown, (session: Session, message: Fields) => void> = new Map([
  ['ready', (session, { rev, realmSetHash }) => session.ready(rev, realmSetHash)],
  ['ping', (session) => session.ping()],
] satisfies [string, (session: Session, message: Fields) => void][])

/** The fan-out of a database, as its sessions use it. */
export interface SessionHub {
  readonly feed: Feed
  readonly outbox: Outbox
  /** ms; never goes back. */
  now(): number
  joined(session: Session): void
  left(session: Session): void
  /** The session has something to look at. */
  serve(session: Session): void
  /** From now on the session hears of changes in the realms of its sight instead of those of `before`. */
  moved(session: Session, before: Sight): void
  /** True while a request of its client is being answered. */
  isHeld(session: Session): boolean
  /** True while no more clients are to pull. */
  isCrowded(): boolean
  /** Serves the session when fewer clients pull. */
  postpone(session: Session): void
  /** The client will pull because it lacks more than a message may have. */
  pulls(): void
  delivered(session: Session, delivery: Delivery, revision: number): void
}

/** A client that did not come into step is told again after this time, ms. */
export const TELL_EVERY_MS = MINUTE
/** A client that hears nothing for this long gets the newest revision, before its own is forgotten. */
const MAX_AGE_MS = DAY

/**
 * | phase      | the client                                           | next                              |
 * | ---------- | ---------------------------------------------------- | --------------------------------- |
 * | connecting | has not opened its socket                            | `opened`: working, muted          |
 * | working    | applies a message, or has not said `ready`           | `ready`: waiting                  |
 * | waiting    | said `ready`: the next message is due when it exists | changes or notices sent: working  |
 * | muted      | may not listen any more, and is told so every minute | stays so, because a client that   |
 * |            |                                                      | is closed connects again at once  |
 * | closed     | is gone                                              |                                   |
 *
 * From connecting, working and waiting `mute` leads to muted, and `closed` from everywhere to closed.
 */
type Phase = SessionState['phase']

/** One socket of a client (protocol.md §5): what the client has, and what it gets next. */
export class Session implements SocketOwner, Reader, LiveSession {
  readonly #hub: SessionHub
  readonly #ticket: Ticket
  #socket: Socket | undefined = undefined
  #phase: Phase = 'connecting'
  /** When its token ends, or the key of the client behind it, ms. */
  #ends: number
  #farewell = TOKEN_EXPIRED
  #notifiedAt = 0

  readonly #copy = new ClientCopy()
  /** The client gets the newest revision, even if nothing changed for it. */
  #isAging = false

  /** The memberships or the rights of the user may have changed. */
  #isDoubted = true
  #sight: Sight = BLIND
  /** What the user saw when the client was in step, if that was another set of realms. */
  #former: Sight | undefined = undefined

  /** Messages wait in memory for a slow reader: no more are made until they are sent. */
  #isFull = false
  /** The characters of the message that waits. */
  #reserved = 0
  /** When a text of the client was dropped last, ms; 0: not since it was told to pull. */
  #droppedAt = 0

  /** Without a caller the token was not valid. */
  constructor(
    hub: SessionHub,
    readonly client: SocketClient,
    readonly caller: Caller | undefined,
    ticket: Ticket,
  ) {
    this.#hub = hub
    this.#ticket = ticket
    this.#ends = caller?.ends ?? Infinity
  }

  get phase(): Phase {
    return this.#phase
  }

  get sight(): Sight {
    return this.#sight
  }

  get declared(): Declared {
    return this.#copy.declared
  }

  describe(): SessionState {
    return {
      phase: this.#phase,
      revision: this.#copy.base,
      notifiedAt: this.#notifiedAt,
    }
  }

  get isDoubted(): boolean {
    return this.#isDoubted
  }

  /** Why the session does not hear of changes in realms that it does not see; undefined while that is unknown. */
  get silence(): Delivery | undefined {
    if (this.#phase === 'muted')
      return this.#farewell === TOKEN_EXPIRED ? 'token-expired' : 'refused'
    return this.#isDoubted ? undefined : 'not-a-member'
  }

  /** Why the session does not hear of changes in realms that it sees. */
  get delay(): Delivery | undefined {
    return this.#phase === 'working' && this.#notifiedAt !== 0 ? 'behind' : undefined
  }

  opened(socket: Socket): void {
    this.#socket = socket
    this.#phase = 'working'
    this.#ticket.opened()
    this.#hub.joined(this)
    if (this.caller === undefined) this.mute()
  }

  /** Excess texts and all binary frames are dropped unparsed: no kind of message is binary. */
  received(frame: string | Uint8Array): void {
    const isText = typeof frame === 'string'
    if (isText && this.#ticket.admits(frame)) {
      const message = readMessage(frame)
      if (message !== undefined) KINDS.get(message['type'])?.(this, message)
      return
    }
    if (isText) this.#droppedAt = this.#hub.now()
    if (this.#ticket.dropped(frame)) this.#socket?.terminate()
  }

  drained(): void {
    this.#isFull = false
    this.#hub.serve(this)
  }

  closed(isTooLarge = false): void {
    this.#phase = 'closed'
    this.#socket = undefined
    this.#ticket.closed(isTooLarge)
    this.#release()
    this.#see(BLIND)
    this.#hub.left(this)
  }

  /** Everything up to `rev` is stored: the client waits for the next message. */
  ready(rev: unknown, hash: unknown): void {
    if (this.#isOver || typeof rev !== 'string' || typeof hash !== 'string') return
    if (this.#copy.named(rev, hash, this.#hub.now())) this.#cameForward()
    this.#phase = 'waiting'
    this.#hub.serve(this)
  }

  ping(): void {
    if (!this.#isFull) this.#send(PONG)
  }

  /** The client was answered by HTTP: that is what it has from now on. */
  answered(base: Base, hash: string, declared: Declared): void {
    if (this.#isOver) return
    this.#copy.answered(base, hash, declared, this.#hub.now())
    this.#cameForward()
  }

  /** The rights of the user are looked at again before anything is sent. */
  doubt(): void {
    this.#isDoubted = true
  }

  /** Sends one last message, with the reason or that the token has ended, and nothing after it. */
  mute(reason?: string): void {
    this.#phase = 'muted'
    if (reason !== undefined) this.#farewell = errorMessage(reason)
    this.#remind()
    this.#see(BLIND)
  }

  /** Closes the socket: its client connects again. */
  drop(): void {
    this.#socket?.close()
  }

  /** Serving failed: the session is served again after a while. */
  failed(): void {
    this.#notifiedAt = this.#hub.now()
  }

  /** Called once a second. True when the session has something to look at. */
  tick(): boolean {
    const now = this.#hub.now()
    const isOverdue = now - this.#notifiedAt >= TELL_EVERY_MS
    if (this.#phase === 'muted') {
      if (isOverdue && !this.#isFull) this.#remind()
      return false
    }
    if (this.#ends <= now) {
      this.mute()
      return false
    }
    // The client may wait for an answer to a text that was dropped.
    if (this.#droppedAt !== 0 && now - this.#droppedAt >= SECOND) {
      this.#droppedAt = 0
      this.#notify([realmsChanged(this.#sight.hash)])
      return false
    }
    return this.#phase === 'waiting' && this.#notifiedAt !== 0 && isOverdue
  }

  /** Called once an hour. True when the client needs the newest revision. */
  age(): boolean {
    if (this.#phase !== 'waiting' || !this.#copy.isOlderThan(this.#hub.now() - MAX_AGE_MS))
      return false
    this.#isAging = true
    return true
  }

  /** Sends what the client lacks up to `upTo`, the revision of `tx`, if it waits for that (protocol.md §5.4). */
  serve(tx: ReadTx, upTo: number): void {
    if (this.#isFull) return
    this.#release()
    if (this.#isOver) return
    this.#review(tx)
    if (this.#phase === 'muted') return this.#report(this.silence ?? 'refused', upTo)
    if (this.#phase !== 'waiting' || this.#hub.isHeld(this)) return
    const changes = this.#changes(tx, upTo)
    if (changes === undefined) return this.#tellToPull(tx, upTo)
    this.#notifiedAt = 0
    if (changes === '' && !this.#isAging) return this.#report('nothing', upTo)
    this.#sendChanges(tx, changes, upTo)
  }

  /** Mutes the socket when its token has ended or its page may not listen, and learns what the user sees if that is in doubt. */
  #review(tx: ReadTx): void {
    if (!this.#stands(tx)) return this.mute()
    if (!this.#isDoubted) return
    // The origin may have been removed while the socket was opened.
    const { page } = this.client
    if (page?.isAllowed(tx) === false) return this.mute(page.refusal)
    this.#isDoubted = false
    this.#look(tx)
  }

  #stands(tx: ReadTx): boolean {
    const credential = this.caller?.actor.credential
    if (this.caller === undefined || credential === undefined) return true
    const standing = findStanding(tx, credential.facts)
    if (standing === undefined) return false
    this.#ends = Math.min(this.caller.ends, standing.ends - this.caller.lead)
    return this.#ends > this.#hub.now() && typeof standing.user?.deactivated !== 'number'
  }

  #look(tx: ReadTx): void {
    if (this.caller === undefined) return
    const { actor } = this.caller
    const before = this.#sight
    const sight = sightOf(visibilityOf(tx, actor))
    if (actor.subject !== null) {
      const client = tx.syncClients.find(actor.subject, this.client.identity)
      if (client !== undefined) this.#copy.declared = this.#hub.outbox.declared(client)
    }
    this.#see(sight)
    if (before.hash === sight.hash) {
      // A realm of the same id is another one now: the client has to fetch it anew.
      if (lostSome(before, sight)) this.#copy.lostRealm()
      return
    }
    if (before !== BLIND && this.#copy.isOf(before)) this.#former = before
    this.#notifiedAt = 0
  }

  /** The changes that the client lacks; undefined when it has to pull. */
  #changes(tx: ReadTx, upTo: number): string | undefined {
    const base = this.#copy.revision(tx, this.#sight, upTo)
    if (base === undefined || base === upTo) return base === undefined ? undefined : ''
    return this.#hub.feed.changesFor(tx, this, base, upTo)
  }

  #sendChanges(tx: ReadTx, changes: string, upTo: number): void {
    const { outbox } = this.#hub
    const { base, hash, declared } = this.#copy
    const run = tx.runs.list().at(-1)
    if (run === undefined) return
    const head = {
      type: 'changes',
      baseRev: base,
      realmSetHash: hash,
      newRev: formatRevision(run, upTo),
    }
    const wanted = declared.texts === '' ? changes : outbox.withoutTexts(changes, declared.texts)
    const text = outbox.message(head, wanted)
    if (!outbox.reserve(text.length)) return this.#tellToPull(tx, upTo)
    this.#reserved = text.length
    const wasSent = this.#send(text)
    // A message that the socket has dropped does not wait.
    if (!this.#isFull || !wasSent) this.#release()
    this.#copy.sent()
    this.#isAging = false
    this.#handOver(wasSent)
    if (wasSent) this.#report('sent', upTo)
  }

  /** Has the client pull: it is out of step with its realms, or lacks more than a message may have. */
  #tellToPull(tx: ReadTx, upTo: number): void {
    if (this.#notifiedAt !== 0 && this.#hub.now() - this.#notifiedAt < TELL_EVERY_MS) return
    const former = this.#former
    const sight = this.#sight
    const isInStep = this.#copy.isOf(sight)
    if (isInStep && this.#hub.isCrowded()) return this.#hub.postpone(this)
    const isFormer = !isInStep && former !== undefined && this.#copy.isOf(former)
    const notices = isFormer ? noticesOf(tx, former, sight) : undefined
    if (isInStep) this.#hub.pulls()
    this.#former = undefined
    this.#notify(notices ?? [realmsChanged(sight.hash)])
    this.#report('told-to-pull', upTo)
  }

  #notify(texts: readonly string[]): void {
    this.#notifiedAt = this.#hub.now()
    this.#handOver(texts.every((text) => this.#send(text)))
  }

  /** Says once more why the socket is muted. */
  #remind(): void {
    this.#notifiedAt = this.#hub.now()
    this.#send(this.#farewell)
  }

  /** False when the text was dropped: then the socket is full, or closed. */
  #send(text: string): boolean {
    const sent = this.#socket?.send(text) ?? 0
    this.#isFull = sent <= 0
    return sent !== 0
  }

  /** The client has its turn, unless the message was dropped. */
  #handOver(wasSent: boolean): void {
    if (!this.#isOver) this.#phase = wasSent ? 'working' : 'waiting'
  }

  /** The client has another revision: what it was told is over. */
  #cameForward(): void {
    this.#notifiedAt = 0
    this.#isAging = false
  }

  #see(sight: Sight): void {
    const before = this.#sight
    this.#sight = sight
    if (before !== sight) this.#hub.moved(this, before)
  }

  #release(): void {
    if (this.#reserved > 0) this.#hub.outbox.release(this.#reserved)
    this.#reserved = 0
  }

  #report(delivery: Delivery, revision: number): void {
    this.#hub.delivered(this, delivery, revision)
  }

  get #isOver(): boolean {
    return this.#phase === 'muted' || this.#phase === 'closed'
  }
}
