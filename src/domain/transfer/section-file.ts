import { quoted } from '../value/error'
import { type JsonPart, splitJson } from '../json/split'
import { isWireObject } from '../value/value'
import { parseSchemaIn } from '../json/schema-file'
import { FILE, type Item, parsePart, type PartLimits, refuseAt, requireData } from './entry'
import { parseIdPrefixes, parseSealed, roleEntries, userEntries } from './sections'

/**
 * Reads the JSON import file of protocol.md §9.4, whatever the order of its sections. Throws
 * `INVALID_REQUEST` with line and column, `INVALID_SCHEMA` or `UNPROCESSABLE` naming the path.
 */
export async function* readSectionFile(
  source: AsyncIterable<Uint8Array>,
  limits: PartLimits,
): AsyncGenerator<Item> {
  const parts = splitJson(source, { name: FILE, maxBytes: limits.bytes, enters })
  for await (const part of parts) yield* itemsOf(part, limits)
}

/** `data` → realm → table → key */
const DEPTH_OF_OBJECTS = 4

function enters(path: readonly string[], kind: 'array' | 'object'): boolean {
  return (
    kind === 'object' &&
    (path.length === 0 || (path[0] === 'data' && path.length < DEPTH_OF_OBJECTS))
  )
}

function itemsOf(part: JsonPart, limits: PartLimits): readonly Item[] {
  const { path } = part
  const [section = '', realm, table, id] = path
  const read = Object.hasOwn(SECTIONS, section) ? SECTIONS[section] : undefined
  if (read === undefined) {
    const known = Object.keys(SECTIONS).filter((name) => !name.startsWith('$'))
    throw refuseAt(quoted(section), `this is no section of an import file (${known.join(', ')})`)
  }
  if (section !== 'data') return read(parse(part, limits), part)
  const place = quoted(path.join('.'))
  if (realm === undefined || table === undefined || id === undefined) {
    throw refuseAt(place, 'an object is expected: data, realm id, table, primary key, object')
  }
  return [{ place, table, realm, id, data: requireData(parse(part, limits), place) }]
}

function parse(part: JsonPart, limits: PartLimits): unknown {
  return parsePart(part.text, part, quoted(part.path.join('.')), limits)
}

const SECTIONS: Readonly<Record<string, (value: unknown, part: JsonPart) => readonly Item[]>> = {
  schema: (value, part) => [
    { declaration: { schemas: parseSchemaIn(part.text, [], value, part) } },
  ],
  sealed: (value) => [{ declaration: { sealed: parseSealed(value, quoted('sealed')) } }],
  roles: (value) => roleEntries(value, within('roles')),
  demoUsers: (value) => userEntries(value, within('demoUsers')),
  data: () => [],
  $exportMeta(value) {
    const prefixes = isWireObject(value) ? (value['idPrefixes'] ?? {}) : {}
    const idPrefixes = parseIdPrefixes(prefixes, within('$exportMeta', 'idPrefixes'))
    return [{ declaration: { idPrefixes } }]
  },
}

function within(...section: readonly string[]) {
  return (...path: readonly string[]) => quoted([...section, ...path].join('.'))
}
