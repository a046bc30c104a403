import { quoted, invalidRequest } from '../value/error'
import {
  type Entry,
  FILE,
  type Item,
  type ObjectEntry,
  type PartLimits,
  type UserEntry,
  atLocation,
  parsePart,
  refuseAt,
  requireData,
} from './entry'
import { splitLines } from '../json/ndjson'
import type { JsonLimits } from '../json/scan'
import { type WireObject, getOwn, isRecord } from '../value/value'
import { parseSchemaIn } from '../json/schema-file'
import { type JsonPart, splitJson } from '../json/split'
import { isIdPrefix } from '../value/id'
import { compoundKey } from '../value/key'
import { PUBLIC_REALM } from '../store/realms'
import { isEmail } from '../value/email'
import { requireUserId } from '../value/user-id'

/** `lines`: NDJSON. `sections`: the JSON import file. `array`: a JSON array. */
export type TextFormat = 'lines' | 'sections' | 'array'

/** Where the objects of a plain file go; without a realm each object names its own. */
export interface Target {
  readonly table: string
  readonly realm: string | null
}

/**
 * Reads a text file in one of the three formats; with a `target` it holds nothing but objects of one
 * table. Throws `INVALID_REQUEST`, `INVALID_SCHEMA` or `UNPROCESSABLE`, naming the location in the file.
 */
export async function* readItems(
  source: AsyncIterable<Uint8Array>,
  format: TextFormat,
  target: Target | null,
  limits: PartLimits,
): AsyncGenerator<Item> {
  if (target !== null) {
    const read = format === 'array' ? readArray : readObjectLines
    yield* read(source, target, limits)
  } else if (format === 'array') {
    throw invalidRequest(
      'The file is a list of objects: name their table and realm with --table and --realm',
    )
  } else {
    yield* format === 'lines' ? readLineFile(source, limits) : readSectionFile(source, limits)
  }
}

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
    yield* lineItems(await parseLine(line, text, lineLimits, name))
  }
}

/** A line of NDJSON, parsed. */
export interface FileLine {
  readonly number: number
  readonly location: string
  readonly text: string
  readonly object: WireObject
}

/** Parses a line, which must hold an object. Throws `INVALID_REQUEST` or `UNPROCESSABLE`. */
export async function parseLine(
  number: number,
  text: string,
  limits: JsonLimits,
  name = FILE,
): Promise<FileLine> {
  const location = `line ${number}`
  const value = await parsePart(text, { line: number, column: 1 }, location, limits, name)
  if (!isRecord(value)) throw refuseAt(location, 'an object is expected')
  return { number, location, text, object: value }
}

function lineItems(line: FileLine): readonly Item[] {
  const kind = getOwn(line.object, 'type')
  if (kind === undefined) return [objectOfLine(line)]
  if (typeof kind === 'string' && Object.hasOwn(LINE_KINDS, kind))
    return LINE_KINDS[kind]?.(line) ?? []
  throw refuseAt(
    line.location,
    `this "type" of line is unknown (${Object.keys(LINE_KINDS).join(', ')})`,
  )
}

const LINE_KINDS: Readonly<Record<string, (line: FileLine) => readonly Item[]>> = {
  /** The version of the format, and when the file was written. */
  header: () => [],
  schema(line) {
    const { number, text, object, location } = line
    // The documentation of Dexie Cloud has `schema`, its command line client `tables`.
    const name = object['tables'] === undefined ? 'schema' : 'tables'
    const start = { line: number, column: 1 }
    const schemas = parseSchemaIn(text, [name], object[name] ?? {}, start)
    const idPrefixes = parseIdPrefixes(object['idPrefixes'] ?? {}, withinLine(line, 'idPrefixes'))
    const { sealed } = object
    if (sealed === undefined) return [{ declaration: { schemas, idPrefixes } }]
    return [{ declaration: { schemas, idPrefixes, sealed: parseSealed(sealed, location) } }]
  },
  demoUsers: (line) => userEntries(line.object['users'], withinLine(line, 'users')),
  roles: (line) => roleEntries(line.object['roles'], withinLine(line, 'roles')),
  error({ location, object }) {
    const { message } = object
    const reason = typeof message === 'string' ? `: ${quoted(message)}` : ''
    throw refuseAt(location, `the export that wrote this file failed here${reason}`)
  },
}

/** `{realm, table, id, data}`, or the older form with `$type`. */
function objectOfLine({ object, location }: FileLine): ObjectEntry {
  const type = getOwn(object, '$type')
  if (type !== undefined && type !== 'object' && type !== 'member') {
    throw refuseAt(location, '"$type" must be "object" or "member"')
  }
  const table = type === 'member' ? (object['table'] ?? 'members') : object['table']
  const { realm, id, data } = object
  if (typeof table !== 'string' || typeof realm !== 'string' || typeof id !== 'string') {
    throw refuseAt(location, 'an object needs "realm", "table" and "id", each a string')
  }
  if (data === undefined)
    throw refuseAt(location, '"data" is missing: an object, or null to delete it')
  return { location, table, realm, id, data: requireData(data, location) }
}

function withinLine({ location }: FileLine, property: string) {
  return (...path: readonly string[]) => `${location}, ${quoted([property, ...path].join('.'))}`
}

/** Reads a JSON array of objects of one table. Throws `INVALID_REQUEST` or `UNPROCESSABLE`. */
async function* readArray(
  source: AsyncIterable<Uint8Array>,
  target: Target,
  limits: PartLimits,
): AsyncGenerator<Entry> {
  const enters = (path: readonly string[]) => path.length === 0
  for await (const part of splitJson(source, { name: FILE, maxBytes: limits.bytes, enters })) {
    const location = `[${part.path.join('.')}]`
    yield entryOf(await parsePart(part.text, part, location, limits), location, target)
  }
}

/** Reads NDJSON, one object of one table per line. Throws `INVALID_REQUEST` or `UNPROCESSABLE`. */
async function* readObjectLines(
  source: AsyncIterable<Uint8Array>,
  target: Target,
  limits: PartLimits,
): AsyncGenerator<Entry> {
  for await (const { line, text } of splitLines(source, { name: FILE, maxBytes: limits.bytes })) {
    const { object, location } = await parseLine(line, text, limits)
    yield entryOf(object, location, target)
  }
}

function entryOf(value: unknown, location: string, { table, realm }: Target): Entry {
  const data = requireData(value, location)
  if (data === null) throw refuseAt(location, 'an object is expected')
  if (data['type'] === 'schema' && isRecord(data['tables'] ?? data['schema'])) {
    throw refuseAt(
      location,
      'this is the beginning of an export, not a list of objects: leave out --table',
    )
  }
  return { location, table, realm, id: null, data }
}

/**
 * Reads the JSON import file of protocol.md §9.4, with its sections in any order. Throws
 * `INVALID_REQUEST` with line and column, `INVALID_SCHEMA` or `UNPROCESSABLE` naming the path.
 */
async function* readSectionFile(
  source: AsyncIterable<Uint8Array>,
  limits: PartLimits,
): AsyncGenerator<Item> {
  const parts = splitJson(source, { name: FILE, maxBytes: limits.bytes, enters: entersSection })
  for await (const part of parts) yield* await sectionItems(part, limits)
}

/** `data` → realm → table → key */
const DEPTH_OF_OBJECTS = 4

function entersSection(path: readonly string[], kind: 'array' | 'object'): boolean {
  return (
    kind === 'object' &&
    (path.length === 0 || (path[0] === 'data' && path.length < DEPTH_OF_OBJECTS))
  )
}

async function sectionItems(part: JsonPart, limits: PartLimits): Promise<readonly Item[]> {
  const { path } = part
  const [section = '', realm, table, id] = path
  const read = Object.hasOwn(SECTIONS, section) ? SECTIONS[section] : undefined
  if (read === undefined) {
    const known = Object.keys(SECTIONS).filter((name) => !name.startsWith('$'))
    throw refuseAt(quoted(section), `this is not a section of an import file (${known.join(', ')})`)
  }
  if (section !== 'data') return read(await parse(part, limits), part)
  const location = quoted(path.join('.'))
  if (realm === undefined || table === undefined || id === undefined) {
    throw refuseAt(location, 'an object is expected: data, realm id, table, primary key, object')
  }
  return [{ location, table, realm, id, data: requireData(await parse(part, limits), location) }]
}

function parse(part: JsonPart, limits: PartLimits): unknown {
  return parsePart(part.text, part, quoted(part.path.join('.')), limits)
}

const SECTIONS: Readonly<Record<string, (value: unknown, part: JsonPart) => readonly Item[]>> = {
  schema: (value, part) => [
    { declaration: { schemas: parseSchemaIn(part.text, [], value, part) } },
  ],
  sealed: (value) => [{ declaration: { sealed: parseSealed(value, quoted('sealed')) } }],
  roles: (value) => roleEntries(value, withinSection('roles')),
  demoUsers: (value) => userEntries(value, withinSection('demoUsers')),
  data: () => [],
  $exportMeta(value) {
    const prefixes = isRecord(value) ? (value['idPrefixes'] ?? {}) : {}
    const idPrefixes = parseIdPrefixes(prefixes, withinSection('$exportMeta', 'idPrefixes'))
    return [{ declaration: { idPrefixes } }]
  },
}

function withinSection(...section: readonly string[]) {
  return (...path: readonly string[]) => quoted([...section, ...path].join('.'))
}

/** Names a location inside a section or a line, for refusals. */
type LocationOf = (...path: readonly string[]) => string

/** Global roles by name: rows of `roles` in `rlm-public` (protocol.md §9.4). Throws `UNPROCESSABLE`. */
function roleEntries(roles: unknown, locationOf: LocationOf): ObjectEntry[] {
  return membersOf(roles, locationOf).map(([name, role]) => {
    const location = locationOf(name)
    const id = compoundKey([PUBLIC_REALM, name])
    return { location, table: 'roles', realm: PUBLIC_REALM, id, data: requireData(role, location) }
  })
}

/** Demo users by id, which ends with `@demo.local` (protocol.md §7). Throws `UNPROCESSABLE`. */
function userEntries(users: unknown, locationOf: LocationOf): UserEntry[] {
  return membersOf(users, locationOf).map(([id, data]) => {
    const location = locationOf(id)
    const user = atLocation(location, () => requireUserId(id))
    if (!isEmail(user) || !user.endsWith('@demo.local')) {
      throw refuseAt(location, 'the id of a demo user must end with @demo.local')
    }
    return { location, user, data: requireData(data, location) }
  })
}

/** Id prefixes by table, as `satchel export` writes them. Throws `UNPROCESSABLE`. */
function parseIdPrefixes(prefixes: unknown, locationOf: LocationOf): Map<string, string> {
  const entries = membersOf(prefixes, locationOf).map(([table, prefix]): [string, string] => {
    if (typeof prefix === 'string' && isIdPrefix(prefix)) return [table, prefix]
    throw refuseAt(locationOf(table), 'an id prefix is a string of one to three characters')
  })
  return new Map(entries)
}

function parseSealed(sealed: unknown, location: string): boolean {
  if (typeof sealed === 'boolean') return sealed
  throw refuseAt(location, `${quoted('sealed')} must be true or false`)
}

function membersOf(section: unknown, locationOf: LocationOf): [string, unknown][] {
  if (isRecord(section)) return Object.entries(section)
  throw refuseAt(locationOf(), 'an object is expected')
}
