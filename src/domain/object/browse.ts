import { type Actor, requireStanding } from '../access/actor'
import type { ViewName } from '../access/view'
import type { PageEnd, StoredRow, TimedObject } from '../store/objects'
import type { Database, ReadTx } from '../store/store'
import type { Table } from '../store/tables'
import { aborted, invalidRequest } from '../value/error'
import { jsonOf } from '../value/escape'
import { keyFromPath } from '../value/key'
import { nextTurn } from '../value/turn'
import { parseStored, setOwn, type WireObject } from '../value/value'
import { type Choice, filtersOf, searching } from './choice'
import { type Listing, readPage } from './list'
import { unknownObject } from './object'
import { requireTable } from './tables'

/** The most objects in a page. */
export const MOST_BROWSED = 200
/** A page ends when its objects have so many characters. */
const PAGE_CHARACTERS = 4 * 1024 * 1024
/** An object with more characters is shown without its large properties, and with even more without its value. */
const WHOLE_CHARACTERS = 16 * 1024
const PARSED_CHARACTERS = 1024 * 1024
/** A property with more characters is large. */
const PROPERTY_CHARACTERS = 1_024

/** A page of a table for a person who looks at the data. */
export interface Browsing extends Choice {
  readonly actor: Actor
  readonly view: ViewName
  readonly table: string
  /** With it, objects are in the order of keys. */
  readonly prefix: string
  /** Absent a prefix: the newest first, instead of the oldest. */
  readonly isNewestFirst: boolean
  /** The end of the page before; null: the first page. */
  readonly cursor: string | null
  /** 1 to `MOST_BROWSED`. */
  readonly limit: number
  /** Ends the search: its reader is gone. */
  readonly signal?: AbortSignal | undefined
}

export interface BrowsedObject {
  readonly key: string
  readonly realmId: string
  readonly owner: string | null
  readonly revision: number
  /** When it was last written, ms. */
  readonly updated: number
  /** In characters. */
  readonly size: number
  /** Null when it is very large, or damaged. */
  readonly value: WireObject | null
  /** The names of large properties, which `value` lacks. */
  readonly cut: readonly string[]
  readonly isDamaged: boolean
}

/** The next objects of a page. */
interface BrowseStep {
  readonly objects: readonly BrowsedObject[]
  /** How many objects were looked at so far. */
  readonly seen: number
  /** For the next page; null when there is none; undefined before the last step. */
  readonly cursor: string | null | undefined
}

/**
 * The objects of a page, as they are found. A step is a read of bounded length: a filter that no index answers takes many, which
 * end with `signal`. The caller has checked the scopes of the view. Throws `UNKNOWN_TABLE`, `INVALID_REQUEST`,
 * `DAMAGED` where a filter meets a damaged object, and as `requireStanding`.
 */
export async function* browse(
  database: Database,
  browsing: Browsing,
): AsyncGenerator<BrowseStep, void> {
  const { actor, table, limit, signal } = browsing
  const listing = listingOf(database, browsing)
  let after = browsing.cursor === null ? undefined : parseCursor(browsing.cursor)
  let seen = 0
  let left = limit
  let characters = PAGE_CHARACTERS
  for (;;) {
    if (signal?.aborted === true) throw aborted()
    const page = await readPage(listing, after, left)
    const rows = page.rows.slice(0, left)
    const objects = await database.read((tx) => describeRows(tx, actor, table, rows))
    seen += page.seen
    left -= rows.length
    for (const { size } of objects) characters -= size
    const isCut = rows.length < page.rows.length
    after = isCut ? endAt(rows.at(-1)) : page.next
    const isOver = after === undefined || left === 0 || characters <= 0
    yield { objects, seen, cursor: isOver ? (after ? formatCursor(after) : null) : undefined }
    if (isOver) return
    await nextTurn()
  }
}

function listingOf(database: Database, browsing: Browsing): Listing {
  const { actor, view, table, search, prefix, isNewestFirst } = browsing
  const filters = filtersOf(browsing)
  const listing = { database, actor, view, tableName: table, filters, hasKeys: true }
  const passes = searching(search)
  if (prefix !== '') return { ...listing, passes, order: { prefix } }
  return isNewestFirst ? { ...listing, passes, order: 'newest' } : { ...listing, passes }
}

/** Objects that are gone meanwhile are left out. */
function describeRows(
  tx: ReadTx,
  actor: Actor,
  tableName: string,
  rows: readonly StoredRow[],
): BrowsedObject[] {
  requireStanding(tx, actor)
  const table = requireTable(tx, tableName)
  const keys = rows.map(({ key = '' }) => key)
  const found = tx.objects.findMany(table, keys)
  return keys.flatMap((key) => {
    const object = found.get(key)
    return object === undefined ? [] : [describeObject(tx, object)]
  })
}

/** A whole object as it lies in the database; times in ms. */
export interface ShownObject {
  readonly key: string
  readonly realmId: string
  readonly owner: string | null
  readonly revision: number
  /** The revision at which it came into being, or into its realm. */
  readonly entered: number
  readonly updated: number
  /** In characters. */
  readonly size: number
  readonly value: WireObject
}

/** `key` as in the path of an address. Throws `UNKNOWN_TABLE`, `INVALID_REQUEST`, `UNKNOWN_OBJECT` and `DAMAGED`. */
export function showObject(tx: ReadTx, tableName: string, key: string): ShownObject {
  const object = findObject(tx, requireTable(tx, tableName), key)
  const { realm, owner, revision, entered, updated, value } = object
  const realmId = tx.realms.findByRef(realm)?.id ?? ''
  const head = { key: object.key, realmId, owner, revision, entered, updated }
  return { ...head, size: value.length, value: parseStored(value) }
}

/** Throws `INVALID_REQUEST` and `UNKNOWN_OBJECT`. */
export function findObject(tx: ReadTx, table: Table, key: string): TimedObject {
  const stored = keyFromPath(table, key)
  const object = tx.objects.findMany(table, [stored]).get(stored)
  if (object === undefined) throw unknownObject()
  return object
}

function describeObject(tx: ReadTx, object: TimedObject): BrowsedObject {
  const { key, realm, owner, revision, updated, isDamaged = false } = object
  const realmId = tx.realms.findByRef(realm)?.id ?? ''
  const head = { key, realmId, owner, revision, updated, isDamaged }
  if (isDamaged) return { ...head, size: 0, value: null, cut: [] }
  return { ...head, size: object.value.length, ...shown(object.value) }
}

function shown(text: string): Pick<BrowsedObject, 'value' | 'cut'> {
  if (text.length > PARSED_CHARACTERS) return { value: null, cut: [] }
  const whole = parseStored(text)
  if (text.length <= WHOLE_CHARACTERS) return { value: whole, cut: [] }
  const value: WireObject = {}
  const cut: string[] = []
  for (const [name, property] of Object.entries(whole)) {
    if (JSON.stringify(property).length > PROPERTY_CHARACTERS) cut.push(name)
    else setOwn(value, name, property)
  }
  return { value, cut }
}

function endAt(row: StoredRow | undefined): PageEnd | undefined {
  if (row === undefined) return undefined
  const { seq, key } = row
  return key === undefined ? { seq } : { seq, key }
}

function formatCursor({ seq, key }: PageEnd): string {
  return JSON.stringify(key === undefined ? [seq] : [seq, key])
}

function parseCursor(text: string): PageEnd {
  const given = jsonOf(text)
  const [seq, key] = Array.isArray(given) ? (given as unknown[]) : []
  if (Number.isSafeInteger(seq) && (key === undefined || typeof key === 'string')) {
    return { seq: seq as number, ...(key === undefined ? {} : { key }) }
  }
  throw invalidRequest('Invalid cursor: use the one of the previous page')
}
