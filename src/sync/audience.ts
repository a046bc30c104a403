/**
 * Listeners by what they listen to. Most keys have one listener: it is kept without a set, which would
 * take more memory than all else of a connection.
 */
export type Audience<K, T extends object> = ReturnType<typeof createAudience<K, T>>

export function createAudience<K, T extends object>() {
  const byKey = new Map<K, T | Set<T>>()
  return {
    /** True when it is the first listener of the key. */
    add(key: K, listener: T): boolean {
      const found = byKey.get(key)
      if (found instanceof Set) found.add(listener)
      else if (found === undefined) byKey.set(key, listener)
      else if (found !== listener) byKey.set(key, new Set([found, listener]))
      return found === undefined
    },
    /** True when it was the last one. */
    remove(key: K, listener: T): boolean {
      const found = byKey.get(key)
      const isLast =
        found instanceof Set ? found.delete(listener) && found.size === 0 : found === listener
      if (isLast && found !== undefined) byKey.delete(key)
      return isLast && found !== undefined
    },
    of(key: K): Iterable<T> {
      const found = byKey.get(key)
      if (found === undefined) return []
      return found instanceof Set ? found : [found]
    },
  }
}
