/** How a database is set up, by name: one of the few values that are read whole. */
export interface Setting {
  readonly id: string
  /** Plain JSON. */
  readonly value: Readonly<Record<string, unknown>>
}
