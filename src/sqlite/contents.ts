import type { ChangePosition, ChunkSize, ContentChunk, Contents } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { load, type SortKey, sortKeyOf, positionOf, rowsOf, seeksOf, type Stretch } from './changes'
import type { TxContext } from './context'
import { erasing } from './realms'
import { memorizeText } from './state'
import { isContentSound } from './sum'
import { objectTable } from './tables'

/**
 * `ObjectReader.contents`. The sum of a value covers the value and the realm; its key is in it as well,
 * or the whole row is checked.
 */
export function contents(
  context: TxContext,
  table: Table,
  realm: RealmRef,
  after: number | ChangePosition,
  upTo: number,
  size: ChunkSize,
): ContentChunk {
  if (erasing(context).has(realm)) return { ...NOTHING, next: undefined }
  const { verified } = context.committed
  const start = sortKeyOf(after)
  const most = mostRows(context, table, size)
  const stretch = { realm, table: table.number, start, upTo, most }
  if (most < size.rows) return checkedContents(context, table.name, stretch, size.bytes)
  const name = `from ${start.revision} ${start.row} of ${table.number} ${realm} ${most}`
  const known = verified.get(name)
  const joined = known === undefined ? undefined : joinedContents(context, stretch)
  if (joined !== undefined && hashOf(joined) === known) return joined
  const checked = checkedContents(context, table.name, stretch, Infinity)
  // A last chunk may be small, and the next write changes it.
  const isLasting = checked.next !== undefined && checked.damaged.length === 0
  if (isLasting) memorizeText(context.committed, name, hashOf(checked))
  return checked
}

/** `ObjectReader.contentsTogether`. */
export function contentsTogether(
  context: TxContext,
  table: Table,
  realms: readonly RealmRef[],
  upTo: number,
  size: ChunkSize,
): Contents | undefined {
  if (mostRows(context, table, size) < size.rows) return undefined
  const hidden = erasing(context)
  const shown = realms.filter((realm) => !hidden.has(realm))
  const name = objectTable(table.number)
  const rows = context.connection
    .prepare(
      `SELECT ${CONTENT_COLUMNS} FROM (SELECT value AS wanted FROM json_each(?1)) CROSS JOIN ${name} INDEXED BY ${name}_realm ON realm = wanted WHERE revision <= ?2 LIMIT ?3`,
    )
    .values(JSON.stringify(shown), upTo, size.rows + 1) as never as ContentRow[]
  return rows.length > size.rows ? undefined : checkedRows(context, table.number, table.name, rows)
}

const NOTHING: Contents = { keys: '', values: '', damaged: [] }

/** The rows that one read may take: all of their values are in memory at once. */
function mostRows({ committed }: TxContext, table: Table, size: ChunkSize): number {
  const largest = committed.largest.get(table.number) ?? size.bytes
  return Math.min(size.rows, Math.max(1, Math.floor((4 * size.bytes) / largest)))
}

function hashOf({ keys, values }: Contents): bigint {
  return Bun.hash.xxHash3(values, Bun.hash.xxHash3(keys))
}

interface JoinedRows {
  readonly keys: string
  readonly texts: string
  readonly seqs: string
  readonly revision: number
  readonly total: number
}

/** Joined by the database, which takes half the time, but no sum is checked. */
function joinedContents(context: TxContext, stretch: Stretch): ContentChunk {
  const chunks: JoinedRows[] = []
  let room = stretch.most
  for (const { rows, parameters } of seeksOf(stretch, 'revision, seq, key, value')) {
    const chunk = context.connection
      .prepare<JoinedRows>(
        `SELECT group_concat(json_quote(CAST(key AS TEXT)), ',') AS keys, group_concat(value, ',') AS texts, group_concat(seq, ',') AS seqs, max(revision) AS revision, count(*) AS total FROM (${rows})`,
      )
      .get(...parameters, room)
    if (chunk === null || chunk.total === 0) continue
    chunks.push(chunk)
    room -= chunk.total
    if (room === 0) break
  }
  const [first, second] = chunks
  const last = second ?? first
  const end = last && { revision: last.revision, seq: Number(last.seqs.split(',').at(-1)) }
  return {
    // Not `join`, which would copy them.
    keys: (first?.keys ?? '') + (second === undefined ? '' : `,${second.keys}`),
    values: (first?.texts ?? '') + (second === undefined ? '' : `,${second.texts}`),
    damaged: [],
    next: room > 0 ? undefined : positionAfter(context, stretch, end),
  }
}

/** Checks the sum of each row, and takes up to `characters` in all. */
function checkedContents(
  context: TxContext,
  name: string,
  stretch: Stretch,
  characters: number,
): ContentChunk {
  const found = rowsOf<ContentRow>(
    (sql, ...parameters) => context.connection.prepare(sql).values(...parameters) as never,
    CONTENT_COLUMNS,
    stretch,
  )
  let room = characters
  const rows: ContentRow[] = []
  for (const row of found) {
    if (room <= 0) break
    rows.push(row)
    room -= row[4].length
  }
  const last = rows.at(-1)
  const end = last && { revision: last[0], seq: last[1] }
  const isEnd = rows.length === found.length && rows.length < stretch.most
  const next = isEnd ? undefined : positionAfter(context, stretch, end)
  return { ...checkedRows(context, stretch.table, name, rows), next }
}

type ContentRow = readonly [
  revision: number,
  seq: number,
  realm: RealmRef,
  key: string,
  value: string,
  sum: number,
]
const CONTENT_COLUMNS = 'revision, seq, realm, key, value, sum'

function checkedRows(
  context: TxContext,
  table: number,
  name: string,
  rows: readonly ContentRow[],
): Contents {
  const keys: string[] = []
  const values: string[] = []
  const damaged: string[] = []
  for (const [revision, seq, realm, key, value, sum] of rows) {
    const sortKey: SortKey = { revision, isObject: 1, realm, table, row: seq }
    const isSound = isContentSound(value, realm, sum) && value.includes(`"${key}"`)
    if (isSound || load(context, sortKey, name)?.isDamaged !== true) {
      keys.push(JSON.stringify(key))
      values.push(value)
    } else damaged.push(key)
  }
  return { keys: keys.join(','), values: values.join(','), damaged }
}

/** The last row of a chunk. */
interface ChunkEnd {
  readonly revision: number
  readonly seq: number
}

/** The position of a row; undefined when no other follows. */
function positionAfter(
  { connection }: TxContext,
  stretch: Stretch,
  end: ChunkEnd | undefined,
): ChangePosition | undefined {
  if (end === undefined) return undefined
  const { realm, table } = stretch
  const start: SortKey = { revision: end.revision, isObject: 1, realm, table, row: end.seq }
  const rest = rowsOf(
    (sql, ...parameters) => connection.prepare<never>(sql).all(...parameters),
    'seq',
    { ...stretch, start, most: 1 },
  )
  return rest.length === 0 ? undefined : positionOf(start)
}
