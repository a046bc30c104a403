import type { AppliedRejection } from '../store/sync'

/** The keys that the operations of one request name, in wire form, by table. */
export type Named = ReadonlyMap<string, ReadonlyMap<string, NamedKey>>

/** What a request did to one key: it decides how the answer brings its client up to date. */
export interface NamedKey {
  /** The revision that the client had seen when it changed the row; undefined when unknown. */
  readonly base: number | undefined
  /**
   * The row is what the client has assumed: every operation on it was applied as it was sent, and
   * nobody else had changed or removed it after `base`. False for a repeated transaction.
   */
  readonly isAsSent: boolean
  /** A transaction that names the key was rejected: the client needs the whole row. */
  readonly isRejected: boolean
  /**
   * The revision in which the transaction changed the row, of a repeated one too; undefined when it
   * changed nothing.
   */
  readonly revision: number | undefined
  /**
   * The top-level properties that the operations wrote; undefined when the client may not have the
   * row any more, because it deleted it.
   */
  readonly properties: ReadonlySet<string> | undefined
}

/** Of a key whose row is not what its client has assumed, though no transaction has changed it. */
export const DIVERGED: Omit<NamedKey, 'base'> = {
  isAsSent: false,
  isRejected: false,
  revision: undefined,
  properties: new Set(),
}

/** A transaction that was rejected, as the answer lists it (protocol.md §4.3). */
export interface Rejection extends AppliedRejection {
  readonly txid: string
}

/** Collects what the transactions of a request did to the keys that they name. */
export class NamedKeys {
  #named = new Map<string, Map<string, NamedKey>>()

  get named(): Named {
    return this.#named
  }

  /** Adds what one operation, or the end of one transaction, says of a key. */
  note(table: string, key: string, added: NamedKey): void {
    const keys = this.#named.get(table)
    if (keys === undefined) {
      this.#named.set(table, new Map([[key, added]]))
      return
    }
    const known = keys.get(key)
    keys.set(key, known === undefined ? added : joined(known, added))
  }

  /** Adds what another collection says, in its order; that one is not used afterwards. */
  append(other: NamedKeys): void {
    if (this.#named.size === 0) {
      this.#named = other.#named
      return
    }
    for (const [table, added] of other.#named) {
      if (this.#named.has(table)) for (const [key, one] of added) this.note(table, key, one)
      else this.#named.set(table, added)
    }
  }
}

function bothOf(
  one: NamedKey['properties'],
  other: NamedKey['properties'],
): NamedKey['properties'] {
  if (one === undefined || other === undefined) return undefined
  if (other.size === 0) return one
  return one.union(other)
}

function joined(known: NamedKey, added: NamedKey): NamedKey {
  const { base, properties } = known
  const isBased = base !== undefined && added.base !== undefined
  return {
    base: isBased ? Math.min(base, added.base) : undefined,
    isAsSent: known.isAsSent && added.isAsSent,
    isRejected: known.isRejected || added.isRejected,
    revision: added.revision ?? known.revision,
    properties: bothOf(properties, added.properties),
  }
}
