import type { IndexEntry } from '../domain/store/objects'

/** Entries of the row at a position. */
export interface RowEntries {
  readonly seq: number
  readonly entries: Iterable<IndexEntry>
}

/** Changes of index entries of which the removals are written first, whatever their order was. */
interface Debt {
  readonly removed: RowEntries[]
  readonly added: RowEntries[]
  /** The positions of `added`. */
  readonly seqs: Set<number>
}

/** Rows that are still to be removed. */
interface Removal {
  readonly table: string
  /** Removes up to `limit` of them; how many it removed. */
  readonly removeSome: (limit: number) => number
}

/** How many rows are removed between two turns of others. */
const ROWS = 256

/**
 * The changes of index entries that a unit has not written yet. Many are written together: in the order of
 * their keys they take half as long, and others get their turn between two slices of them. Besides these, the
 * rows that it has not removed yet.
 */
export class Owed {
  #debts: Debt[] = []
  /** About how many entries there are. */
  count = 0
  #removals: readonly Removal[] = NONE

  get isNothing(): boolean {
    return this.count === 0 && this.#removals.length === 0
  }

  get hasRows(): boolean {
    return this.#removals.length > 0
  }

  /**
   * Removes rows of a table, however many: some now, and the others before their table is used again or the unit
   * ends, with turns for others between. The transaction of the caller may be over then.
   */
  removeRows(table: string, removeSome: Removal['removeSome']): void {
    this.payRows(table)
    if (removeSome(ROWS) === ROWS) this.#removals = [...this.#removals, { table, removeSome }]
  }

  /** Removes the rows of a table, or of all. Called before they are read or written. */
  payRows(table?: string): void {
    if (this.#removals.length === 0) return
    for (const _ of this.payingRows(table));
  }

  /** `payRows` in slices. */
  *payingRows(table?: string): Generator<void> {
    for (const removal of this.#removals) {
      if (table !== undefined && removal.table !== table) continue
      while (removal.removeSome(ROWS) === ROWS) yield
      this.#removals = this.#removals.filter((other) => other !== removal)
    }
  }

  remove(rows: readonly RowEntries[], count: number): void {
    let debt = this.#last()
    // An entry that was added to the same row before has to be there when it is removed.
    if (rows.some(({ seq }) => debt.seqs.has(seq))) debt = this.#begin()
    for (const row of rows) debt.removed.push(row)
    this.count += count
  }

  add(rows: readonly RowEntries[], count: number): void {
    const { added, seqs } = this.#last()
    for (const row of rows) {
      added.push(row)
      seqs.add(row.seq)
    }
    this.count += count
  }

  /** The changes in order, which the caller writes: no entry is owed from now on. */
  take(): readonly Debt[] {
    const debts = this.#debts
    this.#debts = []
    this.count = 0
    return debts
  }

  forget(): void {
    this.#debts = []
    this.count = 0
    this.#removals = NONE
  }

  #last(): Debt {
    return this.#debts.at(-1) ?? this.#begin()
  }

  #begin(): Debt {
    const debt = { removed: [], added: [], seqs: new Set<number>() }
    this.#debts.push(debt)
    return debt
  }
}

const NONE: readonly never[] = []
