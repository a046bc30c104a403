import { type Actor, requireStanding } from '../access/actor'
import { SatchelError } from '../value/error'
import type { Chunk, StoredRow } from '../store/objects'
import type { Database } from '../store/store'
import { nextTurn } from '../value/turn'
import type { ViewName } from '../access/view'
import type { ListQuery } from './filter'
import { CHUNK, type Reading, nextRows, nextText, prepareReading } from './reading'
import { requireTable } from './tables'

/** A page is held in memory: it ends here even when `$limit` asks for more rows. */
const PAGE_BYTES = 16 * 1024 * 1024

/** A list on its way out, chunk by chunk, in order of creation. */
export interface List {
  /** Stored objects as JSON, each text one object or several with commas between them. */
  readonly texts: readonly string[]
  /** The next chunk; undefined when this one is the last. */
  readonly more: (() => Promise<List>) | undefined
  /** The `$after` of the next page, when `$limit` ended this one. */
  readonly after: string | undefined
}

/**
 * Lists the objects of a table that a view shows and that match the filters (spec.md §4.1 rule 8,
 * design.md §6). Each chunk is a read of its own: the list holds every object that existed
 * throughout, once, in its current version. The caller has checked the scopes of the view. Throws
 * `UNKNOWN_TABLE`, `INVALID_REQUEST`, and as `requireStanding`, which each chunk asks again: a list
 * may take long (promise 15).
 */
export async function listObjects(
  database: Database,
  actor: Actor,
  view: ViewName,
  tableName: string,
  query: ListQuery,
): Promise<List> {
  const start = query.after === undefined ? 0 : parseAfter(query.after)
  const reading = await database.read(async (tx) => {
    await requireStanding(tx, actor)
    const table = await requireTable(tx, tableName)
    return prepareReading(tx, table, actor, view, query, start)
  })
  if (query.limit !== undefined) return page(database, reading, start, query.limit)
  if (reading.rows !== undefined) return { texts: textsOf(reading.rows), ...END }
  return wholeList(database, reading, start)
}

const END = { more: undefined, after: undefined } as const

/** The whole list, as chunks that are read when they are asked for. */
async function wholeList(database: Database, reading: Reading, after: number): Promise<List> {
  const { texts, next } = await database.read(async (tx) => {
    await requireStanding(tx, reading.actor)
    const joined = await nextText(tx, reading, after)
    if (joined !== undefined) {
      return { texts: joined.text === '' ? [] : [joined.text], next: joined.next }
    }
    const chunk = await nextRows(tx, reading, after, CHUNK)
    return { texts: textsOf(chunk.rows), next: chunk.next }
  })
  if (next === undefined) return { texts, ...END }
  const more = async () => {
    await nextTurn()
    return wholeList(database, reading, next)
  }
  return { texts, more, after: undefined }
}

/** A page is read whole, and one row more, because its header says whether there is a next one. */
async function page(
  database: Database,
  reading: Reading,
  start: number,
  limit: number,
): Promise<List> {
  const rows: StoredRow[] = reading.rows?.slice(0, limit + 1) ?? []
  let bytes = PAGE_BYTES
  let after: number | undefined = reading.rows === undefined ? start : undefined
  while (after !== undefined && rows.length <= limit && bytes > 0) {
    const from: number = after
    const wanted = reading.filters.length === 0 ? limit + 1 - rows.length : CHUNK.rows
    const size = { rows: Math.min(wanted, CHUNK.rows), bytes: CHUNK.bytes }
    const chunk: Chunk = await database.read(async (tx) => {
      await requireStanding(tx, reading.actor)
      return nextRows(tx, reading, from, size)
    })
    rows.push(...chunk.rows)
    for (const row of chunk.rows) bytes -= row.value.length
    after = chunk.next
    if (after !== undefined) await nextTurn()
  }
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const isEnd = after === undefined && rows.length <= limit
  const next = isEnd || last === undefined ? undefined : formatAfter(last.seq)
  return { texts: textsOf(shown), more: undefined, after: next }
}

function textsOf(rows: readonly StoredRow[]): string[] {
  return rows.map(({ value }) => value)
}

function formatAfter(seq: number): string {
  return `s${seq.toString(36)}`
}

function parseAfter(text: string): number {
  const seq = /^s[0-9a-z]{1,11}$/.test(text) ? Number.parseInt(text.slice(1), 36) : Number.NaN
  if (Number.isSafeInteger(seq)) return seq
  throw new SatchelError(
    'INVALID_REQUEST',
    'Invalid "$after": use the one in the Link header of the previous page',
  )
}
