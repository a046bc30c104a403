import { quoted } from '../value/error'
import { FIXED_LIMITS, requireFew } from '../value/fixed-limits'
import { isNameText } from '../value/key'
import { isRecord, presentIn, type WireObject } from '../value/value'
import { escaped } from './change'
import { invalid, listIn, textIn } from './wire-field'

/** A table as a client declares it; `wire` is the entry as it came, to be echoed (protocol.md §10.1). */
export interface DeclaredTable {
  readonly isMarked: boolean
  readonly isInitiallySynced: boolean
  readonly generated: boolean
  readonly idPrefix: string | undefined
  /** Undefined during the first session of a client. */
  readonly primaryKey: string | undefined
  /** The names of its properties that are Yjs documents, as stored objects spell them. */
  readonly textProperties: readonly string[]
  readonly wire: WireObject
}

/** The tables of a request (`SyncRequest.tables`). */
type Tables = ReadonlyMap<string, DeclaredTable>

/** A request, as far as its declared tables count. */
interface Declaring {
  readonly tables: Tables
}

/** The facts that follow from the tables that a client declares. */
interface Facts {
  readonly marked: ReadonlySet<string>
  readonly texts: string
}

/** How many schemas are remembered, and the most characters of one. */
const MOST_SCHEMAS = 100
const SCHEMA_LENGTH = 16 * 1024

/** All clients of one version of an application declare the same, in every request. */
const tablesBySchema = new Map<string, Tables>()
const namesOfSchemas = new WeakMap<Tables, string>()
const factsByTables = new WeakMap<Tables, Facts>()
let schemas = 0

/** The tables of a schema: those of an equal one that was read before. Throws `INVALID_REQUEST` and `UNPROCESSABLE`. */
export function tablesOf(schema: unknown): Tables {
  const text = JSON.stringify(schema)
  const known = tablesBySchema.get(text)
  if (known !== undefined) return known
  const tables = readTables(schema)
  if (text.length > SCHEMA_LENGTH) return tables
  if (tablesBySchema.size >= MOST_SCHEMAS) tablesBySchema.clear()
  tablesBySchema.set(text, tables)
  schemas += 1
  namesOfSchemas.set(tables, `schema ${schemas}`)
  return tables
}

function readTables(schema: unknown): Tables {
  if (!isRecord(schema)) throw invalid('"schema"', 'an object')
  const tables = new Map<string, DeclaredTable>()
  // The client's own tables are escaped: `$$jobs`.
  const names = Object.keys(schema).filter((name) => !name.startsWith('$'))
  requireFew(FIXED_LIMITS.tables, names.length)
  for (const name of names) {
    const entry = schema[name]
    if (!isRecord(entry)) throw invalid(`"schema" of ${quoted(name)}`, 'an object')
    tables.set(name, {
      isMarked: presentIn(entry, 'markedForSync') === true && presentIn(entry, 'deleted') !== true,
      isInitiallySynced: presentIn(entry, 'initiallySynced') === true,
      generated: presentIn(entry, 'generatedGlobalId') === true,
      idPrefix: textIn(entry, 'idPrefix'),
      primaryKey: textIn(entry, 'primaryKey'),
      textProperties: textPropertiesIn(name, entry),
      wire: entry,
    })
  }
  let count = 0
  for (const { textProperties } of tables.values()) count += textProperties.length
  requireFew(FIXED_LIMITS.textProperties, count)
  return tables
}

const NO_PROPERTIES: readonly string[] = []
const TEXT_PROPERTY_LENGTH = 256

function textPropertiesIn(table: string, entry: WireObject): readonly string[] {
  const names = listIn(entry, 'yProps')
  if (names.length === 0) return NO_PROPERTIES
  return names.map((name) => {
    if (typeof name === 'string' && name.length <= TEXT_PROPERTY_LENGTH && isNameText(name)) {
      return escaped(name)
    }
    const expected = `a list of names of at most ${TEXT_PROPERTY_LENGTH} characters`
    throw invalid(`"yProps" in the "schema" of ${quoted(table)}`, expected)
  })
}

/** Names the tables among what transactions remember; undefined when they are not remembered. */
export function schemaName(tables: Tables): string | undefined {
  return namesOfSchemas.get(tables)
}

/** The names of the tables that a client syncs, in its order. */
export function markedTables({ tables }: Declaring): ReadonlySet<string> {
  return factsOf(tables).marked
}

/** What a client declares in the tables that it syncs, as `readTexts` takes it; empty for none. */
export function textsDeclared({ tables }: Declaring): string {
  return factsOf(tables).texts
}

function factsOf(tables: Tables): Facts {
  let facts = factsByTables.get(tables)
  if (facts === undefined) factsByTables.set(tables, (facts = findFacts(tables)))
  return facts
}

function findFacts(tables: Tables): Facts {
  const marked = [...tables].filter(([, { isMarked }]) => isMarked)
  const declared = marked
    .filter(([, { textProperties }]) => textProperties.length > 0)
    .map(([name, { textProperties }]) => [name, textProperties])
  return {
    marked: new Set(marked.map(([name]) => name)),
    texts: declared.length === 0 ? '' : JSON.stringify(declared),
  }
}
