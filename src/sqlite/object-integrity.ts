import type { Fault, Meaning, MeaningOf, Problem } from '../domain/store/integrity'
import { entryName, type IndexEntry } from '../domain/store/objects'
import type { Membership } from '../domain/store/memberships'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import type { TxContext, WriteContext } from './context'
import { membershipOfSource, membershipWriter } from './memberships'
import {
  type CheckedRows,
  isContentSound,
  isHeadSound,
  type SummedObject,
  sumOfObject,
} from './sum'
import { knownTables, objectTable, TIMED_COLUMNS } from './tables'

/** Rows of one step: objects are parsed, and their entries looked up one by one. */
export const ROWS_PER_STEP = 200
/** A step of large objects ends at this many characters. */
const STEP_CHARACTERS = 1024 * 1024
/** How many entries of one object a step takes. */
const STEP_ENTRIES = 20_000

/** An object with everything that its sum covers, and the sum. */
type ObjectRow = SummedObject & { readonly sum: number }

/** A step of a check. */
export interface Check {
  readonly context: TxContext
  readonly meaningOf: MeaningOf
  /** The unit that accepts rows as they are, and changes those that follow from them; undefined: they are reported. */
  readonly accepting: WriteContext | undefined
}

export function checkObjects(check: Check, table: Table, after: string): CheckedRows {
  const statement = check.context.connection.prepare<ObjectRow>(
    `SELECT ${TIMED_COLUMNS} FROM ${objectTable(table.number)} WHERE seq > ? ORDER BY seq LIMIT ?`,
  )
  const faults: Fault[] = []
  let characters = STEP_CHARACTERS
  let checked = 0
  let next: string | undefined
  const [seq = '', position = '0'] = after.split(' ')
  for (const row of statement.iterate(Number(seq), ROWS_PER_STEP)) {
    const from = row.seq === Number(seq) + 1 ? Number(position) : 0
    const { problem, rest } = checkObject(check, table, row, from)
    if (problem !== undefined) faults.push({ problem, table: table.name, key: textOf(row.key) })
    if (rest !== undefined) return { checked, faults, next: `${row.seq - 1} ${rest}` }
    checked += 1
    characters -= textOf(row.value).length
    if (checked < ROWS_PER_STEP && characters > 0) continue
    next = String(row.seq)
    break
  }
  return { checked, faults, next }
}

/** Damaged columns may have any type. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

interface CheckedObject {
  readonly problem?: Problem
  /** The number of its entries that were checked, when there are more. */
  readonly rest?: number
}

/** Checks an object, and its entries after the first `from` ones. */
function checkObject(check: Check, table: Table, row: ObjectRow, from: number): CheckedObject {
  const { context, meaningOf, accepting } = check
  const { unit, committed } = context
  const { revision, nextSeq } = (unit?.group ?? committed).counters
  const realm = realmOf(context, row.realm)
  const isSound = isContentSound(row.value, row.realm, row.sum) && isHeadSound(row, row.sum)
  if (!isSound && accepting === undefined) return { problem: 'damaged' }
  if (row.revision > revision || row.seq >= nextSeq || realm === undefined) {
    return { problem: 'contradictory' }
  }
  // Objects that are being erased have no readers, and their rights are gone.
  if (realm.state !== 'live') return isSound ? {} : { problem: 'damaged' }
  const whole = meaningOf(table, { ...row, realmId: realm.id })
  if (whole === undefined) return { problem: isSound ? 'contradictory' : 'damaged' }
  const upTo = from + STEP_ENTRIES
  const rest = upTo < whole.entries.length ? { rest: upTo } : {}
  const meaning = { ...whole, entries: whole.entries.slice(from, upTo) }
  if (accepting === undefined) {
    return lacksSomething(context, table, row, meaning) ? { problem: 'missing entry' } : rest
  }
  if (!isSound) acceptObject(accepting, table, row)
  complete(accepting, table, row, meaning)
  return rest
}

interface RealmState {
  readonly id: string
  readonly state: string
}

function realmOf({ connection }: TxContext, realm: RealmRef): RealmState | undefined {
  const row = connection
    .prepare<RealmState>('SELECT id, state FROM realm_ids WHERE number = ?')
    .get(realm)
  return row ?? undefined
}

/** Nothing is known about its properties: clients get the whole row as it is now. */
function acceptObject(context: WriteContext, table: Table, row: ObjectRow): void {
  const { unit, connection } = context
  const revision = unit.revision()
  const updated = unit.clock.now()
  const accepted = { ...row, revision, entered: revision, updated, stamps: null }
  connection
    .prepare(
      `UPDATE ${objectTable(table.number)} SET revision = ?1, entered = ?1, updated_at = ?2, stamps = NULL, sum = ?3 WHERE seq = ?4`,
    )
    .run(revision, updated, sumOfObject(accepted), row.seq)
  unit.touchRealm(row.realm, table.name)
}

/** The entries of an object in indexes that are complete. */
function readyEntries(table: Table, { entries }: Meaning): readonly IndexEntry[] {
  const building = new Set(
    table.indexes.filter(({ state }) => state === 'building').map(({ number }) => number),
  )
  return building.size === 0 ? entries : entries.filter(({ index }) => !building.has(index))
}

const HAS_ENTRY = 'SELECT 1 FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?'
const HAS_REFERENCE =
  'SELECT 1 FROM blob_refs WHERE blob = ? AND realm = ? AND seq = ? AND table_number = ?'

function lacksSomething(
  context: TxContext,
  table: Table,
  { seq, realm }: ObjectRow,
  meaning: Meaning,
): boolean {
  const { prepare } = context.connection
  const { membership, blobs } = meaning
  return (
    readyEntries(table, meaning).some(
      ({ index, key }) => prepare(HAS_ENTRY).get(index, key, seq) === null,
    ) ||
    blobs.some((blob) => prepare(HAS_REFERENCE).get(blob, realm, seq, table.number) === null) ||
    (membership !== undefined && !isStored(context, membership))
  )
}

function isStored(context: TxContext, membership: Membership): boolean {
  try {
    const stored = membershipOfSource(context, membership.source)
    return stored !== undefined && isSame(stored, membership)
  } catch (error) {
    // The stored permissions are damaged.
    if (error instanceof SyntaxError) return false
    throw error
  }
}

function isSame(one: Membership, other: Membership): boolean {
  const fields = ({ realm, userId, email, accepted, rejected, permissions, roles }: Membership) =>
    JSON.stringify([realm, userId, email, accepted, rejected, permissions, roles])
  return fields(one) === fields(other)
}

function complete(
  context: WriteContext,
  table: Table,
  { seq, realm }: ObjectRow,
  meaning: Meaning,
): void {
  const { prepare } = context.connection
  const { membership, blobs } = meaning
  for (const { index, key } of readyEntries(table, meaning)) {
    prepare('INSERT OR IGNORE INTO index_entries (index_number, key, seq) VALUES (?, ?, ?)').run(
      index,
      key,
      seq,
    )
  }
  for (const blob of blobs) {
    prepare(
      'INSERT INTO blob_refs (blob, realm, seq, table_number) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET table_number = excluded.table_number',
    ).run(blob, realm, seq, table.number)
    prepare('UPDATE blobs SET idle_since = NULL WHERE id = ? AND idle_since IS NOT NULL').run(blob)
  }
  if (membership !== undefined && !isStored(context, membership)) {
    membershipWriter(context).put(membership)
  }
}

/** An object that an entry, a reference or a membership must follow from. */
interface Source {
  readonly realm: RealmRef
  readonly meaning: Meaning
}

/** Undefined when nothing can be said. */
function meaningAt(
  { context, meaningOf }: Check,
  table: Table,
  column: 'seq' | 'key',
  value: number | string,
): Source | 'gone' | undefined {
  const row = context.connection
    .prepare<ObjectRow>(
      `SELECT ${TIMED_COLUMNS} FROM ${objectTable(table.number)} WHERE ${column} = ?`,
    )
    .get(value)
  if (row === null) return 'gone'
  const realm = realmOf(context, row.realm)
  // A fault of the object is named where the objects are checked.
  if (realm?.state !== 'live' || !isContentSound(row.value, row.realm, row.sum)) return undefined
  const meaning = meaningOf(table, { ...row, realmId: realm.id })
  return meaning === undefined ? undefined : { realm: row.realm, meaning }
}

interface EntryRow {
  readonly index: number
  readonly key: Uint8Array
  readonly seq: number
}

export function checkEntries(check: Check, after: string): CheckedRows {
  const { context } = check
  const { prepare } = context.connection
  const [index, key, seq] =
    after === '' ? [-1, '', 0] : (JSON.parse(after) as [number, string, number])
  const rows = prepare<EntryRow>(
    'SELECT index_number AS "index", key, seq FROM index_entries WHERE (index_number, key, seq) > (?, ?, ?) ORDER BY index_number, key, seq LIMIT ?',
  ).all(index, Buffer.from(key, 'hex'), seq, STEP_ENTRIES)
  const known = new Map<number, ReadonlySet<string> | undefined>()
  const tablesByIndex = new Map(
    [...knownTables(context).values()].flatMap((table) =>
      table.indexes.map(({ number }) => [number, table] as const),
    ),
  )
  const faults: Fault[] = []
  let objects = 0
  let checked = 0
  for (const row of rows) {
    const table = tablesByIndex.get(row.index)
    // A step parses few objects: one object may have all of its entries.
    if (objects === ROWS_PER_STEP) break
    checked += 1
    // A job drops the entries of an index that is no longer declared.
    if (table === undefined) continue
    if (!known.has(row.seq)) {
      objects += 1
      known.set(row.seq, entriesAt(check, table, row.seq))
    }
    const entries = known.get(row.seq)
    if (entries === undefined || entries.has(entryName(row))) continue
    const remove = ({ connection }: WriteContext) =>
      connection
        .prepare('DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?')
        .run(row.index, row.key, row.seq)
    faults.push(...endStale(check, table.name, keyAt(context, table, row.seq), remove))
  }
  const cursorOf = ({ index, key, seq }: EntryRow) =>
    JSON.stringify([index, Buffer.from(key).toString('hex'), seq])
  return stepOf(
    rows.slice(0, checked),
    faults,
    cursorOf,
    checked < rows.length ? checked : STEP_ENTRIES,
  )
}

/** The entries of the object at a position, none when it is gone; undefined when nothing can be said. */
function entriesAt(check: Check, table: Table, seq: number): ReadonlySet<string> | undefined {
  const found = meaningAt(check, table, 'seq', seq)
  if (found === 'gone') return new Set()
  return found && new Set(found.meaning.entries.map(entryName))
}

function keyAt({ connection }: TxContext, { number }: Table, seq: number): string {
  const row = connection
    .prepare<{ key: string }>(`SELECT key FROM ${objectTable(number)} WHERE seq = ?`)
    .get(seq)
  return row?.key ?? ''
}

interface ReferenceRow {
  readonly blob: string
  readonly realm: RealmRef
  readonly seq: number
  readonly number: number
}

export function checkReferences(check: Check, after: string): CheckedRows {
  const { context } = check
  const [blob, realm, seq] =
    after === '' ? ['', 0, 0] : (JSON.parse(after) as [string, number, number])
  const rows = context.connection
    .prepare<ReferenceRow>(
      'SELECT blob, realm, seq, table_number AS number FROM blob_refs WHERE (blob, realm, seq) > (?, ?, ?) ORDER BY blob, realm, seq LIMIT ?',
    )
    .all(blob, realm, seq, ROWS_PER_STEP)
  const faults = rows.flatMap((row) => {
    const table = [...knownTables(context).values()].find(({ number }) => number === row.number)
    const found = table && meaningAt(check, table, 'seq', row.seq)
    const follows = (source: Source) =>
      source.realm === row.realm && source.meaning.blobs.includes(row.blob)
    if (table !== undefined && mayFollow(found, follows)) return []
    return endStale(check, 'blob references', row.blob, ({ connection }) =>
      connection
        .prepare('DELETE FROM blob_refs WHERE blob = ? AND realm = ? AND seq = ?')
        .run(row.blob, row.realm, row.seq),
    )
  })
  return stepOf(rows, faults, ({ blob, realm, seq }) => JSON.stringify([blob, realm, seq]))
}

export function checkMemberships(check: Check, after: string): CheckedRows {
  const { context } = check
  const rows = context.connection
    .prepare<{ source: string }>(
      'SELECT source FROM memberships WHERE source > ? ORDER BY source LIMIT ?',
    )
    .all(after, ROWS_PER_STEP)
  const faults = rows.flatMap(({ source }) => {
    const [name = '', ...rest] = source.split(':')
    const key = rest.join(':')
    const table = knownTables(context).get(name)
    const found = table && meaningAt(check, table, 'key', key)
    const follows = ({ meaning }: Source) => meaning.membership?.source === source
    if (table !== undefined && mayFollow(found, follows)) return []
    return endStale(check, name, key, (unit) => membershipWriter(unit).remove(source))
  })
  return stepOf(rows, faults, ({ source }) => source)
}

/** True when nothing can be said. */
function mayFollow(found: Source | 'gone' | undefined, follows: (source: Source) => boolean) {
  return found === undefined || (found !== 'gone' && follows(found))
}

/** Removes a row that follows from no object, or names the fault. */
function endStale(
  { accepting }: Check,
  table: string,
  key: string,
  remove: (unit: WriteContext) => unknown,
): Fault[] {
  if (accepting === undefined) return [{ problem: 'stale entry', table, key }]
  remove(accepting)
  return []
}

export function stepOf<Row>(
  rows: readonly Row[],
  faults: readonly Fault[],
  cursorOf: (row: Row) => string,
  most = ROWS_PER_STEP,
): CheckedRows {
  const last = rows.at(-1)
  const isEnd = last === undefined || rows.length < most
  return { checked: rows.length, faults, next: isEnd ? undefined : cursorOf(last) }
}
