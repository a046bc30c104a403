import { SatchelError, quoted } from '../value/error'
import type { Draft } from './draft'
import { keyFromPath } from '../value/key'
import { propertyAt } from '../value/property'
import { isRecord, setOwn } from '../value/value'
import type { Table } from '../store/tables'

/**
 * The object that is put at an address, with the key of that address where it names none itself
 * (protocol.md §14.1). `text` is the path segment, decoded. Throws `INVALID_REQUEST`.
 */
export function withKeyOf(table: Table, object: unknown, text: string): unknown {
  const key = keyFromPath(table, text)
  if (!isRecord(object)) return object
  const parts = table.compound ? (JSON.parse(key) as unknown[]) : [key]
  const filled = { ...object }
  for (const [place, path] of (table.primaryKey ?? []).entries()) {
    // Deeper properties belong to an object that only its writer can create.
    const isOpen = (propertyAt(object, path) ?? null) === null
    if (isOpen && !path.includes('.')) {
      setOwn(filled, path, parts[place])
    }
  }
  return filled
}

/** Throws `UNPROCESSABLE` when the object has another key than its address. */
export function requireKeyOf(table: Table, draft: Draft, key: string): void {
  if (draft.key === key) return
  const [path = ''] = table.primaryKey ?? []
  throw new SatchelError(
    'UNPROCESSABLE',
    `${quoted(path)} is not the key in the address: leave it out, or put the object at its own`,
    { reason: path },
  )
}
