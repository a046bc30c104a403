import type { ServerAudit } from './audit'
import type { BlobStore } from './blob-store'
import type { EngineFigures } from './meter'
import type { Scratch } from './scratch'
import type { Database, Store } from './store'
import type { TestStore } from './test-store'

/**
 * A storage engine: databases, and everything besides rows that they are kept in. The host asks it for
 * what it needs, and knows nothing of files (design.md §2).
 */
export interface Engine extends AsyncDisposable {
  readonly store: Store
  /** For test mode. */
  readonly tests: TestStore
  /**
   * Opens the store for the bytes of blobs, without what an earlier process left unfinished. `isUsed` tells
   * whether a file is needed.
   */
  openBlobs(database: Database, isUsed: (file: string) => Promise<boolean>): Promise<BlobStore>
  /** Opens the place for temporary files, in the same state. */
  openScratch(database: Database): Promise<Scratch>
  /**
   * The 32 bytes that seal the secrets of a database, made while nothing is sealed yet. Throws
   * `STORAGE_FAILED` when they are lost.
   */
  secretKey(database: Database): Promise<Uint8Array>
  /** False when one key from the settings seals the secrets of all databases. */
  readonly hasKeyFiles: boolean
  /**
   * Makes a database of the parts of a backup (`domain/backup/frames`), with an identity of its own where this store has
   * the original. Throws `CONFLICT` when the name is taken, and leaves nothing when it fails. Returns how many users
   * were deleted again, who were deleted after the backup.
   */
  restore(name: string, frames: AsyncIterable<Uint8Array>, revokesLogins: boolean): Promise<number>
  /** The copies of databases from before an upgrade, the oldest first. The engine removes them after 30 days. */
  oldCopies(): readonly OldCopy[]
  readonly serverAudit: ServerAudit
  /** The file of the server, which belongs to no database, as of now. */
  serverFile(): Uint8Array
  figures(): EngineFigures
}

/** A whole database as it was before an upgrade, with everything that has been erased since. */
export interface OldCopy {
  readonly database: string
  /** Its path. */
  readonly file: string
  readonly bytes: number
  /** When it was made, ms. */
  readonly made: number
}
