import type {
  AppliedReader,
  AppliedRejection,
  AppliedTransaction,
  AppliedWriter,
  SyncClient,
} from '../domain/store/sync'
import type { TxContext, WriteContext } from './context'
import type { applied, stepKeys } from './schema'
import { damagedRow, isSound, sumOf } from './summed'

const TABLE = 'applied'
const COLUMNS = 'client, txid, revision, at, rejection, steps, sum'
const SELECT = `SELECT ${COLUMNS} FROM applied WHERE client = ? AND txid = ?`
const SELECT_OF_USER = `SELECT ${COLUMNS} FROM applied WHERE client IN (SELECT number FROM sync_clients WHERE subject = ?) AND txid = ?`
const INSERT = `INSERT OR REPLACE INTO applied (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`

export class AppliedReads<Context extends TxContext = TxContext> implements AppliedReader {
  constructor(protected readonly context: Context) {}

  find(client: number, txid: string) {
    return this.#find(SELECT, client, txid)
  }

  findOfUser(subject: string, txid: string) {
    return this.#find(SELECT_OF_USER, subject, txid)
  }

  #find(sql: string, of: number | string, txid: string): AppliedTransaction | undefined {
    const { connection, unit } = this.context
    unit?.owed.payRows(TABLE)
    const found = connection.prepare<typeof applied.$inferSelect>(sql).get(of, txid)
    if (found === null) return undefined
    // The transaction came before: it is not executed again, and its rows are sent as they are.
    if (!isSound('applied', found)) {
      return { client: 0, revision: 0, rejection: null, steps: null }
    }
    const { client, revision, rejection, steps } = found
    const parsed = rejection === null ? null : (JSON.parse(rejection) as AppliedRejection)
    return { client, revision, rejection: parsed, steps }
  }

  keysOf(client: number, txid: string, step: number) {
    const { connection, unit } = this.context
    unit?.owed.payRows(TABLE)
    const found = connection
      .prepare<typeof stepKeys.$inferSelect>(
        'SELECT client, txid, step, keys, sum FROM step_keys WHERE client = ? AND txid = ? AND step = ?',
      )
      .get(client, txid, step)
    if (found === null) return undefined
    if (!isSound('step_keys', found)) throw damagedRow('step_keys')
    return JSON.parse(found.keys) as string[]
  }
}

export class AppliedWrites extends AppliedReads<WriteContext> implements AppliedWriter {
  put(
    client: number,
    txid: string,
    at: number,
    { rejection = null, steps = null }: Parameters<AppliedWriter['put']>[3] = {},
  ) {
    const { connection, unit } = this.context
    unit.owed.payRows(TABLE)
    const refusal = rejection === null ? null : JSON.stringify(rejection)
    const revision = unit.takenRevision()
    const row = { client, txid, revision, at, rejection: refusal, steps }
    connection
      .prepare(INSERT)
      .run(client, txid, revision, at, refusal, steps, sumOf('applied', row))
  }

  putKeys(client: number, txid: string, step: number, list: readonly string[]) {
    const keys = JSON.stringify(list)
    this.context.connection
      .prepare('INSERT INTO step_keys (client, txid, step, keys, sum) VALUES (?, ?, ?, ?, ?)')
      .run(client, txid, step, keys, sumOf('step_keys', { client, txid, step, keys }))
  }

  removeKeys(client: number, txid: string) {
    this.context.connection
      .prepare('DELETE FROM step_keys WHERE client = ? AND txid = ?')
      .run(client, txid)
  }

  prune(client: number, before: number, kept: ReadonlySet<string>) {
    const { connection, unit } = this.context
    const named = JSON.stringify([...kept])
    unit.owed.removeRows(TABLE, (limit) => {
      const old =
        'SELECT txid FROM applied WHERE client = ?1 AND at < ?2 AND txid NOT IN (SELECT value FROM json_each(?3)) LIMIT ?4'
      const sql = `DELETE FROM applied WHERE client = ?1 AND txid IN (${old})`
      return connection.prepare(sql).run(client, before, named, limit).changes
    })
  }
}

/** Removes the transactions of clients together: rows that are owed are paid when others are to be removed. */
export function removeApplied(
  { connection, unit }: WriteContext,
  clients: readonly Pick<SyncClient, 'number'>[],
): void {
  const numbers = JSON.stringify(clients.map(({ number }) => number))
  unit.owed.removeRows(TABLE, (limit) => {
    const some =
      'SELECT client, txid FROM applied WHERE client IN (SELECT value FROM json_each(?)) LIMIT ?'
    const sql = `DELETE FROM applied WHERE (client, txid) IN (${some})`
    return connection.prepare(sql).run(numbers, limit).changes
  })
}
