import type { BlobLimits } from '../domain/blob/limits'
import type { WriteLimits } from '../domain/object/limits'
import type { OffloadRule } from '../domain/blob/offload-rule'
import type { MailKind } from '../domain/store/mailer'
import type { Hosts } from '../host/hosts'
import type { Awaitable } from '../domain/store/records'
import type { Call } from './call'
import type { Live } from '../sync/live'
import type { AccessEntry } from '../log/log'
import type { Networks } from '../net/networks'
import type { Bodies } from './body/body'
import type { Unsent } from './body/unsent'
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

/** Everything that routes use. */
export interface HttpContext {
  readonly hosts: Hosts
  readonly bodies: Bodies
  readonly uploads: Uploads
  readonly unsent: Unsent
  readonly blobs: BlobContext
  /** How much one request may write. */
  readonly writeLimits: WriteLimits
  readonly origins: OriginPolicy
  /** The last ones, newest first; none outside development. */
  printedMails(): readonly PrintedMail[]
  readonly limits: Limiter
  /** Answers the addresses for tests; present in test mode. */
  readonly answerTest?: ((call: Call) => Awaitable<Response> | undefined) | undefined
  /** The live connections. */
  readonly live: Live
  /** The proxies whose `X-Forwarded-For` is trusted, or null. */
  readonly proxies: Networks | null
  /** Called when the address of a caller is looked up behind this proxy, which is not trusted. */
  unknownProxy(address: string): void
  readonly version: string
  /** False while the server shuts down. */
  isReady(): boolean
  /** Writes one line of the access log. */
  access(entry: AccessEntry): void
  /** Logs an error whose details the caller must not see. */
  failure(requestId: string, error: unknown): void
}

export interface BlobContext {
  readonly limits: BlobLimits
  /** When large values in objects are stored as blobs, for databases without a rule of their own. */
  readonly offload: OffloadRule
  readonly timeout: UploadTimeout
}
