import { Database as SqliteDatabase } from 'bun:sqlite'
import { join } from 'node:path'
import { runJson, runSatchel } from '../cli/setup'

type Rows = readonly Readonly<Record<string, unknown>>[]

/** Everything that a data folder holds, but for work that is under way. */
export interface Content {
  /** The output of commands that show something, by their lines. */
  readonly shown: Record<string, unknown>
  /** The objects of all realms. */
  readonly exported: readonly string[]
  /** The rows of tables that no command shows, by their names, with the columns that they had. */
  readonly rows: Readonly<Record<string, Rows>>
}

const SHOWN = [
  'db list',
  'schema show',
  'user list',
  'client list',
  'provider list',
  'origin list',
  'policy show',
  'mail show',
  'template list',
  'db address main',
  'db offload main',
  'blob list',
  'blob quota',
  'audit',
]

/** Opening a database changes none of them. */
const TABLES = [
  'tombstones',
  'sync_clients',
  'applied',
  'step_keys',
  'criteria_ops',
  'memberships',
  'former_memberships',
  'erased_users',
  'refresh_tokens',
  'refresh_uses',
  'codes',
  'mails',
  'invitations',
  'spent_states',
  'revoked_logins',
  'settings',
  'blobs',
  'blob_uploads',
  'blob_refs',
  'blob_usage',
]

/** Reads a data folder that no server serves. */
export async function contentOf(data: string): Promise<Content> {
  const shown: Record<string, unknown> = {}
  for (const line of SHOWN) shown[line] = await runJson([...line.split(' '), '--data', data])
  const { exitCode, stdout, stderr } = await runSatchel(['export', '--data', data])
  if (exitCode !== 0) throw new Error(stderr)
  using db = new SqliteDatabase(databaseFile(data))
  const rows = TABLES.map((table) => [table, rowsOf(db, table)] as const)
  return { shown, exported: stdout.split('\n').toSorted(), rows: Object.fromEntries(rows) }
}

/** The rows of the tables of an earlier content, with the columns that they had then. */
export function rowsAsIn(data: string, earlier: Content['rows']): Content['rows'] {
  using db = new SqliteDatabase(databaseFile(data))
  const rows = Object.entries(earlier).map(
    ([table, [first]]) => [table, rowsOf(db, table, first && Object.keys(first))] as const,
  )
  return Object.fromEntries(rows)
}

export function databaseFile(data: string): string {
  return join(data, 'databases', 'main', 'database.sqlite')
}

function rowsOf(db: SqliteDatabase, table: string, columns?: readonly string[]): Rows {
  const list = columns?.map((column) => `"${column}"`).join(', ') ?? '*'
  const rows = db.query(`SELECT ${list} FROM "${table}"`).all() as Rows
  return rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}
