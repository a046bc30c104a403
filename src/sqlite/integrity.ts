import { SQLiteError } from 'bun:sqlite'
import type {
  CheckedStep,
  Fault,
  IntegrityReader,
  IntegrityWriter,
  Meaning,
  Meanings,
  Problem,
} from '../domain/store/integrity'
import type { IndexEntry } from '../domain/store/objects'
import type { Membership } from '../domain/store/memberships'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { textsOf } from '../domain/user/query'
import { acceptRecord, isRecordSound, RECORD_TABLES } from './records'
import type { TxContext, WriteContext } from './context'
import { fact } from './memo'
import { membershipOfSource, membershipWriter } from './memberships'
import {
  isContentSound,
  isHeadSound,
  type SummedObject,
  sumOfObject,
  sumOfTombstone,
  TOMBSTONE_COLUMNS,
  type TombstoneRow,
} from './sum'
import { knownTables, objectTable, TIMED_COLUMNS } from './tables'
import { SELECT_TABLES, sumOfTable, type TableRow } from './state'
import { checkSummed, SUMMED_TABLES } from './summed'
import { sumOfUser, USER_COLUMNS, type UserRow } from './user-list'

/** Rows of one step: objects are parsed, and their entries looked up one by one. */
const STEP = 200
/** A step of large objects ends at this many characters. */
const STEP_CHARACTERS = 1024 * 1024

export function integrityReader(context: TxContext): IntegrityReader {
  return {
    parts: () => [
      ...Array.from(knownTables(context).values(), ({ number }) => objectTable(number)),
      ...Object.keys(STEPS),
    ],
    check: (part, after, meanings) => run(context, part, after, meanings, undefined),
  }
}

export function integrityWriter(context: WriteContext): IntegrityWriter {
  return {
    ...integrityReader(context),
    accept(part, after, meanings) {
      context.unit.touchPolicy([fact('everything')])
      return run(context, part, after, meanings, context)
    },
  }
}

/** One step of a part; with a unit, what it finds is accepted. */
type Step = (
  context: TxContext,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
) => CheckedStep

/** The parts besides the objects of each table, by the name of their table. */
const STEPS: Readonly<Record<string, Step>> = {
  tables: checkTables,
  index_entries: checkEntries,
  blob_refs: checkReferences,
  memberships: checkMemberships,
  tombstones: checkTombstones,
  users: checkUsers,
  ...Object.fromEntries(
    SUMMED_TABLES.map((name): [string, Step] => [
      name,
      (context, after, _meanings, accepting) =>
        checkSummed(context.connection, name, after, accepting?.connection),
    ]),
  ),
  ...Object.fromEntries(
    Object.keys(RECORD_TABLES).map((name): [string, Step] => [
      name,
      (context, _after, _meanings, accepting) => checkRecords(context, name, accepting),
    ]),
  ),
}

/** A damaged schema names columns that are not there. */
const DAMAGE = /^SQLITE_(?:CORRUPT|ERROR$)/

/** The check of a part ends at a page that cannot be read. */
function run(
  context: TxContext,
  part: string,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const table = [...knownTables(context).values()].find(
    ({ number }) => objectTable(number) === part,
  )
  try {
    if (table !== undefined) return checkObjects(context, table, after, meanings, accepting)
    const step = STEPS[part]
    if (step === undefined) throw new Error(`there is no part ${part} to check`)
    return step(context, after, meanings, accepting)
  } catch (error) {
    if (!(error instanceof SQLiteError) || !DAMAGE.test(error.code ?? '')) throw error
    const fault: Fault = { problem: 'unreadable', table: table?.name ?? part, key: after }
    return { checked: 0, faults: [fault], next: undefined }
  }
}

/** An object with everything that its sum covers, and the sum. */
type ObjectRow = SummedObject & { readonly sum: number }

function checkObjects(
  context: TxContext,
  table: Table,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const name = objectTable(table.number)
  const statement = context.connection.prepare<ObjectRow>(
    `SELECT ${TIMED_COLUMNS} FROM ${name} WHERE seq > ? ORDER BY seq LIMIT ?`,
  )
  const faults: Fault[] = []
  let characters = STEP_CHARACTERS
  let checked = 0
  let next: string | undefined
  for (const row of statement.iterate(Number(after), STEP)) {
    checked += 1
    characters -= textOf(row.value).length
    for (const problem of checkObject(context, table, row, meanings, accepting)) {
      faults.push({ problem, table: table.name, key: textOf(row.key) })
    }
    if (checked < STEP && characters > 0) continue
    next = String(row.seq)
    break
  }
  return { checked, faults, next }
}

/** Damaged columns may have any type. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function checkObject(
  context: TxContext,
  table: Table,
  row: ObjectRow,
  meanings: Meanings,
  accepting: WriteContext | undefined,
): Problem[] {
  const { unit, committed } = context
  const { revision, nextSeq } = (unit?.group ?? committed).counters
  const realm = realmOf(context, row.realm)
  const isSound = isContentSound(row.value, row.realm, row.sum) && isHeadSound(row, row.sum)
  if (!isSound && accepting === undefined) return ['damaged']
  if (row.revision > revision || row.seq >= nextSeq || realm === undefined) return ['contradictory']
  // Objects that are being erased are shown to nobody, and their rights are gone.
  if (realm.state !== 'live') return isSound ? [] : ['damaged']
  const meaning = meanings.of(table, { ...row, realmId: realm.id })
  if (meaning === undefined) return [isSound ? 'contradictory' : 'damaged']
  if (accepting === undefined) {
    return lacksSomething(context, table, row, meaning) ? ['missing entry'] : []
  }
  if (!isSound) acceptObject(accepting, table, row)
  complete(accepting, table, row, meaning)
  return []
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

/** Clients are to get the row as it is now. */
function acceptObject(context: WriteContext, table: Table, row: ObjectRow): void {
  const { unit, connection } = context
  const accepted = { ...row, revision: unit.revision() }
  connection
    .prepare(`UPDATE ${objectTable(table.number)} SET revision = ?, sum = ? WHERE seq = ?`)
    .run(accepted.revision, sumOfObject(accepted), row.seq)
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
    // Its permissions are damaged.
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
    void membershipWriter(context).put(membership)
  }
}

/** What an entry, a reference or a membership must follow from; undefined when nothing can be said. */
function meaningAt(
  context: TxContext,
  table: Table,
  column: 'seq' | 'key',
  value: number | string,
  meanings: Meanings,
):
  | { readonly realm: RealmRef; readonly seq: number; readonly meaning: Meaning }
  | 'gone'
  | undefined {
  const row = context.connection
    .prepare<ObjectRow>(
      `SELECT ${TIMED_COLUMNS} FROM ${objectTable(table.number)} WHERE ${column} = ?`,
    )
    .get(value)
  if (row === null) return 'gone'
  const realm = realmOf(context, row.realm)
  // A fault of the object is named where the objects are checked.
  if (realm?.state !== 'live' || !isContentSound(row.value, row.realm, row.sum)) return undefined
  const meaning = meanings.of(table, { ...row, realmId: realm.id })
  return meaning === undefined ? undefined : { realm: row.realm, seq: row.seq, meaning }
}

interface EntryRow {
  readonly index: number
  readonly key: Uint8Array
  readonly seq: number
}

function checkEntries(
  context: TxContext,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const { prepare } = context.connection
  const [index, key, seq] =
    after === '' ? [-1, '', 0] : (JSON.parse(after) as [number, string, number])
  const rows = prepare<EntryRow>(
    'SELECT index_number AS "index", key, seq FROM index_entries WHERE (index_number, key, seq) > (?, ?, ?) ORDER BY index_number, key, seq LIMIT ?',
  ).all(index, Buffer.from(key, 'hex'), seq, STEP)
  const tablesByIndex = new Map(
    [...knownTables(context).values()].flatMap((table) =>
      table.indexes.map(({ number }) => [number, table] as const),
    ),
  )
  const faults: Fault[] = []
  for (const row of rows) {
    const table = tablesByIndex.get(row.index)
    // Those of an index that is no longer declared are dropped by a job.
    if (table === undefined) continue
    const found = meaningAt(context, table, 'seq', row.seq, meanings)
    if (found === undefined) continue
    const isKnown =
      found !== 'gone' &&
      found.meaning.entries.some(
        (entry) => entry.index === row.index && Buffer.compare(entry.key, row.key) === 0,
      )
    if (isKnown) continue
    if (accepting === undefined) {
      faults.push({
        problem: 'stale entry',
        table: table.name,
        key: keyAt(context, table, row.seq),
      })
    } else {
      accepting.connection
        .prepare('DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?')
        .run(row.index, row.key, row.seq)
    }
  }
  return stepOf(rows, faults, ({ index, key, seq }) =>
    JSON.stringify([index, Buffer.from(key).toString('hex'), seq]),
  )
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

function checkReferences(
  context: TxContext,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const [blob, realm, seq] =
    after === '' ? ['', 0, 0] : (JSON.parse(after) as [string, number, number])
  const rows = context.connection
    .prepare<ReferenceRow>(
      'SELECT blob, realm, seq, table_number AS number FROM blob_refs WHERE (blob, realm, seq) > (?, ?, ?) ORDER BY blob, realm, seq LIMIT ?',
    )
    .all(blob, realm, seq, STEP)
  const faults: Fault[] = []
  for (const row of rows) {
    const table = [...knownTables(context).values()].find(({ number }) => number === row.number)
    const found = table && meaningAt(context, table, 'seq', row.seq, meanings)
    if (table !== undefined && found === undefined) continue
    const isKnown =
      found !== undefined &&
      found !== 'gone' &&
      found.realm === row.realm &&
      found.meaning.blobs.includes(row.blob)
    if (isKnown) continue
    if (accepting === undefined) {
      faults.push({ problem: 'stale entry', table: 'blob references', key: row.blob })
    } else {
      accepting.connection
        .prepare('DELETE FROM blob_refs WHERE blob = ? AND realm = ? AND seq = ?')
        .run(row.blob, row.realm, row.seq)
    }
  }
  return stepOf(rows, faults, ({ blob, realm, seq }) => JSON.stringify([blob, realm, seq]))
}

function checkMemberships(
  context: TxContext,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const rows = context.connection
    .prepare<{ source: string }>(
      'SELECT source FROM memberships WHERE source > ? ORDER BY source LIMIT ?',
    )
    .all(after, STEP)
  const faults: Fault[] = []
  for (const { source } of rows) {
    const [name = '', ...rest] = source.split(':')
    const table = knownTables(context).get(name)
    const found = table && meaningAt(context, table, 'key', rest.join(':'), meanings)
    if (table !== undefined && found === undefined) continue
    if (found !== undefined && found !== 'gone' && found.meaning.membership?.source === source) {
      continue
    }
    if (accepting === undefined) {
      faults.push({ problem: 'stale entry', table: name, key: rest.join(':') })
    } else {
      void membershipWriter(accepting).remove(source)
    }
  }
  return stepOf(rows, faults, ({ source }) => source)
}

function checkTombstones(
  context: TxContext,
  after: string,
  _meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const [table, key, realm] =
    after === '' ? [-1, '', 0] : (JSON.parse(after) as [number, string, number])
  const rows = context.connection
    .prepare<TombstoneRow>(
      `SELECT ${TOMBSTONE_COLUMNS} FROM tombstones WHERE (table_number, key, realm) > (?, ?, ?) ORDER BY table_number, key, realm LIMIT ?`,
    )
    .all(table, key, realm, STEP)
  const faults: Fault[] = []
  for (const row of rows) {
    const sum = sumOfTombstone(row)
    if (sum === row.sum) continue
    if (accepting === undefined) {
      faults.push({ problem: 'damaged', table: 'tombstones', key: row.key })
    } else {
      accepting.connection
        .prepare('UPDATE tombstones SET sum = ? WHERE table_number = ? AND key = ? AND realm = ?')
        .run(sum, row.number, row.key, row.realm)
    }
  }
  return stepOf(rows, faults, ({ number, key, realm }) => JSON.stringify([number, key, realm]))
}

type IndexedUser = UserRow & {
  readonly email: string | null
  readonly name: string | null
  readonly search: string
}

function checkUsers(
  context: TxContext,
  after: string,
  _meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const rows = context.connection
    .prepare<IndexedUser>(
      `SELECT ${USER_COLUMNS}, email, name, search FROM users WHERE number > ? ORDER BY number LIMIT ?`,
    )
    .all(Number(after), STEP)
  const faults: Fault[] = []
  for (const row of rows) {
    const sum = sumOfUser(row)
    const texts = textsOfUser(row)
    const isFound =
      texts !== undefined &&
      texts.email === row.email &&
      texts.name === row.name &&
      texts.search === row.search
    if (sum === row.sum && isFound) continue
    if (accepting === undefined || texts === undefined) {
      const problem = sum === row.sum ? 'missing entry' : 'damaged'
      faults.push({ problem, table: 'users', key: row.id })
      continue
    }
    const { prepare } = accepting.connection
    prepare('UPDATE users SET email = ?, name = ?, search = ?, sum = ? WHERE number = ?').run(
      texts.email,
      texts.name,
      texts.search,
      sum,
      row.incarnation,
    )
    prepare('DELETE FROM user_search WHERE rowid = ?').run(row.incarnation)
    prepare('INSERT INTO user_search (rowid, text) VALUES (?, ?)').run(
      row.incarnation,
      texts.search,
    )
  }
  return stepOf(rows, faults, ({ incarnation }) => String(incarnation))
}

/** Undefined when the data is no JSON. */
function textsOfUser({ id, data }: UserRow): ReturnType<typeof textsOf> | undefined {
  try {
    return textsOf({ id, data: data === null ? null : JSON.parse(data) })
  } catch {
    return undefined
  }
}

/** All of them in one step: a database has at most 500. */
function checkTables(
  context: TxContext,
  _after: string,
  _meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedStep {
  const rows = context.connection.prepare<TableRow>(`${SELECT_TABLES} ORDER BY number`).all()
  const faults: Fault[] = []
  for (const row of rows) {
    const sum = sumOfTable(row)
    if (sum === row.sum) continue
    if (accepting === undefined) {
      faults.push({ problem: 'damaged', table: 'tables', key: row.name })
    } else {
      accepting.connection
        .prepare('UPDATE tables SET sum = ? WHERE number = ?')
        .run(sum, row.number)
    }
  }
  return { checked: rows.length, faults, next: undefined }
}

/** All of them in one step: a database has few. */
function checkRecords(
  context: TxContext,
  name: string,
  accepting: WriteContext | undefined,
): CheckedStep {
  const ids = context.connection.prepare<{ id: string }>(`SELECT id FROM ${name} ORDER BY id`).all()
  const faults: Fault[] = []
  for (const { id } of ids) {
    if (isRecordSound(context, name, id)) continue
    const isAccepted = accepting !== undefined && acceptRecord(accepting, name, id)
    if (!isAccepted) faults.push({ problem: 'damaged', table: name, key: id })
  }
  return { checked: ids.length, faults, next: undefined }
}

function stepOf<Row>(
  rows: readonly Row[],
  faults: readonly Fault[],
  placeOf: (row: Row) => string,
): CheckedStep {
  const last = rows.at(-1)
  const isEnd = last === undefined || rows.length < STEP
  return { checked: rows.length, faults, next: isEnd ? undefined : placeOf(last) }
}
