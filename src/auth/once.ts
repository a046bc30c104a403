import type { Clock } from '../clock'
import { hashSecret, newSecret } from '../domain/value/secret'

/** Values that a bearer of a code takes out, once. They are in memory: a restart ends them. */
export interface Once<T> {
  /** Keeps the value; returns its code of 256 random bits, of which only a hash is kept. */
  issue(value: T): { readonly code: string; readonly expires: number }
  /** The value, which is gone then; undefined for a code that was used, has expired or never was. */
  take(code: string): T | undefined
  /** Calls `work` with the value as `take` returns it; the code is good again when `work` throws. */
  spend<R>(code: string, work: (value: T | undefined) => Promise<R>): Promise<R>
  /** Ends all codes. */
  clear(): void
}

/**
 * Codes that are good for `life` ms. Beyond `most` the oldest one ends of the owner with the most, so that nobody pushes
 * out those of others; without `ownerOf` all have one owner. `clock` must not go back.
 */
export function createOnce<T>(
  clock: Clock,
  life: number,
  most: number,
  ownerOf: (value: T) => string = () => '',
): Once<T> {
  const entries = new Map<string, { readonly value: T; readonly expires: number }>()

  /** Makes room for another code of this owner. */
  function removeOldest(owner: string): void {
    const counts = new Map([[owner, 1]])
    for (const { value } of entries.values()) {
      counts.set(ownerOf(value), (counts.get(ownerOf(value)) ?? 0) + 1)
    }
    const [largest] = [...counts].reduce((one, other) => (other[1] > one[1] ? other : one))
    const all = [...entries]
    const [oldest] = all.find(([, { value }]) => ownerOf(value) === largest) ?? all[0] ?? []
    if (oldest !== undefined) entries.delete(oldest)
  }

  /** Found by its hash: the time that it takes tells nothing about other codes. */
  function taken(code: string) {
    const hash = hashSecret(code)
    const entry = entries.get(hash)
    entries.delete(hash)
    return entry !== undefined && entry.expires > clock.now() ? { hash, entry } : undefined
  }

  return {
    issue(value) {
      const code = newSecret()
      const expires = clock.now() + life
      // The oldest ones come first, and expire first.
      for (const [hash, entry] of entries) {
        if (entry.expires > clock.now()) break
        entries.delete(hash)
      }
      if (entries.size >= most) removeOldest(ownerOf(value))
      entries.set(hashSecret(code), { value, expires })
      return { code, expires }
    },

    take: (code) => taken(code)?.entry.value,

    async spend(code, work) {
      const found = taken(code)
      try {
        return await work(found?.entry.value)
      } catch (error) {
        if (found !== undefined) entries.set(found.hash, found.entry)
        throw error
      }
    },

    clear: () => entries.clear(),
  }
}
