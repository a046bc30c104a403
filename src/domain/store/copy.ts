// The part of the seam (`store.ts`, design.md §3) by which a database is backed up while others write.

/** One moment of a whole database, held until it is disposed while others read and write. */
export interface DatabaseCopy extends AsyncDisposable {
  readonly facts: CopyFacts
  /** Of all bytes. */
  readonly size: number
  /**
   * The bytes of one file that holds everything of that moment, in order; each piece is good until the next one
   * is asked for. Gives way and throws as `giveWay` does. Throws `STORAGE_FAILED` when the file cannot be read.
   */
  bytes(): AsyncIterable<Uint8Array>
  /**
   * Waits while commits take longer than usual, before the next piece of anything that is copied beside them. Throws
   * `STORAGE_FAILED` when so much is written meanwhile that the copy has to be given up, and `BUSY` when it has ended.
   */
  giveWay(): Promise<void>
  /** Up to `limit` contents of blobs after this file, in order of their files, whose names begin with the hash. */
  contents(after: string, limit: number): readonly StoredContent[]
  /** Up to `limit` lives of users that were deleted, after this number, in order. */
  erasedUsers(after: number, limit: number): readonly ErasedUser[]
}

/** The facts that tell one moment of a database from others. */
export interface CopyFacts {
  readonly id: string
  readonly epoch: string
  readonly run: string
  readonly revision: number
  /** The newest migration of the engine. */
  readonly migration: string
}

/** The bytes of equal blobs. */
export interface StoredContent {
  /** SHA-256 in hex. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
  /** The file in which the blob store has them. */
  readonly file: string
}

/** One life of a user id that has ended. It names nobody, and no other life of the same database is equal to it. */
export interface ErasedUser {
  /** Of the life (`User.incarnation`). */
  readonly number: number
  /** When it began, ms. */
  readonly created: number
}
