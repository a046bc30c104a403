import { keyPathOf } from './oracle-world'

/** One rule a request breaks, as `design.md` §5.6 and §6 have it answered. */
export interface Refusal {
  readonly code:
    | 'NOT_AUTHORIZED'
    | 'UNKNOWN_OBJECT'
    | 'CONFLICT'
    | 'UNKNOWN_REALM'
    | 'UNPROCESSABLE'
  /** Words the `reason` of the refusal has to contain. */
  readonly names: readonly string[]
}

/** The permission or property that stands in the way. */
export const lacks = (...names: string[]): Refusal => ({ code: 'NOT_AUTHORIZED', names })

/** Nothing about the object but the properties that name it. */
export const hidden = (table: string): Refusal => lacks(...keyPathOf(table))

/** More is given than the giver holds. */
export const exceeds = (): Refusal => lacks('permissions')

export const absent = (): Refusal => ({ code: 'UNKNOWN_OBJECT', names: [] })

export const conflict = (): Refusal => ({ code: 'CONFLICT', names: [] })

export const lastHolder = (): Refusal => ({ code: 'CONFLICT', names: ['full rights'] })

export const unknownRealm = (): Refusal => ({ code: 'UNKNOWN_REALM', names: ['realmId'] })

export const unacceptable = (): Refusal => ({ code: 'UNPROCESSABLE', names: [] })
