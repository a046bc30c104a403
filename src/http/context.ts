import type { Clock } from '../clock'
import type { AccessEntry } from '../log/log'
import type { Networks } from '../net/networks'
import type { BlobLimits } from '../domain/blob/limits'
import type { OffloadRule } from '../domain/blob/offload-rule'
import type { Bodies } from './body/body'
import type { Patience } from './body/patient'
import type { OriginPolicy } from './cors'
import type { Hosts } from '../host/hosts'
import type { Limiter } from './rate-limits'

/** What every router of the front door works with. */
export interface HttpContext {
  readonly hosts: Hosts
  readonly clock: Clock
  readonly bodies: Bodies
  readonly blobs: BlobContext
  readonly origins: OriginPolicy
  readonly limits: Limiter
  /** Whose forwarded headers are believed, or null. */
  readonly proxies: Networks | null
  readonly version: string
  /** False while the server is on its way down. */
  isReady(): boolean
  /** One line per request. */
  access(entry: AccessEntry): void
  /** The log of what callers must not be told. */
  failure(requestId: string, error: unknown): void
}

export interface BlobContext {
  readonly limits: BlobLimits
  /** The treatment of large values in objects, for databases without their own setting. */
  readonly offload: OffloadRule
  readonly patience: Patience
}
