import type {
  ChangePosition,
  ChunkSize,
  ObjectReader,
  ObjectText,
  Page,
  PageQuery,
  StoredObject,
} from '../domain/store/objects'
import { note, noteRealm } from './memo'
import { erasing } from './realms'
import { page } from './pages'
import { byKey, find, findText, findTimed, findTombstone } from './object-finder'
import { objectTable } from './tables'
import { changes } from './changes'
import { contents, contentsTogether } from './contents'
import type { TxContext } from './context'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'

/** A class: every request makes one of these, and methods of a prototype cost nothing then. */
export class ObjectReads<Context extends TxContext = TxContext> implements ObjectReader {
  constructor(protected readonly context: Context) {}

  findText(table: Table, key: string, realms?: ReadonlySet<RealmRef>): ObjectText | undefined {
    return findText(this.context, table, key, realms)
  }

  find(table: Table, key: string): StoredObject | undefined {
    return find(this.context, table, key)
  }

  findMany(table: Table, keys: readonly string[]) {
    return byKey(keys, (key) => findTimed(this.context, table, key))
  }

  findTombstone(table: Table, key: string, isIncluded?: (realm: RealmRef) => boolean) {
    noteRows(this.context, table)
    return findTombstone(this.context, table, key, isIncluded)
  }

  page(table: Table, query: PageQuery): Page {
    noteRows(this.context, table)
    return page(this.context, table, query)
  }

  realmsMoved(
    realms: ReadonlySet<RealmRef>,
    after: number,
    upTo: number,
    except: ReadonlySet<number>,
  ) {
    const { committed } = this.context
    return committed.heads.movedBesides(realms, after, upTo, except)
  }

  changes(
    realms: ReadonlySet<RealmRef>,
    after: number | ChangePosition,
    upTo: number,
    size: ChunkSize,
    tables?: ReadonlySet<string>,
  ) {
    return changes(this.context, realms, after, upTo, size, tables)
  }

  contents(
    table: Table,
    realm: RealmRef,
    after: number | ChangePosition,
    upTo: number,
    size: ChunkSize,
  ) {
    noteRows(this.context, table)
    return contents(this.context, table, realm, after, upTo, size)
  }

  contentsTogether(table: Table, realms: readonly RealmRef[], upTo: number, size: ChunkSize) {
    noteRows(this.context, table)
    return contentsTogether(this.context, table, realms, upTo, size)
  }

  realmsWith(table: Table, realms: ReadonlySet<RealmRef>) {
    return realmsWith(this.context, table, realms)
  }

  count(table: Table, most: number) {
    noteRows(this.context, table)
    return count(this.context, table, most)
  }
}

function noteRows(context: TxContext, { name, builtIn }: Table): void {
  if (builtIn) note(context, 'rows', name)
}

function realmsWith(
  context: TxContext,
  table: Table,
  realms: ReadonlySet<RealmRef>,
): ReadonlySet<RealmRef> {
  if (table.name === 'roles') for (const realm of realms) noteRealm(context, realm)
  else noteRows(context, table)
  const name = objectTable(table.number)
  const rows = context.connection
    .prepare(
      `SELECT wanted.value FROM json_each(?) AS wanted WHERE EXISTS (SELECT 1 FROM ${name} INDEXED BY ${name}_realm WHERE realm = wanted.value)`,
    )
    .values(JSON.stringify([...realms])) as [number][]
  const hidden = erasing(context)
  return new Set(rows.flatMap(([realm]) => (hidden.has(realm) ? [] : [realm])))
}

/** Visits no row of a realm that is being erased. */
function count(context: TxContext, table: Table, most: number): number {
  const name = objectTable(table.number)
  const between = context.connection.prepare<{ total: number }>(
    `SELECT count(*) AS total FROM (SELECT 1 FROM ${name} INDEXED BY ${name}_realm WHERE realm > ? AND realm < ? LIMIT ?)`,
  )
  const ends = [...erasing(context), Number.MAX_SAFE_INTEGER].toSorted((one, other) => one - other)
  let total = 0
  for (const [at, end] of ends.entries()) {
    total += between.get(ends[at - 1] ?? 0, end, most - total)?.total ?? 0
  }
  return total
}
