/**
 * The value at a path of a stored object, or undefined. As in Dexie, a property whose name is the
 * whole path comes before one that is reached through dots. Own properties only: `__proto__` and
 * `constructor` are data (design.md §6). Typed values (`$t`) have no inside.
 */
export function propertyAt(object: object, path: string): unknown {
  if (Object.hasOwn(object, path)) return (object as Record<string, unknown>)[path]
  const dot = path.indexOf('.')
  const name = path.slice(0, dot)
  if (dot < 0 || !Object.hasOwn(object, name)) return undefined
  const inner = (object as Record<string, unknown>)[name]
  if (typeof inner !== 'object' || inner === null || Object.hasOwn(inner, '$t')) return undefined
  return propertyAt(inner, path.slice(dot + 1))
}
