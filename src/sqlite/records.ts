import { eq } from 'drizzle-orm'
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core'
import {
  type clients,
  jobs,
  type keys,
  type origins,
  type providers,
  type settings,
} from './schema'
import type { TxContext, WriteContext } from './context'
import type { RecordWriter, Records } from '../domain/store/records'

type RecordTable =
  | typeof clients
  | typeof jobs
  | typeof keys
  | typeof origins
  | typeof providers
  | typeof settings

/** Records whose columns are the properties of the domain's type, one for one. */
export function recordReader<T extends RecordTable>(
  context: TxContext,
  table: T,
): Records<T['$inferSelect']> {
  // The compiler cannot infer the selection of a query over so many tables.
  type Row = T['$inferSelect']
  return {
    find: (id) =>
      context.connection.orm.select().from(table).where(eq(table.id, id)).get() as Row | undefined,
    list: () => context.connection.orm.select().from(table).orderBy(table.id).all() as Row[],
  }
}

export function recordWriter<T extends RecordTable>(
  context: WriteContext,
  table: T,
): RecordWriter<T['$inferSelect']> {
  return {
    ...recordReader(context, table),
    put(record) {
      context.connection.orm
        .insert(table)
        .values(record)
        .onConflictDoUpdate({ target: table.id, set: record as SQLiteUpdateSetSource<T> })
        .run()
      touch(context, table)
    },
    remove(id) {
      const removed = context.connection.orm
        .delete(table)
        .where(eq(table.id, id))
        .returning({ id: table.id })
        .all()
      if (removed.length > 0) touch(context, table)
      return removed.length > 0
    },
  }
}

/** All of these but jobs are policy, or are remembered under it. */
function touch({ unit }: WriteContext, table: RecordTable): void {
  if (table === jobs) unit.group.flags.jobs = true
  else unit.touchPolicy()
}
