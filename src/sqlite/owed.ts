import type { IndexEntry } from '../domain/store/objects'

/** Entries of the row at a position. */
export interface RowEntries {
  readonly seq: number
  readonly entries: Iterable<IndexEntry>
}

/** Changes of index entries of which the removals are written first, whatever their order was. */
export interface Debt {
  readonly removed: RowEntries[]
  readonly added: RowEntries[]
  /** The positions of `added`. */
  readonly seqs: Set<number>
}

/** Rows of a table that are still to be removed. */
export interface OwedRemoval {
  readonly table: string
  /** Removes some of them; false when no more are left. */
  readonly removeSome: () => boolean
}

/**
 * The changes of index entries that a unit has not written yet. Many are written together: in the order of
 * their keys they take half as long, and others get their turn between two slices of them. Besides these, the
 * rows that it has not removed yet.
 */
export class Owed {
  #debts: Debt[] = []
  /** About how many entries there are. */
  count = 0
  /** In the order in which they are removed. */
  removals: readonly OwedRemoval[] = NONE

  get isNothing(): boolean {
    return this.count === 0 && this.removals.length === 0
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
    this.removals = NONE
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
