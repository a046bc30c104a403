/**
 * Listeners by what they listen to. Most keys have one listener: it is kept without a set, which would
 * take more memory than all else of a connection.
 */
export interface Audience<K, T extends object> {
  add(key: K, listener: T): void
  remove(key: K, listener: T): void
  of(key: K): Iterable<T>
}

export function createAudience<K, T extends object>(): Audience<K, T> {
  const byKey = new Map<K, T | Set<T>>()
  return {
    add(key, listener) {
      const found = byKey.get(key)
      if (found instanceof Set) found.add(listener)
      else if (found === undefined) byKey.set(key, listener)
      else if (found !== listener) byKey.set(key, new Set([found, listener]))
    },
    remove(key, listener) {
      const found = byKey.get(key)
      if (found === listener) byKey.delete(key)
      if (!(found instanceof Set)) return
      found.delete(listener)
      if (found.size === 0) byKey.delete(key)
    },
    of(key) {
      const found = byKey.get(key)
      if (found === undefined) return []
      return found instanceof Set ? found : [found]
    },
  }
}
