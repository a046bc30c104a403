import type { RealmRef } from '../domain/store/realms'

/** The parts of the policy that a value was loaded from, or that a commit has changed. */
export class Facts {
  /** Such as `subject alice` or `origins`: see `fact`. */
  readonly named = new Set<string>()
  /** Realms, with their roles: there may be thousands, which are cheaper as numbers. */
  readonly realms = new Set<RealmRef>()

  get size(): number {
    return this.named.size + this.realms.size
  }

  add(facts: Facts): void {
    for (const name of facts.named) this.named.add(name)
    for (const realm of facts.realms) this.realms.add(realm)
  }

  meets({ named, realms }: Facts): boolean {
    return meets(this.named, named) || meets(this.realms, realms)
  }
}

/** Facts that units have changed, whose changes may be undone, the last ones first. */
export class ChangedFacts extends Facts {
  readonly #order: (string | RealmRef)[] = []

  override add({ named, realms }: Facts): void {
    for (const name of named) {
      if (this.named.has(name)) continue
      this.named.add(name)
      this.#order.push(name)
    }
    for (const realm of realms) {
      if (this.realms.has(realm)) continue
      this.realms.add(realm)
      this.#order.push(realm)
    }
  }

  /** Removes all facts but the first `size`. */
  cut(size: number): void {
    for (const undone of this.#order.splice(size)) {
      if (typeof undone === 'string') this.named.delete(undone)
      else this.realms.delete(undone)
    }
  }
}

/** The fact of one record, such as a client, or with '' that of a whole kind. */
export function fact(kind: FactKind, id: string | number = ''): string {
  return id === '' ? kind : `${kind} ${id}`
}

/**
 * A subject is a user id or an address: its memberships, its user and its private realm. Every value
 * depends on `everything`, which changes when rows were changed by hand.
 */
export type FactKind =
  | 'everything'
  | 'subject'
  | 'users'
  | 'members'
  | 'realm'
  | 'table'
  | 'row'
  | 'rows'
  | 'login'
  | 'clients'
  | 'keys'
  | 'origins'
  | 'providers'
  | 'settings'
  | 'sync client'

/** Notes that a transaction has read a fact, for the values that are being loaded in it. */
export function note(
  { loads }: { readonly loads: readonly Facts[] },
  kind: FactKind,
  id: string | number = '',
): void {
  for (const facts of loads) facts.named.add(fact(kind, id))
}

/** `note` for a realm and its roles. */
export function noteRealm({ loads }: { readonly loads: readonly Facts[] }, realm: RealmRef): void {
  for (const facts of loads) facts.realms.add(realm)
}

/** A remembered value and the facts it was loaded from. */
export interface Memory {
  readonly value: unknown
  readonly facts: Facts
}

/** How many facts and values a generation of memories has. */
const FACTS_PER_GENERATION = 100_000

/**
 * Remembered values by name. Each is forgotten when a fact that it was loaded from changes, which costs
 * a look-up for each change, and for a change of a realm one for each value that realms count in. A
 * value that nothing asks for while a whole generation of others is loaded is forgotten too.
 */
export class Memo {
  #young = new Generation()
  #old = new Generation()

  find(name: string): Memory | undefined {
    const young = this.#young.memories.get(name)
    if (young !== undefined) return young
    const old = this.#old.memories.get(name)
    if (old === undefined) return undefined
    this.#old.remove(name)
    this.set(name, old)
    return old
  }

  set(name: string, memory: Memory): void {
    this.#old.remove(name)
    this.#young.set(name, memory)
    if (this.#young.weight < FACTS_PER_GENERATION) return
    this.#old = this.#young
    this.#young = new Generation()
  }

  forget(changed: Facts): void {
    this.#young.forget(changed)
    this.#old.forget(changed)
  }

  clear(): void {
    this.#young = new Generation()
    this.#old = new Generation()
  }

  /** Takes over what the other one remembers. */
  take(other: Memo): void {
    for (const { memories } of [other.#old, other.#young]) {
      for (const [name, memory] of memories) this.set(name, memory)
    }
  }
}

class Generation {
  readonly memories = new Map<string, Memory>()
  /** Names of memories by the named facts they depend on. */
  readonly #names = new Map<string, Set<string>>()
  /** The memories that depend on realms. */
  readonly #withRealms = new Set<string>()
  weight = 0

  set(name: string, memory: Memory): void {
    this.remove(name)
    this.memories.set(name, memory)
    this.weight += weightOf(memory)
    for (const known of memory.facts.named) {
      const names = this.#names.get(known)
      if (names === undefined) this.#names.set(known, new Set([name]))
      else names.add(name)
    }
    if (memory.facts.realms.size > 0) this.#withRealms.add(name)
  }

  remove(name: string): void {
    const memory = this.memories.get(name)
    if (memory === undefined) return
    this.memories.delete(name)
    this.weight -= weightOf(memory)
    for (const known of memory.facts.named) {
      const names = this.#names.get(known)
      names?.delete(name)
      if (names?.size === 0) this.#names.delete(known)
    }
    this.#withRealms.delete(name)
  }

  forget({ named, realms }: Facts): void {
    for (const changed of named) {
      for (const name of this.#names.get(changed) ?? []) this.remove(name)
    }
    if (realms.size === 0) return
    for (const name of this.#withRealms) {
      if (meets(this.memories.get(name)?.facts.realms ?? new Set(), realms)) this.remove(name)
    }
  }
}

function weightOf({ facts }: Memory): number {
  return 1 + facts.size
}

/** True when the sets have something in common: costs a look-up for each entry of the smaller one. */
function meets<T>(one: ReadonlySet<T>, other: ReadonlySet<T>): boolean {
  const [small, large] = one.size < other.size ? [one, other] : [other, one]
  for (const entry of small) if (large.has(entry)) return true
  return false
}
