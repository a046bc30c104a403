import type { Scope } from './scope'

/** An API client (protocol.md §9.2). Its secret is known only as its SHA-256. */
export interface Client {
  readonly id: string
  /** Base64url of the SHA-256 of the secret. */
  readonly secretHash: string
  readonly scopes: readonly Scope[]
  readonly name: string | null
  /** ms since the epoch. */
  readonly created: number
  /** The moment its key stops working, ms, or null. Set on the old client by a rotation. */
  readonly expires: number | null
}
