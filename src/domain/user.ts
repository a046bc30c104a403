/** A person who uses the database (spec.md §2.3). */
export interface User {
  readonly id: string
  readonly type: 'eval' | 'prod' | 'demo'
  /** ms since the epoch. */
  readonly created: number
  readonly updated: number
  readonly lastLogin: number | null
  readonly validUntil: number | null
  readonly deactivated: number | null
  /** Free-form; `email` and `displayName` are known. */
  readonly data: Readonly<Record<string, unknown>> | null
}
