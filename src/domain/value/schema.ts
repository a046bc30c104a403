import { quoted, SatchelError } from './error'
import { describePosition, type Position, positionAt } from './position'
import { isRecord } from './value'

/** One index of a table, as Dexie's stores syntax declares it. */
export interface Index {
  /** As Dexie names it: `a`, `a.b`, `[a+b]`. */
  readonly name: string
  /** Where the values lie in a stored object: one path, or the parts of a compound index. */
  readonly paths: readonly string[]
  /** `*`: one entry per element. */
  readonly multi: boolean
  readonly compound: boolean
  /** `&`: declared, not enforced (design.md §3). */
  readonly unique: boolean
}

/** The declaration of a table in its stores text (protocol.md §9.4, §10). */
export interface TableSchema {
  /** Where the key lies in a stored object: one path, or the parts of a compound key. */
  readonly primaryKey: readonly string[]
  readonly compound: boolean
  /** `@`: the server makes the key where it is absent. */
  readonly generated: boolean
  readonly indexes: readonly Index[]
  /** Properties that are Yjs documents (`content: Y.Doc`). */
  readonly yProps: readonly string[]
}

/** Finds a place in the text of the user: an offset in a table's text, or the name of the table. */
export type Locate = (table: string, offset: number | undefined) => Position | undefined

/**
 * Parses a record of table name to stores text, `null` hiding the table. Throws `INVALID_SCHEMA`.
 */
export function parseStores(tables: unknown, locate?: Locate): Map<string, TableSchema | null> {
  if (!isRecord(tables)) {
    throw new SatchelError(
      'INVALID_SCHEMA',
      'A schema must be an object of table names and stores texts',
    )
  }
  const schemasByTable = new Map<string, TableSchema | null>()
  for (const [table, text] of Object.entries(tables)) {
    requireTableName(table, locate?.(table, undefined))
    if (text === null) schemasByTable.set(table, null)
    else if (typeof text === 'string') schemasByTable.set(table, parseTable(table, text, locate))
    else
      refuse(table, locate?.(table, undefined), 'write a stores text such as "@id, title", or null')
  }
  return schemasByTable
}

/**
 * Parses the stores text of one table. Throws `INVALID_SCHEMA` with the line and column of the text
 * that is wrong, and the correct form.
 */
export function parseTable(table: string, text: string, locate?: Locate): TableSchema {
  const parts = splitParts(text)
  const fail: Fail = (offset, sentence) => {
    const position = locate === undefined ? positionAt(text, offset) : locate(table, offset)
    return refuse(table, position, sentence)
  }
  const { generated, key } = parsePrimaryKey(parts[0]!, fail)
  const indexes: Index[] = []
  const yProps: string[] = []
  const names = new Set<string>()
  for (const part of parts.slice(1)) {
    const { type, ...index } = parsePart(part, fail)
    if (names.has(index.name)) fail(part.start, `${quoted(index.name)} is declared twice`)
    names.add(index.name)
    if (type) yProps.push(...index.paths)
    else indexes.push(index)
  }
  return { primaryKey: key.paths, compound: key.compound, generated, indexes, yProps }
}

/** The canonical stores text, which parses back to the same. */
export function formatStores(schema: TableSchema): string {
  const key = schema.primaryKey.map(declaredPath).join('+')
  return [
    (schema.generated ? '@' : '') + (schema.compound ? `[${key}]` : key),
    ...schema.indexes.map(
      ({ name, multi, unique }) => (unique ? '&' : '') + (multi ? '*' : '') + name,
    ),
    ...schema.yProps.map((path) => `${declaredPath(path)}: Y.Doc`),
  ].join(', ')
}

/** Throws `INVALID_SCHEMA` for what no table may be called (design.md §6). */
export function requireTableName(table: string, position?: Position): void {
  if (table === '' || table === '.' || table === '..') {
    refuse(table, position, 'a table needs a name')
  }
  if (!table.isWellFormed() || /\p{Cc}/u.test(table)) {
    refuse(table, position, 'a table name is well-formed text without control characters')
  }
  if (Buffer.byteLength(table) > MAX_TABLE_NAME_BYTES) {
    refuse(table, position, `a table name has at most ${MAX_TABLE_NAME_BYTES} bytes`)
  }
  if (table.startsWith('$')) {
    refuse(table, position, 'names that begin with "$" are reserved for clients; choose another')
  }
}

/**
 * True when `/<database>/<name>` is an address of the server itself: then the table of this name is only
 * at `/<database>/my/<name>` (design.md §6).
 */
export function isServerAddress(name: string): boolean {
  return /^[$._]/.test(name) || SERVER_ADDRESSES.has(name)
}

const MAX_TABLE_NAME_BYTES = 128
/** The addresses of the server below that of a database, as tables could be named too. */
export const SERVER_ADDRESSES: ReadonlySet<string> = new Set(
  'all auth-providers blob changes clear-realm clear-table clients delete-db explain export import invitation my oauth public sync templates token undelete-db users whitelist y'.split(
    ' ',
  ),
)

/** Refuses what stands at an offset of the text. */
type Fail = (offset: number, sentence: string) => never

/** The text between two commas, trimmed, and its place. */
interface Part {
  readonly text: string
  readonly start: number
}

function splitParts(text: string): Part[] {
  let offset = 0
  return text.split(',').map((part) => {
    const start = offset + part.length - part.trimStart().length
    offset += part.length + 1
    return { text: part.trim(), start }
  })
}

function parsePrimaryKey(part: Part, fail: Fail): { generated: boolean; key: Index } {
  const generated = part.text.startsWith('@')
  const rest = generated ? part.text.slice(1).trimStart() : part.text
  const start = part.start + part.text.length - rest.length
  if (rest === '') {
    const example = generated ? '"@id"' : '"id", or "@id" for generated keys'
    fail(part.start, `name the property that holds the primary key, such as ${example}`)
  }
  const { type, ...key } = parsePart({ text: rest, start }, fail)
  if (type) fail(start, 'the primary key cannot be a Yjs document')
  if (key.multi) fail(start, `the primary key has one value, write ${quoted(key.name)} without "*"`)
  if (generated && key.compound) {
    fail(start, 'a generated key is a single property, write "@id"')
  }
  return { generated, key }
}

/** An index, or a Yjs property, which has a type. */
function parsePart({ text, start }: Part, fail: Fail): Index & { type: string | undefined } {
  if (text === '') fail(start, 'an index needs a name; remove the comma or name a property')
  const increment = text.indexOf('++')
  if (increment >= 0) {
    fail(start + increment, 'counted keys (++) of two clients collide, write "@id" instead')
  }
  const flags = /^[&*]*/.exec(text)![0]
  const declared = text.slice(flags.length)
  const colon = declared.indexOf(':')
  const name = colon < 0 ? declared : declared.slice(0, colon).trimEnd()
  const type = colon < 0 ? undefined : declared.slice(colon + 1).trim()
  const nameStart = start + flags.length
  const compound = name.startsWith('[')
  if (type !== undefined && (compound || flags !== '' || !/^Y(?:\.Doc)?$/.test(type))) {
    fail(nameStart + colon, 'only Yjs properties have a type, written "content: Y.Doc"')
  }
  const paths = compound ? parseCompound(name, nameStart, fail) : [parsePath(name, nameStart, fail)]
  const multi = flags.includes('*')
  if (multi && compound) fail(start, `a compound index has one entry, write ${quoted(name)}`)
  return { name, paths, multi, compound, unique: flags.includes('&'), type }
}

function parseCompound(name: string, start: number, fail: Fail): string[] {
  const close = name.indexOf(']')
  if (close < 0) fail(start + name.length, 'a compound is written "[a+b]"')
  if (close < name.length - 1) fail(start + close + 1, 'a comma belongs behind "]"')
  let at = start + 1
  return name
    .slice(1, -1)
    .split('+')
    .map((path) => {
      const parsed = parsePath(path, at, fail)
      at += path.length + 1
      return parsed
    })
}

function parsePath(path: string, start: number, fail: Fail): string {
  const wrong = /[\s\p{Cc}[\]+&*@:"'`]|\p{Cs}|^\.|\.$|\.(?=\.)/u.exec(path)
  if (path === '') fail(start, 'a property name is missing')
  if (wrong !== null) {
    const sentence = `${quoted(wrong[0])} cannot stand here in a property name such as "a" or "a.b"`
    fail(start + wrong.index, sentence)
  }
  return storedPath(path)
}

/** In stored objects a name that begins with `$` has one more of it (protocol.md §1.1). */
function storedPath(path: string): string {
  return path.replaceAll(/(?<=^|\.)\$/g, '$$$$')
}

function declaredPath(path: string): string {
  return path.replaceAll(/(?<=^|\.)\$\$/g, '$$')
}

function refuse(table: string, position: Position | undefined, sentence: string): never {
  const where = position === undefined ? '' : `, ${describePosition(position)}`
  throw new SatchelError('INVALID_SCHEMA', `Table ${quoted(table)}${where}: ${sentence}`)
}
