import type { Authority } from '../auth/authority'
import type { Providers } from '../auth/provider/providers'
import type { Webhook } from '../auth/person/webhook'
import type { Clock } from '../clock'
import type { BlobLimits } from '../domain/blob/limits'
import type { BlobStore } from '../domain/store/blob-store'
import type { Scratch } from '../domain/store/scratch'
import type { OffloadRule } from '../domain/blob/offload-rule'
import type { Database } from '../domain/store/store'
import type { PartLimits } from '../domain/transfer/entry'
import type { Mailer } from '../domain/store/mailer'

/** A data folder that is open in this process, as operations see it. */
export interface Workspace {
  readonly clock: Clock
  /** How much each part of a file that is imported may hold. */
  readonly importLimits: PartLimits
  /** Which values of objects become blobs, where a database does not say. */
  readonly offloadRule: OffloadRule
  /** How much a database takes that does not say so itself. */
  readonly blobLimits: BlobLimits
  /** Names of the databases, sorted. */
  list(): string[]
  /** Throws `UNKNOWN_DATABASE`. */
  open(name: string): Promise<OpenDatabase>
  /** The same, open until disposed: for what may take minutes. Throws `UNKNOWN_DATABASE`. */
  hold(name: string): Promise<OpenDatabase & Disposable>
  /** Throws `CONFLICT` or `UNPROCESSABLE`. */
  create(name: string): Promise<OpenDatabase>
  /** Removes the database and everything of it. Throws `UNKNOWN_DATABASE`. */
  remove(name: string): Promise<void>
  /** Where the database is served, or null when no server runs. */
  url(name: string): string | null
}

export interface OpenDatabase {
  readonly database: Database
  readonly authority: Authority
  readonly mailer: Mailer
  /** The bytes of its blobs. */
  readonly blobs: BlobStore
  /** Temporary files of imports and exports. */
  readonly scratch: Scratch
  readonly providers: Providers
  readonly webhook: Webhook
  /** Where the outside world reaches the database, or null when that is not known (design.md §2). */
  readonly address: () => Promise<string | null>
}
