import type { ArchiveFormat } from './archive'
import type { BlobStore } from '../store/blob-store'
import type { Database } from '../store/store'

/** A database, and what its blobs go through on their way in and out. */
export interface Site {
  readonly database: Database
  readonly contents: BlobStore
  readonly archives: ArchiveFormat
}
