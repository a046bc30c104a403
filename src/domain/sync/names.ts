import type { Named, NamedKey } from './named'

/** Collects what the transactions of a request did to the keys that they name. */
export interface Names {
  /** Adds what one operation, or the end of one transaction, says of a key. */
  note(table: string, key: string, note: NamedKey): void
  /** Adds what another collection says, in its order. The other one is not used afterwards. */
  append(other: Names): void
  readonly named: Named
  /** The same, to be taken over. */
  readonly own: ReadonlyMap<string, Map<string, NamedKey>>
}

export function createNames(): Names {
  const named = new Map<string, Map<string, NamedKey>>()

  function note(table: string, key: string, added: NamedKey): void {
    const keys = named.get(table)
    if (keys === undefined) {
      named.set(table, new Map([[key, added]]))
      return
    }
    const known = keys.get(key)
    keys.set(key, known === undefined ? added : joined(known, added))
  }

  return {
    note,
    append(other) {
      for (const [table, added] of other.own) {
        if (named.has(table)) for (const [key, one] of added) note(table, key, one)
        else named.set(table, added)
      }
    },
    named,
    own: named,
  }
}

function bothOf(one: NamedKey['names'], other: NamedKey['names']): NamedKey['names'] {
  if (one === undefined || other === undefined) return undefined
  if (other.size === 0) return one
  return one.union(other)
}

function joined(known: NamedKey, added: NamedKey): NamedKey {
  const { base, names } = known
  const isBased = base !== undefined && added.base !== undefined
  return {
    base: isBased ? Math.min(base, added.base) : undefined,
    isAsSent: known.isAsSent && added.isAsSent,
    isRejected: known.isRejected || added.isRejected,
    revision: added.revision ?? known.revision,
    names: bothOf(names, added.names),
  }
}
