import type { SatchelError } from '../value/error'

/**
 * The seam between the domain and the storage for the bytes of one database's blobs (design.md §2).
 * Everything that is stored gets a place of its own, an opaque name that is never used again; the
 * database records which content is at which place, so that the store needs no locks and several
 * processes may share it. `test/contract/blob-store.ts` is its contract suite.
 */
export interface BlobStore extends AsyncDisposable {
  /**
   * Stores bytes as they arrive and holds only a few chunks of them in memory. They are removed
   * when the result is disposed, unless it was kept. Throws the refusal of `room`, and the errors
   * of `bytes` themselves, `STORAGE_FULL`, `STORAGE_FAILED`, `READ_ONLY`, or `BUSY` when the store
   * is closing; then nothing is left behind.
   */
  receive(bytes: AsyncIterable<Uint8Array>, room: Room): Promise<Arrival>
  /**
   * Opens the bytes at a place. Throws `BLOB_DAMAGED` when they are missing or not `size` bytes.
   */
  open(place: string, size: number): Promise<BlobContent>
  /** Removes the bytes at a place, if there are any, for good when it resolves. */
  remove(place: string): Promise<void>
  /** The places that were stored before `before` (ms), in no order; without it all of them. */
  list(before?: number): AsyncIterable<string>
  /** Reads the bytes at a place to their end; `onBytes` is called with the size of each part. */
  check(place: string, hash: string, onBytes?: (count: number) => void): Promise<ContentState>
  /**
   * Removes what uploads left unfinished before `before` (ms); `isUsed` says whether the database
   * records a place. Younger uploads may be those of another process.
   */
  sweep(before: number, isUsed: (place: string) => Promise<boolean>): Promise<void>
}

export type ContentState = 'whole' | 'damaged' | 'missing'

/** Bytes that arrived completely. */
export interface Arrival extends AsyncDisposable {
  /** SHA-256 in hex, 64 characters. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
  /** Where the bytes are, from the moment they are kept. */
  readonly place: string
  /**
   * Gives the bytes a place, makes them survive power loss and runs `record`, which records the
   * place in the database. When it throws, the bytes are removed. At most once.
   */
  keep<T>(record: () => Promise<T>): Promise<T>
}

/** Stored bytes. A stream that has delivered its first chunk goes on even if they are removed. */
export interface BlobContent {
  /** In bytes. */
  readonly size: number
  /** The bytes from `begin` up to `end`. */
  slice(begin: number, end: number): BlobContent
  stream(): ReadableStream<Uint8Array>
  /**
   * The bytes as `Response` takes them: a file where the store has one, which the server sends
   * without reading it into the process.
   */
  body(): globalThis.Blob | ReadableStream<Uint8Array>
}

/** How long an upload may get. */
export interface Room {
  /** In bytes. */
  readonly bytes: number
  /** The error for an upload that is longer. */
  readonly refuse: () => SatchelError
}
