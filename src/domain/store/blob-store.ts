import { SatchelError } from '../value/error'

/**
 * The seam between the domain and the place where the bytes of one database's blobs lie (design.md
 * §2): under the SHA-256 of their content, so that equal ones lie there once. It knows no blobs, only
 * contents; which of them are needed is for the database to say. `test/contract/blob-store.ts` is its
 * contract suite: a store that passes it is done.
 */
export interface BlobStore extends AsyncDisposable {
  /**
   * Takes bytes as they come and holds no more than a few chunks of them. What arrived is thrown away
   * when the result is disposed, unless it was kept. Throws what `room` refuses with, whatever `bytes`
   * throw, and `STORAGE_FULL`, `STORAGE_FAILED`, `READ_ONLY`, or `BUSY` when the store is closing:
   * then nothing of it is left.
   */
  receive(bytes: AsyncIterable<Uint8Array>, room: Room): Promise<Arrival>
  /**
   * The bytes of a content, to be sent whole or in slices. A reader with the first chunk of a stream
   * can read it to its end, even if the bytes are removed or replaced. Throws `BLOB_DAMAGED` when
   * they are missing or not `size` bytes: the database says that they exist.
   */
  open(hash: string, size: number): Promise<Blob>
  /**
   * Removes a content, unless it is being kept or `isUnused` says no; nobody begins to keep it while
   * `isUnused` is asked. True when it is gone, also when it was not there.
   */
  remove(hash: string, isUnused: () => Promise<boolean>): Promise<boolean>
  /** The hashes of all contents, each once, in no order. */
  list(): AsyncIterable<string>
  /** Reads a content from end to end; `onBytes` is told of every part that was read. */
  check(hash: string, onBytes?: (count: number) => void): Promise<ContentState>
  /**
   * Clears away what an earlier process left unfinished: called before the store is used otherwise.
   * `isUsed` says whether the database needs a content.
   */
  sweep(isUsed: (hash: string) => Promise<boolean>): Promise<void>
}

export type ContentState = 'whole' | 'damaged' | 'missing'

/** Bytes that arrived completely, and that nobody sees yet. */
export interface Arrival extends AsyncDisposable {
  /** SHA-256 in hex, 64 characters. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
  /**
   * Puts the bytes in their place, durable, where they replace a damaged file, and runs
   * `record`, which makes the database need them: until it is done they are not removed. When it
   * throws, new bytes are removed again. At most once.
   */
  keep<T>(record: () => Promise<T>): Promise<T>
}

/** How long an upload may get. */
export interface Room {
  /** In bytes. */
  readonly bytes: number
  /** What one that is longer is refused with. */
  readonly refuse: () => SatchelError
}
