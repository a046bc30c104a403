import { quoted, unprocessable } from '../value/error'
import { type KeyRule, compoundKey, keyFromPath, requireParts } from '../value/key'

/**
 * The key under which the store has what a key on the wire names (protocol.md §10.3): compound keys
 * are compact JSON in both, and private keys `#x:<user>` carry their user in both, so a stored key
 * needs no translation on the way out. Throws `UNPROCESSABLE`.
 */
export function storedKey(table: KeyRule, key: string): string {
  const isArray = key.startsWith('[') && key.endsWith(']')
  try {
    // A table whose primary key is not known yet may have a compound one.
    if (isArray && table.primaryKey === null) return compoundKey(requireParts(key))
    return keyFromPath(table, key)
  } catch {
    throw unprocessable(`${quoted(key)} cannot be a key of ${quoted(table.name)}`, table.name)
  }
}
