import type { SatchelError } from '../value/error'

/**
 * The seam between the domain and the storage for the bytes of one database's blobs (design.md §3).
 * Bytes are in files named by their SHA-256, so that equal bytes are one file. Callers take these names
 * as they are: a store that several processes share without a common lock may add a suffix to the
 * hash, and the database records which file counts. `test/contract/blob-store.ts` is its contract suite.
 */
export interface BlobStore extends AsyncDisposable {
  /**
   * Stores bytes as they arrive and holds only a few chunks of them in memory. They are removed
   * when the result is disposed, unless it was kept. Throws the refusal of `room`, and the errors
   * of `bytes` themselves, `STORAGE_FULL`, `STORAGE_FAILED`, `READ_ONLY`, or `BUSY` when the store
   * is closing; then nothing is left behind.
   */
  receive(bytes: AsyncIterable<Uint8Array>, room: SizeLimit): Promise<Arrival>
  /** Opens a file. Throws `BLOB_DAMAGED` when it is missing or not `size` bytes long. */
  open(file: string, size: number): Promise<BlobContent>
  /**
   * Removes a file that no record names. If an upload of the same bytes is being recorded, its end decides
   * whether the file stays.
   */
  remove(file: string): Promise<void>
  /** All files but those that an upload is about to record, in no order. */
  list(): AsyncIterable<string>
  /** Reads a file to its end; `onBytes` is called with the size of each part, and ends it by throwing. */
  check(file: string, hash: string, onBytes?: (count: number) => void): Promise<ContentState>
}

export type ContentState = 'whole' | 'damaged' | 'missing'

/** Bytes that arrived completely. */
export interface Arrival extends AsyncDisposable {
  /** SHA-256 in hex, 64 characters. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
  /** The file with the bytes, once they are kept. */
  readonly file: string
  /**
   * Stores the bytes in their file, makes it survive power loss and runs `record`, which records it in
   * the database. When that throws, the file is removed unless another record names it. At most once.
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
  /** The same for a reader who is done with a piece when it asks for the next one, which takes its place in memory. */
  pieces(): AsyncIterable<Uint8Array>
  /**
   * The bytes as `Response` takes them: a file where the store has one, which the server sends
   * without reading it into the process.
   */
  body(): globalThis.Blob | ReadableStream<Uint8Array>
}

/** How long an upload may get. */
export interface SizeLimit {
  /** In bytes. */
  readonly bytes: number
  /** The error for an upload that is longer. */
  readonly refuse: () => SatchelError
}
