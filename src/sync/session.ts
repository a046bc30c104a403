import type { Actor } from '../domain/access/actor'
import type { ReadTx } from '../domain/store/store'
import { SECOND } from '../domain/value/time'
import type { Ticket } from './gate'
import { BLIND, type Sight } from './sight'

/** A connected WebSocket: `send` gives -1 when the text waits in memory, and 0 when it was dropped. */
export interface Socket {
  send(text: string): number
  close(): void
  /** Closes it at once: what it has sent meanwhile is not read. */
  terminate(): void
}

/** The owner of a socket, told of its events. */
export interface SocketOwner {
  opened(socket: Socket): void
  /** A text, or the bytes of a binary frame. */
  received(message: string | Uint8Array): void
  /** The texts that waited were sent. */
  drained(): void
  /** `isTooLarge`: because of a frame beyond the limit. */
  closed(isTooLarge?: boolean): void
}

/** A revision as the client named it, or as it was sent to it. */
export interface Base {
  readonly text: string
  /** Null when it is not a revision of this database; undefined while it was not looked up. */
  revision: number | null | undefined
}

/** The part of a hub that its sessions call. */
export interface SessionHub {
  now(): number
  joined(session: Session): void
  left(session: Session): void
  /** It has something to look at. */
  serve(session: Session): void
}

/** The web page behind a session. */
export interface Page {
  readonly origin: string
  /** False when pages of this origin may not use the database any more. */
  isAllowed(tx: ReadTx): boolean
  /** Says so to its developer. */
  readonly refusal: string
}

/** The local database that opened a socket. */
export interface SocketClient {
  readonly identity: string
  /** False for add-ons before 4.4: changes with blobs come to them in answers only. */
  readonly knowsBlobRefs: boolean
  /** Absent for a program. */
  readonly page?: Page | undefined
}

/** The user behind a session, and when the token ends by the clock of the hub, ms. */
export interface Caller {
  readonly actor: Actor
  readonly ends: number
  /** How far the clock of the token is ahead of that of the hub, ms. */
  readonly lead: number
}

/**
 * One socket of a client (protocol.md §5). Its state says what the client has and whether it waits for
 * a message; the hub decides what it gets. The server does not close a socket, because its client would
 * connect again at once: when its user may not listen any more, it is muted. Only a restore closes sockets.
 */
export class Session implements SocketOwner {
  /** What the client has; undefined before its first `ready`. */
  base: Base | undefined = undefined
  /** True when `base` is what this socket named, false when it is an answer to its client. */
  isNamed = false
  /** When `base` changed, ms. */
  since = 0
  /** The realms that the client knows, by their hash. */
  hash = ''
  /** The client waits for the next message. */
  isReady = false
  isMuted = false
  /** The message that says why it is muted. */
  #farewell = TOKEN_EXPIRED
  /** When its token ends, or the key of the client behind it, ms. */
  ends: number
  /** Messages wait in memory for a slow reader: no more are made until they are sent. */
  isFull = false
  /** The memberships or the rights of its user may have changed. */
  isStale = true
  sight: Sight = BLIND
  /** What it saw when the client was in step, if that was another set of realms. */
  former: Sight | undefined = undefined
  /** The tables that the client declares; undefined: unknown, it gets all. */
  tables: ReadonlySet<string> | undefined = undefined
  /** Its `Y.Doc` properties (`readTexts`); empty: none that are known. */
  texts = ''
  /** When it was told to pull, or that its token ended, ms; 0: not since its state changed. */
  told = 0
  /** The base of the last message, if the client itself had named it. */
  sentFrom: string | undefined = undefined
  /** The client named the same base after a message: it could not apply that. */
  isStuck = false
  /** The base of its first `ready` is older than none of its realms. */
  isVerified = false
  /** It gets the newest revision, even if nothing changed for it. */
  isAging = false
  readonly #hub: SessionHub
  readonly #ticket: Ticket
  /** When a text of it was dropped last, ms; 0: not since its client was told to pull. */
  #droppedAt = 0
  #socket: Socket | undefined = undefined
  #allowance = BURST
  #counted = 0

  /** Without a caller the token was not valid. */
  constructor(
    hub: SessionHub,
    readonly client: SocketClient,
    readonly caller: Caller | undefined,
    ticket: Ticket,
  ) {
    this.#hub = hub
    this.#ticket = ticket
    this.ends = caller?.ends ?? Infinity
  }

  opened(socket: Socket): void {
    this.#socket = socket
    this.#ticket.opened()
    this.#hub.joined(this)
    if (this.caller === undefined) this.expire()
  }

  /** Excess texts and all binary frames are dropped unparsed: the server knows none of the latter. */
  received(message: string | Uint8Array): void {
    const weight = 1 + Math.floor(message.length / WEIGHED)
    const isText = typeof message === 'string'
    if (isText && this.#spend(weight)) {
      this.#read(message)
      return
    }
    if (isText) this.#droppedAt = this.#hub.now()
    if (this.#ticket.dropped(weight)) this.#socket?.terminate()
  }

  #read(text: string): void {
    if (text.length > LONGEST) return
    const message = parse(text)
    if (message?.['type'] === 'ready') this.#ready(message['rev'], message['realmSetHash'])
    else if (message?.['type'] === 'ping' && !this.isFull) this.send(PONG)
  }

  /** True once after texts were dropped and a second has passed: the client may wait for an answer. */
  hasMissed(): boolean {
    if (this.#droppedAt === 0 || this.#hub.now() - this.#droppedAt < SECOND) return false
    this.#droppedAt = 0
    return true
  }

  /** Closes the socket: its client connects again. */
  drop(): void {
    this.#socket?.close()
  }

  drained(): void {
    this.isFull = false
    this.#hub.serve(this)
  }

  closed(isTooLarge = false): void {
    this.#socket = undefined
    this.#ticket.closed(isTooLarge)
    this.#hub.left(this)
  }

  /** False when the text was dropped: then the socket is full, or closed. */
  send(text: string): boolean {
    const sent = this.#socket?.send(text) ?? 0
    this.isFull = sent <= 0
    return sent !== 0
  }

  /** Mutes the socket and has the client refresh its token. */
  expire(): void {
    this.isMuted = true
    this.remind()
  }

  /** Mutes the socket for a reason that no token can change: the client closes it and waits for its user. */
  fail(reason: string): void {
    this.isMuted = true
    this.#farewell = JSON.stringify({ type: 'error', error: reason })
    this.remind()
  }

  /** Says once more why the socket is muted. */
  remind(): void {
    this.told = this.#hub.now()
    this.send(this.#farewell)
  }

  /** The client was answered by HTTP: that is what it has from now on. */
  answered(base: Base, hash: string, declared: Pick<Session, 'tables' | 'texts'>): void {
    this.tables = declared.tables
    this.texts = declared.texts
    this.hash = hash
    this.#move(base)
    this.isNamed = false
    this.sentFrom = undefined
  }

  #ready(rev: unknown, hash: unknown): void {
    if (this.isMuted || typeof rev !== 'string' || typeof hash !== 'string') return
    if (this.sentFrom === rev) this.isStuck = true
    if (this.base?.text !== rev) this.#move({ text: rev, revision: undefined })
    if (this.hash !== hash) this.hash = hash
    this.isNamed = true
    this.sentFrom = undefined
    this.isReady = true
    this.#hub.serve(this)
  }

  #move(base: Base): void {
    this.base = base
    this.since = this.#hub.now()
    this.told = 0
    this.isStuck = false
    this.isAging = false
  }

  /** Counts a message; false when the client sends too many. */
  #spend(weight: number): boolean {
    const now = this.#hub.now()
    const earned = (Math.max(0, now - this.#counted) / 1000) * PER_SECOND
    this.#allowance = Math.min(BURST, this.#allowance + earned)
    this.#counted = now
    if (this.#allowance < weight) return false
    this.#allowance -= weight
    return true
  }
}

/** How many messages a client may send at once, and for how long: a real one sends one per second. */
const BURST = 60
const PER_SECOND = 10
/** A frame counts once more for each of these, in characters or bytes. */
const WEIGHED = 64 * 1024
/** The longest message that is read, in characters: a revision and a hash. */
const LONGEST = 4_096

const PONG = '{"type":"pong"}'
const TOKEN_EXPIRED = '{"type":"token-expired"}'

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message !== null
      ? (message as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
