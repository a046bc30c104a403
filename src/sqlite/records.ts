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
  /** The properties of a record, in the order in which a sum covers them, with their columns. */
  readonly columns: { readonly [Property in keyof T]-?: Column }
}

interface Column {
  readonly name: string
  /** The property is stored as JSON. */
  readonly isJson?: true
}

const ID = { name: 'id' }
const CREATED = { name: 'created' }
const json = (name: string): Column => ({ name, isJson: true })

/** Written by hand: a query builder takes longer to load than the rest of the engine. */
export const CLIENTS: RecordTable<Client> = {
  name: 'clients',
  noun: 'client',
  isSummed: true,
  columns: {
    id: ID,
    secretHash: { name: 'secret_hash' },
    scopes: json('scopes'),
    name: { name: 'name' },
    created: CREATED,
    expires: { name: 'expires' },
    email: { name: 'email' },
  },
}

export const KEYS: RecordTable<SigningKey> = {
  name: 'keys',
  noun: 'signing key',
  columns: {
    id: ID,
    state: { name: 'state' },
    publicKey: { name: 'public_key' },
    sealedPrivateKey: { name: 'sealed_private_key' },
    created: CREATED,
    retired: { name: 'retired' },
  },
}

export const PROVIDERS: RecordTable<Provider> = {
  name: 'providers',
  noun: 'provider',
  columns: {
    id: ID,
    type: { name: 'type' },
    displayName: { name: 'display_name' },
    iconUrl: { name: 'icon_url' },
    clientId: { name: 'client_id' },
    sealedSecret: { name: 'sealed_secret' },
    scopes: json('scopes'),
    options: json('options'),
    created: CREATED,
  },
}

export const ORIGINS: RecordTable<Origin> = {
  name: 'origins',
  noun: 'origin',
  columns: { id: ID, created: CREATED },
}

export const SETTINGS: RecordTable<Setting> = {
  name: 'settings',
  noun: 'setting',
  columns: { id: ID, value: json('value') },
}

export const JOBS: RecordTable<Job> = {
  name: 'jobs',
  noun: 'job',
  columns: {
    id: ID,
    kind: { name: 'kind' },
    state: json('state'),
    done: { name: 'done' },
    total: { name: 'total' },
    created: CREATED,
    failure: { name: 'failure' },
  },
}

/** A row as it is stored: each property with the value of its column. */
type Row = Readonly<Record<string, SQLQueryBindings>> & {
  readonly id: string
  readonly sum?: number
}

export function recordReader<T extends { readonly id: string }>(
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

export function recordWriter<T extends { readonly id: string }>(
  context: WriteContext,
  table: RecordTable<T>,
): RecordWriter<T> {
  const { put, remove } = statementsOf(table)
  return {
    ...recordReader(context, table),
    put(record) {
      const values = Object.entries<Column>(table.columns).map(([property, { isJson }]) => {
        const value = record[property as keyof T] ?? null
        return isJson && value !== null ? JSON.stringify(value) : value
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
type AnyTable = Pick<RecordTable<object>, 'name' | 'noun' | 'isSummed'> & {
  readonly columns: Readonly<Record<string, Column>>
}

const statementsByTable = new Map<AnyTable, Statements>()

function statementsOf(table: AnyTable): Statements {
  const known = statementsByTable.get(table) ?? makeStatements(table)
  statementsByTable.set(table, known)
  return known
}

function makeStatements({ name: table, columns, isSummed }: AnyTable): Statements {
  const named = Object.entries(columns)
  const sum = isSummed === true ? ['sum'] : []
  const names = [...named.map(([, { name }]) => name), ...sum]
  const selected = named.map(([property, { name }]) => `${name} AS "${property}"`)
  const changed = names.filter((name) => name !== 'id').map((name) => `${name} = excluded.${name}`)
  return {
    select: `SELECT ${[...selected, ...sum].join(', ')} FROM ${table}`,
    put: `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ON CONFLICT (id) DO UPDATE SET ${changed.join(', ')}`,
    remove: `DELETE FROM ${table} WHERE id = ? RETURNING id`,
  }
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
function parsed<T extends object>({ columns }: RecordTable<T>, row: Row): T | undefined {
  const record: Record<string, unknown> = {}
  try {
    for (const [property, { isJson }] of Object.entries<Column>(columns)) {
      const value = row[property]
      record[property] = isJson && value !== null ? JSON.parse(value as string) : value
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

function sumOfRecord<T extends object>({ columns }: RecordTable<T>, record: T): number {
  return sumOfRow(Object.keys(columns).map((property) => record[property as keyof T]))
}

/** All of these but jobs are policy, or are remembered like it. */
function touch({ unit }: WriteContext, name: FactKind | 'jobs', id: string): void {
  if (name === 'jobs') unit.group.flags.jobs = true
  else unit.touchRecords([`${name} ${id}`], [fact(name), fact(name, id)])
}
