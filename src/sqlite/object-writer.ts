import type {
  IndexEntry,
  ObjectPut,
  ObjectRemoval,
  ObjectWriter,
  PageQuery,
  Traces,
} from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { removeRefs } from './blobs'
import type { WriteContext } from './context'
import { dropEntries, payEntries, putEntries, removeEntries, sweep } from './entries'
import { erase } from './erasure'
import { fact } from './memo'
import { findTimed } from './object-finder'
import { insert, insertRows, ROWS_PER_STATEMENT, update, writeTombstone } from './object-rows'
import { ObjectReads } from './objects'
import { objectTable } from './tables'
import type { RowEntries } from './owed'
import type { Unit } from './unit'

export class ObjectWrites extends ObjectReads<WriteContext> implements ObjectWriter {
  override find(table: Table, key: string, realms?: ReadonlySet<RealmRef>) {
    return findTimed(this.context, table, key, realms)
  }

  override page(table: Table, query: PageQuery) {
    payEntries(this.context)
    return super.page(table, query)
  }

  put(table: Table, puts: readonly ObjectPut[], now: number) {
    const { context } = this
    const { unit } = context
    for (const { key, realm, previous } of table.builtIn ? puts : []) {
      touchRow(unit, table, key, [realm, previous?.realm ?? realm])
    }
    const removed: RowEntries[] = []
    const added: RowEntries[] = []
    const write = (put: ObjectPut) => {
      const { previous, previousTraces, entries } = put
      const seq = previous?.seq ?? insert(context, unit, table, put, now)
      if (previous !== undefined) {
        update(context, unit, table, put, previous, now)
        if (previousTraces !== undefined && !isNone(previousTraces.entries)) {
          removed.push({ seq, entries: previousTraces.entries })
        }
      }
      if (!isNone(entries)) added.push({ seq, entries })
    }
    for (let at = 0; at < puts.length;) {
      const fresh = newFrom(puts, at)
      const first = unit.group.counters.nextSeq
      const count = fresh.length > 1 ? insertRows(context, unit, table, fresh, now) : 0
      for (let nth = 0; nth < count; nth += 1) {
        const { entries } = fresh[nth]!
        if (!isNone(entries)) added.push({ seq: first + nth, entries })
      }
      at += count
      if (count > 0 && count === fresh.length) continue
      write(puts[at]!)
      at += 1
    }
    // In this order, because an entry of both is there afterwards.
    if (removed.length > 0) removeEntries(context, removed)
    if (added.length > 0) putEntries(context, added)
  }

  insert(table: Table, puts: readonly ObjectPut[], now: number) {
    const { context } = this
    const { unit } = context
    const first = unit.group.counters.nextSeq
    const count = insertRows(context, unit, table, puts, now)
    const added: RowEntries[] = []
    for (let at = 0; at < count; at += 1) {
      const { key, realm, entries } = puts[at]!
      if (table.builtIn) touchRow(unit, table, key, [realm])
      if (!isNone(entries)) added.push({ seq: first + at, entries })
    }
    if (added.length > 0) putEntries(context, added)
    return count
  }

  remove(table: Table, removals: readonly ObjectRemoval[], now: number) {
    const { context } = this
    const { unit } = context
    for (const { previous } of table.builtIn ? removals : []) {
      touchRow(unit, table, previous.key, [previous.realm])
    }
    for (const { previous, born, entries, blobs } of removals) {
      const ended = born === undefined ? previous : { ...previous, entered: born }
      writeTombstone(context, unit, table, ended, now)
      context.connection
        .prepare(`DELETE FROM ${objectTable(table.number)} WHERE seq = ?`)
        .run(previous.seq)
      if (!table.builtIn) unit.group.counters.objects -= 1
      if (previous.isDamaged === true) sweep(context, table, previous.seq)
      removeRefs(context, previous.seq, { realm: previous.realm, blobs })
      if (!isNone(entries)) removeEntries(context, [{ seq: previous.seq, entries }])
    }
  }

  addEntries(rows: readonly RowEntries[]) {
    putEntries(this.context, rows)
  }

  dropEntries(limit: number) {
    return dropEntries(this.context, limit)
  }

  erase(realm: RealmRef, limit: number, tracesOf: (table: Table, value: string) => Traces) {
    return erase(this.context, realm, limit, tracesOf)
  }
}

/** The new objects that come next, as many as one statement writes. */
function newFrom(puts: readonly ObjectPut[], start: number): readonly ObjectPut[] {
  let end = start
  while (end < start + ROWS_PER_STATEMENT && end < puts.length && puts[end]!.previous === undefined)
    end += 1
  return end === start ? NONE : puts.slice(start, end)
}

const NONE: readonly never[] = []

/** Most objects are in no index: nothing is made for each of them. */
function isNone(entries: Iterable<IndexEntry>): boolean {
  return Array.isArray(entries) && entries.length === 0
}

/** A change of a row that values may have been loaded from. */
function touchRow(unit: Unit, { name }: Table, key: string, realms: readonly RealmRef[]): void {
  unit.touchPolicy(
    [fact('row', `${name} ${key}`), fact('rows', name)],
    name === 'roles' ? realms : [],
  )
}
