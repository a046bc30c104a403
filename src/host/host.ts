import type { Authority } from '../auth/authority'
import type { Invitations } from '../auth/invitation/invitations'
import type { Providers } from '../auth/provider/providers'
import type { Webhook } from '../auth/person/webhook'
import type { BlobKeeper } from '../domain/blob/keeper'
import type { BlobStore } from '../domain/store/blob-store'
import type { Scratch } from '../domain/store/scratch'
import type { Database } from '../domain/store/store'
import type { Mailer } from '../domain/store/mailer'

/** A database that is open and served. */
export interface Host extends Services {
  readonly name: string
  readonly database: Database
}

/** What belongs to one database beside its data. */
export interface Services {
  /** Decides who is asking. */
  readonly authority: Authority
  readonly mailer: Mailer
  /** The bytes of its blobs. */
  readonly blobs: BlobStore
  /** Temporary files of imports and exports. */
  readonly scratch: Scratch
  /** Collects what no object needs. */
  readonly blobKeeper: BlobKeeper
  readonly providers: Providers
  /** Decides about new users where the policy says so. */
  readonly webhook: Webhook
  readonly invitations: Invitations
  /** Where the outside world reaches the database, or null when that is not known (design.md §2). */
  readonly address: () => Promise<string | null>
}

/** Where the front door finds a database by the name in the address. */
export interface Hosts {
  /** The host when it is open already: the way of every request but the first. */
  findOpen(name: string): Host | undefined
  /** Throws `UNKNOWN_DATABASE`. */
  open(name: string): Promise<Host>
  /** The database, open until disposed: for work that takes longer than a request usually does. */
  hold(name: string): Promise<Host & Disposable>
  /** Throws when one of the open databases does not answer. */
  check(): Promise<void>
}
