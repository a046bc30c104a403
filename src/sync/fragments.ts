/** The changes of one table, encoded: `{table, muts}` as JSON. */
export interface Part {
  readonly table: string
  readonly isRemoval: boolean
  readonly text: string
}

/** The changes of one realm, for everybody who sees it; partial when that is not all of them. */
export interface Fragment {
  readonly parts: readonly Part[]
  readonly isPartial: boolean
}

/** What an entry takes beside its text, in characters. */
const ENTRY = 100

/**
 * Keeps the newest fragments, which are made once for all sessions, up to `most` characters. Sessions ask for the same ones within seconds: later,
 * they would only take the memory, of each database.
 */
export function createFragments(most: number) {
  let young = new Map<string, Fragment | undefined>()
  let old = new Map<string, Fragment | undefined>()
  /** Of the young ones, in characters. */
  let size = 0

  function keep(name: string, fragment: Fragment | undefined): Fragment | undefined {
    const added = ENTRY + sizeOf(fragment?.parts ?? [])
    if (size + added > most / 2) age()
    size += added
    young.set(name, fragment)
    return fragment
  }

  function age(): void {
    old = young
    young = new Map()
    size = 0
  }

  return {
    /** The fragment of this name, made unless it is kept; undefined is kept too. */
    find(name: string, make: () => Fragment | undefined): Fragment | undefined {
      if (young.has(name)) return young.get(name)
      if (!old.has(name)) return keep(name, make())
      const known = old.get(name)
      old.delete(name)
      return keep(name, known)
    },
    /** Forgets those that nobody has asked for since the last call. */
    age,
    clear() {
      age()
      age()
    },
  }
}

/** In characters. */
export function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { text }) => sum + text.length, 0)
}
