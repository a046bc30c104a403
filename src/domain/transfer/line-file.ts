import { quoted } from '../value/error'
import { splitLines } from '../json/ndjson'
import type { JsonLimits } from '../json/scan'
import { type WireObject, getOwn, isWireObject } from '../value/value'
import { parseSchemaIn } from '../json/schema-file'
import {
  FILE,
  type Item,
  type ObjectEntry,
  parsePart,
  type PartLimits,
  refuseAt,
  requireData,
} from './entry'
import { parseIdPrefixes, parseSealed, roleEntries, userEntries } from './sections'

/**
 * Reads NDJSON as `satchel export` and the public tools write it (design.md §6, protocol.md §9.4).
 * Throws `INVALID_REQUEST`, `INVALID_SCHEMA` or `UNPROCESSABLE`, each naming the line.
 */
export async function* readLineFile(
  source: AsyncIterable<Uint8Array>,
  limits: PartLimits,
  name = FILE,
): AsyncGenerator<Item> {
  // A line is one level more than the object in it.
  const lineLimits = { ...limits, depth: limits.depth + 1 }
  for await (const { line, text } of splitLines(source, { name, maxBytes: limits.bytes })) {
    yield* itemsOf(parseLine(line, text, lineLimits, name))
  }
}

export interface FileLine {
  readonly number: number
  readonly place: string
  readonly text: string
  readonly object: WireObject
}

/** Parses a line that holds an object. */
export function parseLine(number: number, text: string, limits: JsonLimits, name = FILE): FileLine {
  const place = `line ${number}`
  const value = parsePart(text, { line: number, column: 1 }, place, limits, name)
  if (!isWireObject(value)) throw refuseAt(place, 'an object is expected')
  return { number, place, text, object: value }
}

function itemsOf(line: FileLine): readonly Item[] {
  const kind = getOwn(line.object, 'type')
  if (kind === undefined) return [objectEntry(line)]
  if (typeof kind === 'string' && Object.hasOwn(KINDS, kind)) return KINDS[kind]?.(line) ?? []
  throw refuseAt(
    line.place,
    `a line of this "type" is not known (${Object.keys(KINDS).join(', ')})`,
  )
}

const KINDS: Readonly<Record<string, (line: FileLine) => readonly Item[]>> = {
  schema(line) {
    const { number, text, object, place } = line
    const tables = object['tables'] ?? {}
    const schemas = parseSchemaIn(text, ['tables'], tables, { line: number, column: 1 })
    const idPrefixes = parseIdPrefixes(object['idPrefixes'] ?? {}, within(line, 'idPrefixes'))
    const { sealed } = object
    if (sealed === undefined) return [{ declaration: { schemas, idPrefixes } }]
    return [{ declaration: { schemas, idPrefixes, sealed: parseSealed(sealed, place) } }]
  },
  demoUsers: (line) => userEntries(line.object['users'], within(line, 'users')),
  roles: (line) => roleEntries(line.object['roles'], within(line, 'roles')),
  error({ place, object }) {
    const { message } = object
    const reason = typeof message === 'string' ? `: ${quoted(message)}` : ''
    throw refuseAt(place, `the export that wrote this file failed here${reason}`)
  },
}

/** `{realm, table, id, data}`, or the older form that says `$type` as well. */
function objectEntry({ object, place }: FileLine): ObjectEntry {
  const type = getOwn(object, '$type')
  if (type !== undefined && type !== 'object' && type !== 'member') {
    throw refuseAt(place, '"$type" is "object" or "member"')
  }
  const table = type === 'member' ? (object['table'] ?? 'members') : object['table']
  const { realm, id, data } = object
  if (typeof table !== 'string' || typeof realm !== 'string' || typeof id !== 'string') {
    throw refuseAt(place, 'an object needs "realm", "table" and "id", each a text')
  }
  if (data === undefined)
    throw refuseAt(place, '"data" is missing: an object, or null to delete it')
  return { place, table, realm, id, data: requireData(data, place) }
}

function within({ place }: FileLine, property: string) {
  return (...path: readonly string[]) => `${place}, ${quoted([property, ...path].join('.'))}`
}
