import type { RealmRef } from '../domain/store/realms'
import type {
  CriteriaOperation,
  CriteriaOperationReader,
  CriteriaOperationWriter,
} from '../domain/store/sync'
import type { TxContext, WriteContext } from './context'

const TABLE = 'criteria_ops'

const OPERATION = 'subject, revision, position, client, email, kind, criteria, change, ts, base'

export class CriteriaOperationReads<
  Context extends TxContext = TxContext,
> implements CriteriaOperationReader {
  constructor(protected readonly context: Context) {}

  newest() {
    const { committed, unit } = this.context
    return unit?.group.newestOperation ?? committed.newestOperation
  }

  list(
    table: number,
    of: Parameters<CriteriaOperationReader['list']>[1],
    revision: number,
    limit: number,
  ) {
    const { context } = this
    const newest = this.newest()
    if (newest <= revision) return []
    context.unit?.owed.payRows(TABLE)
    if ('subject' in of) return operationsOfUser(context, table, of.subject, revision, limit)
    context.unit?.owed.payRows('memberships')
    return operationsOfMembers(context, table, of.realm, { from: revision, to: newest }, limit)
  }
}

function operationsOfUser(
  { connection }: TxContext,
  table: number,
  subject: string,
  revision: number,
  limit: number,
): readonly CriteriaOperation[] {
  return connection
    .prepare<CriteriaOperation>(
      `SELECT ${OPERATION} FROM criteria_ops WHERE subject = ? AND table_number = ? AND revision > ? ORDER BY revision DESC, position DESC LIMIT ?`,
    )
    .all(subject, table, revision, limit)
    .toReversed()
}

function operationsOfMembers(
  context: TxContext,
  table: number,
  realm: RealmRef,
  span: Span,
  limit: number,
): readonly CriteriaOperation[] {
  const select = context.connection.prepare<CriteriaOperation>(
    `SELECT ${OPERATION} FROM criteria_ops WHERE subject = ? AND table_number = ? AND revision = ? AND position = ?`,
  )
  const found: CriteriaOperation[] = []
  for (const [subject, its, position] of keysOfMembers(context, table, realm, span, limit)) {
    const row = select.get(subject, table, its, position)
    if (row !== null) found.push(row)
  }
  return found
}

/** Revisions after `from` up to `to`. */
interface Span {
  readonly from: number
  readonly to: number
}

type OperationKey = readonly [subject: string, revision: number, position: number]

/**
 * The last `limit` operations of members, in order. Members may have sent very many: those of the newest
 * revisions are looked for first.
 */
function keysOfMembers(
  { connection }: TxContext,
  table: number,
  realm: RealmRef,
  { from, to }: Span,
  limit: number,
): readonly OperationKey[] {
  const select = connection.prepare(
    'SELECT c.subject, c.revision, c.position FROM memberships AS m INDEXED BY memberships_of_realm CROSS JOIN criteria_ops AS c ON c.subject = m.user_id WHERE m.realm = ? AND m.accepted = 1 AND c.table_number = ? AND c.revision > ? AND c.revision >= m.since',
  )
  for (let span = limit; ; span *= 4) {
    const after = Math.max(from, to - span)
    // An owner may have a second membership.
    const found = new Map<string, OperationKey>()
    for (const key of select.values(realm, table, after) as [string, number, number][]) {
      found.set(`${key[1]} ${key[2]}`, key)
    }
    if (after > from && found.size < limit) continue
    return [...found.values()]
      .toSorted((one, other) => one[1] - other[1] || one[2] - other[2])
      .slice(-limit)
  }
}

/** Removes the operations of a user. */
export function removeOperations({ connection, unit }: WriteContext, subject: string): void {
  unit.owed.removeRows(TABLE, (limit) => {
    const key = 'subject, table_number, revision, position'
    const some = `SELECT ${key} FROM criteria_ops WHERE subject = ? LIMIT ?`
    const sql = `DELETE FROM criteria_ops WHERE (${key}) IN (${some})`
    return connection.prepare(sql).run(subject, limit).changes
  })
}

export class CriteriaOperationWrites
  extends CriteriaOperationReads<WriteContext>
  implements CriteriaOperationWriter
{
  put(
    table: number,
    operation: Parameters<CriteriaOperationWriter['put']>[1],
    at: number,
    most: number,
  ) {
    const { connection, unit } = this.context
    unit.owed.payRows(TABLE)
    const { client, subject, email, kind, criteria, change, ts, base } = operation
    const revision = unit.revision()
    unit.operations += 1
    unit.group.newestOperation = revision
    const position = unit.operations
    connection
      .prepare(
        'INSERT INTO criteria_ops (subject, table_number, revision, position, client, email, kind, criteria, change, ts, base, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      )
      .run(subject, table, revision, position, client, email, kind, criteria, change, ts, base, at)
    connection
      .prepare(
        'DELETE FROM criteria_ops WHERE subject = ?1 AND table_number = ?2 AND (revision, position) <= (SELECT revision, position FROM criteria_ops WHERE subject = ?1 AND table_number = ?2 ORDER BY revision DESC, position DESC LIMIT 1 OFFSET ?3)',
      )
      .run(subject, table, most)
    return { revision, position }
  }
}
