import type { ArchiveFormat } from './archive'
import type { BlobStore } from '../store/blob-store'
import type { Scratch } from '../store/scratch'
import type { Database } from '../store/store'

/** A database with everything that imports and exports of it use. */
export interface Site {
  readonly database: Database
  readonly contents: BlobStore
  readonly archives: ArchiveFormat
  readonly scratch: Scratch
}
