import type { Actor } from '../domain/access/actor'
import type { BlobLimits } from '../domain/blob/limits'
import type { PartLimits } from '../domain/transfer/entry'
import type { WriteLimits } from '../domain/object/limits'
import type { OffloadRule } from '../domain/blob/offload-rule'
import type { WriteTx } from '../domain/store/store'
import type { RefusedRows } from '../domain/sync/refused'
import type { TableOperation } from '../openapi/table'
import type { MailKind } from '../domain/store/mailer'
import type { Hosts } from '../host/hosts'
import type { Signs } from '../host/serving'
import type { Call } from './call'
import type { ClientCredentials } from '../domain/database/client'
import type { Service } from '../auth/service'
import type { Live } from '../sync/live'
import type { AccessEntry } from '../log/log'
import type { Networks } from '../net/networks'
import type { Bodies } from './body/body'
import type { Unsent } from './body/unsent'
import type { Ledger } from '../limits/ledger'
import type { Uploads } from './body/uploads'
import type { UploadTimeout } from './body/chunks'
import type { OriginPolicy } from './cors'
import type { Limiter } from './rate-limits'

/** A mail that was printed in the terminal, because there is no mail server. */
export interface PrintedMail {
  readonly kind: MailKind
  readonly to: string
  readonly subject: string
  /** The one-time code, or null. */
  readonly otp: string | null
  /** The link of the mail, or null. */
  readonly link: string | null
  /** ms since the epoch. */
  readonly date: number
}

/** The request whose changes were rejected, for the log and for administrators. */
export interface RejectedRequest {
  readonly requestId: string
  readonly database: string
  readonly subject: string | null
  /** The local database that sent it. */
  readonly device: string
}

/** An operation of the table (src/control) with an address of its own. */
export interface RestOperation extends TableOperation {
  /** The body is a value as a whole, not an object of properties. */
  readonly body?: string
  /** True for a body as large as those of objects. */
  readonly isLarge?: true
  /** True for work that takes longer than a connection may be idle. */
  readonly isLong?: true
  /**
   * Resolves to the JSON of the answer, or to undefined for an answer without a body. `path` has the name of
   * the database and the parameters.
   */
  run(request: {
    readonly actor: Actor
    /** The IP address of the caller. */
    readonly address: string
    readonly path: Readonly<Record<string, string>>
    readonly query: string
    readonly body: unknown
  }): Promise<unknown>
}

/** Everything that routes use. */
export interface HttpContext {
  /** The operations with an address of their own; loaded with the router. */
  operations(): Promise<readonly RestOperation[]>
  readonly hosts: Hosts
  readonly bodies: Bodies
  readonly uploads: Uploads
  readonly unsent: Unsent
  /** The memory budgets of bodies, uploads and unsent answers. */
  readonly ledger: Ledger
  readonly blobs: BlobContext
  /** How much one request may write. */
  readonly writeLimits: WriteLimits
  readonly origins: OriginPolicy
  /** The last mails that were printed, the newest first; none outside development. */
  printedMails(): readonly PrintedMail[]
  readonly limits: Limiter
  /** Answers the addresses for tests; present in test mode. */
  readonly answerTest?: ((call: Call) => Promise<Response> | undefined) | undefined
  /** Answers everything below `/admin`; absent where the page for administrators is off. */
  readonly answerAdmin?: ((call: Call) => Promise<Response>) | undefined
  /** The limits of each part of an imported file. */
  readonly importLimits: PartLimits
  /** Keeps a line about a change that is no operation of the table, with the name of the operation that it is like. */
  readonly record: RecordChange
  /** Logins and new databases at the address of the server. */
  readonly creation: Creation
  /** The live connections. */
  readonly live: Live
  /** The proxies whose `X-Forwarded-For` is trusted, or null. */
  readonly proxies: Networks | null
  /** Called when the address of a caller is looked up behind this proxy, which is not trusted. */
  unknownProxy(address: string): void
  /** Signs of wrong proxies and of damage, for administrators. */
  readonly signs: Signs
  /** Requests of the add-on, and those of them with changes, since the start. */
  readonly syncs: { pulls: number; pushes: number }
  readonly version: string
  /** False while the server shuts down. */
  isReady(): boolean
  /** Writes one line of the access log. */
  access(entry: AccessEntry): void
  /** Logs the rows that a request could not change, and why, and tells followers. */
  rejected(request: RejectedRequest, rows: RefusedRows): void
  /** Logs an error whose details the caller must not see. */
  failure(requestId: string, error: unknown): void
}

/**
 * `run` gets the function that keeps the line, to be called in the unit of the change; `begun` for work in many units,
 * whose line has its result at the end.
 */
export type RecordChange = <T>(
  change: {
    readonly operation: string
    readonly database: string
    /** The caller, or the e-mail address of one without a token. */
    readonly caller: Actor | string
    /** The IP address. */
    readonly address: string
  },
  run: (record: (tx: WriteTx, result?: 'begun' | 'done') => void) => Promise<T>,
) => Promise<T>

/** The creation of databases by people (protocol.md §9.3 `create`). */
export interface Creation {
  readonly service: Service
  /**
   * Creates a database for the owner of this e-mail address, who calls from this IP address. Throws `DB_LIMIT_REACHED` and `NO_PUBLIC_ADDRESS`.
   */
  create(email: string, address: string): Promise<ClientCredentials & { readonly url: string }>
}

export interface BlobContext {
  readonly limits: BlobLimits
  /** When large values in objects are stored as blobs, for databases without a rule of their own. */
  readonly offload: OffloadRule
  readonly timeout: UploadTimeout
}
