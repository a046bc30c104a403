/** A limit that no setting changes. */
export interface FixedLimit {
  readonly most: number
  readonly unit: string
  /** The thing that has at most so many. */
  readonly of: string
  readonly beyond: 'the request is refused' | 'the transaction is rejected'
}

/**
 * The limits that no setting changes, in a table of the guide (docs/operations.md). Published clients
 * repeat a refused request and undo a rejected transaction: a transaction that no honest client makes is
 * rejected, and a request with too much outside its transactions is refused.
 */
export const FIXED_LIMITS = {
  indexCharacters: {
    most: 1_024,
    unit: 'characters',
    of: 'an index name in the criteria of a sync operation',
    beyond: 'the transaction is rejected',
  },
  indexParts: {
    most: 16,
    unit: 'parts',
    of: 'a compound index in such criteria',
    beyond: 'the transaction is rejected',
  },
  pathCharacters: {
    most: 4_096,
    unit: 'characters',
    of: 'a property path that a sync operation changes',
    beyond: 'the transaction is rejected',
  },
  listElements: {
    most: 50_000,
    unit: 'elements',
    of: 'a list that a property modification changes, and what it adds or removes',
    beyond: 'the transaction is rejected',
  },
} as const satisfies Record<string, FixedLimit>

/** The figure of a limit with its unit, for sentences: `1,024 characters`. */
export function mostOf({ most, unit }: FixedLimit): string {
  return `${most.toLocaleString('en')} ${unit}`
}
