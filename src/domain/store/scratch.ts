/**
 * The seam between the domain and the place for temporary files of one database: imports on their
 * way into the tables, which a job goes on with after a restart, and lists of exports. Files are
 * written once, front to back. `test/contract/scratch.ts` is its contract suite.
 */
export interface Scratch {
  /** Creates a file; `extension` is the end of its name. Throws `STORAGE_FULL` or `READ_ONLY`. */
  create(extension: string): Promise<ScratchWriter>
  /** Opens a complete file. Throws `STORAGE_FAILED` when it is missing. */
  open(name: string): Promise<ScratchFile>
  /** Removes a file, if it exists. */
  remove(name: string): Promise<void>
  /** How many bytes may still be stored where the database is, without those that others need to go on. */
  available(): Promise<number>
  /**
   * Removes the files that were created before `before` (ms) and that `isUsed` does not claim.
   * Younger ones may belong to another process that has not recorded them yet.
   */
  sweep(before: number, isUsed: (name: string) => boolean): Promise<void>
}

/** A file that is being written. Disposing removes it, unless it is kept. */
export interface ScratchWriter extends AsyncDisposable {
  readonly name: string
  /** In bytes, without text that is still buffered. */
  readonly size: number
  /** Throws `STORAGE_FULL`, before nothing is left for others, or `READ_ONLY`. */
  write(piece: string | Uint8Array): Promise<void>
  /** Completes the file: from now on it survives a crash and can be opened. */
  finish(): Promise<void>
  /** Completes the file like `finish`, but it need not survive a crash. */
  close(): Promise<void>
  /** Leaves the file to another owner, which removes it by its name. */
  keep(): void
}

/** A complete file. Disposing closes it; it stays where it is. */
export interface ScratchFile extends Disposable {
  /** In bytes. */
  readonly size: number
  /**
   * Up to `length` bytes from `offset`. Synchronous, because units of work read their input with
   * it.
   */
  read(offset: number, length: number): Uint8Array
  /** The bytes from `begin` up to `end`, or all of them. */
  stream(begin?: number, end?: number): AsyncIterable<Uint8Array>
}
