import { JSON_LIMITS, parseJson } from './scan'
import { findJsonFault, offsetInString } from './syntax'
import { parseStores, type Locate, type TableSchema } from '../value/schema'
import { positionAt, type Position } from '../value/position'
import { isRecord } from '../value/value'

/**
 * Parses the text of a JSON file: an import file with a `schema` (protocol.md §9.4), or the
 * object of table names and stores texts alone. Lines and columns in refusals are the file's.
 * Throws `INVALID_REQUEST` when it is not JSON, `UNPROCESSABLE` when it is too deep or too wide,
 * `INVALID_SCHEMA` when a table is declared wrongly.
 */
export function parseSchemaFile(text: string): Map<string, TableSchema | null> {
  const json = text.replace(/^\ufeff/, '')
  const file = parseJson(json, JSON_LIMITS, { name: 'The schema file' })
  return isRecord(file) && isRecord(file['schema'])
    ? parseSchemaIn(json, ['schema'], file['schema'])
    : parseSchemaIn(json, [], file)
}

/**
 * Parses the schema that lies, as `value`, at `path` of a JSON text, which begins at `start` of its
 * file. Throws `INVALID_SCHEMA` with lines and columns of the file.
 */
export function parseSchemaIn(
  json: string,
  path: readonly string[],
  value: unknown,
  start?: Position,
): Map<string, TableSchema | null> {
  return parseStores(value, locateIn(json, path, start))
}

/** Finds places of the object at `path`, whose members are tables. */
function locateIn(json: string, path: readonly string[], start?: Position): Locate {
  const placesByTable = new Map<string, { start: number; keyStart: number }>()
  findJsonFault(json, {
    value(at, start, keyStart) {
      if (at.length === path.length + 1 && path.every((name, i) => at[i] === name)) {
        // Of duplicate keys the last one counts, here as in `JSON.parse`.
        placesByTable.set(at[path.length]!, { start, keyStart })
      }
    },
  })
  return (table, offset) => {
    const place = placesByTable.get(table)
    if (place === undefined) return undefined
    const at = offset === undefined ? place.keyStart : offsetInString(json, place.start, offset)
    return positionAt(json, at, start)
  }
}
