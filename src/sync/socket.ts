import type { Actor } from '../domain/access/actor'
import type { ReadTx } from '../domain/store/store'

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
  received(frame: string | Uint8Array): void
  /** The texts that waited were sent. */
  drained(): void
  /** `isTooLarge`: because of a frame beyond the limit. */
  closed(isTooLarge?: boolean): void
}

/** The local database that opened a socket. */
export interface SocketClient {
  readonly identity: string
  /** False for add-ons before 4.4: changes with blobs come to them in answers only. */
  readonly knowsBlobRefs: boolean
  /** Absent for a program. */
  readonly page?: Page | undefined
}

/** The web page behind a socket. */
export interface Page {
  readonly origin: string
  /** False when pages of this origin may not use the database any more. */
  isAllowed(tx: ReadTx): boolean
  /** Says so to its developer. */
  readonly refusal: string
}

/** The user behind a socket, and when the token ends by the clock of the hub, ms. */
export interface Caller {
  readonly actor: Actor
  readonly ends: number
  /** How far the clock of the token is ahead of that of the hub, ms. */
  readonly lead: number
}
