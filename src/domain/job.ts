/** Long work in short units; what is unfinished goes on at the next start (design.md §3). */
export interface Job {
  readonly id: string
  readonly kind: 'index' | 'drop-index' | 'erase' | 'import'
  /** What the kind needs to go on, as JSON. */
  readonly state: Readonly<Record<string, unknown>>
  readonly done: number
  /** How much there is to do in the same measure, or null when unknown. */
  readonly total: number | null
  readonly created: number
  /** Why it stopped for good, or null. */
  readonly failure: string | null
}
