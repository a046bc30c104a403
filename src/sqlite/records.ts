import type { SQLQueryBindings } from 'bun:sqlite'
import type { TxContext, WriteContext } from './context'
import { fact, type FactKind, note } from './memo'
import { damaged, sumOfRow } from './sum'
import type {
  Client,
  Job,
  Origin,
  Provider,
  Records,
  RecordWriter,
  Setting,
  SigningKey,
} from '../domain/store/records'

/** A table whose rows are the records of a noun. */
interface RecordTable<T> {
  readonly name: FactKind | 'jobs'
  /** What a record is, for messages. */
  readonly noun: string
  /** Each row has the sum of its record. */
  readonly isSummed?: true
  /** The properties of a record, in the order in which a sum covers them: `secretHash` is in `secret_hash`. */
  readonly properties: readonly (keyof T & string)[]
  /** The properties that are stored as JSON. */
  readonly json?: readonly (keyof T & string)[]
}

/** Written by hand: a query builder takes longer to load than the rest of the engine. */
export const CLIENTS: RecordTable<Client> = {
  name: 'clients',
  noun: 'client',
  isSummed: true,
  properties: ['id', 'secretHash', 'scopes', 'name', 'created', 'expires', 'email'],
  json: ['scopes'],
}

export const KEYS: RecordTable<SigningKey> = {
  name: 'keys',
  noun: 'signing key',
  properties: ['id', 'state', 'publicKey', 'sealedPrivateKey', 'created', 'retired'],
}

export const PROVIDERS: RecordTable<Provider> = {
  name: 'providers',
  noun: 'provider',
  properties: [
    'id',
    'type',
    'displayName',
    'iconUrl',
    'clientId',
    'sealedSecret',
    'scopes',
    'options',
    'created',
  ],
  json: ['scopes', 'options'],
}

export const ORIGINS: RecordTable<Origin> = {
  name: 'origins',
  noun: 'origin',
  properties: ['id', 'created'],
}

export const SETTINGS: RecordTable<Setting> = {
  name: 'settings',
  noun: 'setting',
  properties: ['id', 'value'],
  json: ['value'],
}

export const JOBS: RecordTable<Job> = {
  name: 'jobs',
  noun: 'job',
  properties: ['id', 'kind', 'state', 'done', 'total', 'created', 'failure'],
  json: ['state'],
}

/** A row as it is stored: each property with the value of its column. */
type Row = Readonly<Record<string, SQLQueryBindings>> & {
  readonly id: string
  readonly sum?: number
}

/** The reader of the records of a table, and their writer. */
export function records<T extends { readonly id: string }>(table: RecordTable<T>) {
  return [
    (context: TxContext): Records<T> => recordReader(context, table),
    (context: WriteContext): RecordWriter<T> => recordWriter(context, table),
  ] as const
}

function recordReader<T extends { readonly id: string }>(
  context: TxContext,
  table: RecordTable<T>,
): Records<T> {
  const { select } = statementsOf(table)
  return {
    find(id) {
      if (table.name !== 'jobs') note(context, table.name, id)
      const row = context.connection.prepare<Row>(`${select} WHERE id = ?`).get(id)
      return row === null ? undefined : recordOf(table, row, id)
    },
    list() {
      if (table.name !== 'jobs') note(context, table.name)
      const rows = context.connection.prepare<Row>(`${select} ORDER BY id`).all()
      return rows.map((row) => recordOf(table, row))
    },
  }
}

function recordWriter<T extends { readonly id: string }>(
  context: WriteContext,
  table: RecordTable<T>,
): RecordWriter<T> {
  const { put, remove } = statementsOf(table)
  return {
    ...recordReader(context, table),
    put(record) {
      const { properties, json = [] } = table
      const values = properties.map((property) => {
        const value = record[property] ?? null
        return json.includes(property) && value !== null ? JSON.stringify(value) : value
      })
      const sum = table.isSummed === true ? [sumOfRecord(table, record)] : []
      context.connection.prepare(put).run(...values, ...sum)
      touch(context, table.name, record.id)
    },
    remove(id) {
      const isRemoved = context.connection.prepare(remove).get(id) !== null
      if (isRemoved) touch(context, table.name, id)
      return isRemoved
    },
  }
}

interface Statements {
  readonly select: string
  readonly put: string
  readonly remove: string
}

/** What its statements are made from. */
type AnyTable = Pick<RecordTable<object>, 'name' | 'isSummed'> & {
  readonly properties: readonly string[]
}

const statementsByTable = new Map<AnyTable, Statements>()

function statementsOf(table: AnyTable): Statements {
  const known = statementsByTable.get(table) ?? makeStatements(table)
  statementsByTable.set(table, known)
  return known
}

function makeStatements({ name: table, properties, isSummed }: AnyTable): Statements {
  const sum = isSummed === true ? ['sum'] : []
  const names = [...properties.map(columnOf), ...sum]
  const selected = properties.map((property) => `${columnOf(property)} AS "${property}"`)
  const changed = names.filter((name) => name !== 'id').map((name) => `${name} = excluded.${name}`)
  return {
    select: `SELECT ${[...selected, ...sum].join(', ')} FROM ${table}`,
    put: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ON CONFLICT (id) DO UPDATE SET ${changed.join(', ')}`,
    remove: `DELETE FROM ${table} WHERE id = ? RETURNING id`,
  }
}

/** `secret_hash` of `secretHash`. */
export function columnOf(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The record of a row, which was found by this id. Throws `DAMAGED`. */
function recordOf<T extends object>(table: RecordTable<T>, row: Row, id = row.id): T {
  const record = parsed(table, row)
  if (record === undefined || row.id !== id || !isSound(table, row, record)) {
    throw damaged(table.noun, id)
  }
  return record
}

function isSound<T extends object>(table: RecordTable<T>, { sum }: Row, record: T): boolean {
  return table.isSummed !== true || sumOfRecord(table, record) === sum
}

/** Undefined when a column that has to be JSON is not. */
function parsed<T extends object>(
  { properties, json = [] }: RecordTable<T>,
  row: Row,
): T | undefined {
  const record: Record<string, unknown> = {}
  try {
    for (const property of properties) {
      const value = row[property]
      const isJson = json.includes(property) && value !== null
      record[property] = isJson ? JSON.parse(value as string) : value
    }
  } catch {
    return undefined
  }
  return record as T
}

/** False when the client with this id is not as it was written. */
export function isClientSound(context: TxContext, id: string): boolean {
  const [row, client] = findClient(context, id)
  return row !== null && client !== undefined && isSound(CLIENTS, row, client)
}

/** Accepts a client that was written by hand. False when it is none. */
export function acceptClient(context: WriteContext, id: string): boolean {
  const [, client] = findClient(context, id)
  if (client === undefined) return false
  const sum = sumOfRecord(CLIENTS, client)
  context.connection.prepare('UPDATE clients SET sum = ? WHERE id = ?').run(sum, id)
  return true
}

/** The row with this id and its client, which is absent when a column that has to be JSON is not. */
function findClient({ connection }: TxContext, id: string) {
  const row = connection.prepare<Row>(`${statementsOf(CLIENTS).select} WHERE id = ?`).get(id)
  return [row, row === null ? undefined : parsed(CLIENTS, row)] as const
}

function sumOfRecord<T extends object>({ properties }: RecordTable<T>, record: T): number {
  return sumOfRow(properties.map((property) => record[property]))
}

/** All of these but jobs are policy, or are remembered like it. */
function touch({ unit }: WriteContext, name: FactKind | 'jobs', id: string): void {
  if (name === 'jobs') unit.group.flags.jobs = true
  else unit.touchRecords([`${name} ${id}`], [fact(name), fact(name, id)])
}
