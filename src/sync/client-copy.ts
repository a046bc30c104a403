import type { ReadTx } from '../domain/store/store'
import { numberOfRevision } from '../domain/sync/revision'
import type { Sight } from './sight'

/** A revision as the client named it, or as it was sent to it. */
export interface Base {
  readonly text: string
  /** Null when it is not a revision of this database; undefined while it was not looked up. */
  revision: number | null | undefined
}

/** The tables that a client marks for sync, and its `Y.Doc` properties (`textsDeclared`). */
export interface Declared {
  /** Undefined while they are unknown: the client gets all. */
  readonly tables: ReadonlySet<string> | undefined
  /** Empty: none that are known. */
  readonly texts: string
}

const UNKNOWN: Declared = { tables: undefined, texts: '' }

/** The copy of the database at a client: from which revision, and for which realms, changes lead to the newest one. */
export class ClientCopy {
  #base: Base | undefined = undefined
  /** When `#base` changed, ms. */
  #since = 0
  /** True when the socket named `#base`, false when it is an answer to its client. */
  #isNamed = false
  /** The realms that the client knows (`realmSetHash`). */
  #hash = ''
  /** The base of the last message, if the client itself had named it. */
  #sentFrom: string | undefined = undefined
  /** Changes cannot be applied: the client named the same base after some, or a realm is another one now. */
  #mustPull = false
  /** The first base is older than none of the realms. */
  #isVerified = false
  declared = UNKNOWN

  get base(): string | undefined {
    return this.#base?.text
  }

  get hash(): string {
    return this.#hash
  }

  /** The client says what it has. True when that is another revision than before. */
  named(rev: string, hash: string, now: number): boolean {
    const isOther = this.#base?.text !== rev
    if (this.#sentFrom === rev) this.#mustPull = true
    if (isOther) this.#move({ text: rev, revision: undefined }, now)
    if (this.#hash !== hash) this.#hash = hash
    this.#isNamed = true
    this.#sentFrom = undefined
    return isOther
  }

  /** The client was answered by HTTP: that is what it has from now on. */
  answered(base: Base, hash: string, declared: Declared, now: number): void {
    this.declared = declared
    this.#hash = hash
    this.#move(base, now)
    this.#isNamed = false
    this.#sentFrom = undefined
  }

  /** The client was sent changes that follow its base. */
  sent(): void {
    this.#sentFrom = this.#isNamed ? this.base : undefined
  }

  /** A realm that the client has is another one now: it has to fetch it anew. */
  lostRealm(): void {
    this.#mustPull = true
  }

  /** True when the client knows the realms of `sight`, and no others. */
  isOf({ hash }: Sight): boolean {
    if (this.#hash !== hash) return false
    // Equal texts share one string in memory.
    this.#hash = hash
    return true
  }

  isOlderThan(time: number): boolean {
    return this.#since <= time
  }

  /**
   * The revision from which changes lead the client to `upTo`, the revision of `tx`; undefined when it
   * has to pull.
   */
  revision(tx: ReadTx, sight: Sight, upTo: number): number | undefined {
    const base = this.#base
    if (base === undefined) return undefined
    base.revision ??= numberOfRevision(tx.runs.list(), upTo, base.text) ?? null
    const { revision } = base
    if (revision === null || revision < tx.runs.oldest()) return undefined
    if (!this.#isVerified) this.#verify(tx, sight, revision)
    return this.#mustPull || !this.isOf(sight) ? undefined : revision
  }

  /** Finds realms that were deleted and made again after the base: changes cannot correct their copies. */
  #verify(tx: ReadTx, { realms, invited }: Sight, base: number): void {
    this.#isVerified = true
    for (const ref of [...realms, ...invited]) {
      if (tx.realms.bornAt(ref) <= base) continue
      const realm = tx.realms.findByRef(ref)
      if (realm !== undefined && tx.realms.isRetired(realm.id)) this.#mustPull = true
    }
  }

  #move(base: Base, now: number): void {
    this.#base = base
    this.#since = now
    this.#mustPull = false
  }
}
