import { type Access, accessOf, mayRead } from '../access/access'
import type { Actor } from '../access/actor'
import type { Writing } from '../object/writing'
import type { RealmRef } from '../store/realms'
import { andThen, type Awaitable } from '../store/records'
import type { CriteriaOperation } from '../store/sync'
import type { Table } from '../store/tables'
import { parseStored, type WireObject } from '../value/value'
import { multiOfIn } from './candidates'
import { type Change, readChangeSpec } from './change'
import { type Criteria, readCriteria, satisfies } from './criteria'
import { type Execution, writingOf } from './execution'
import { isRejection, judgePut, judgeRemoval } from './judge'
import { withoutKey } from './merge'
import { copyOf, mergeInTurns } from './operations'
import type { Row } from './overlay'

/** A kept operation with criteria, ready to be applied. */
interface KeptOperation {
  readonly kept: CriteriaOperation
  readonly criteria: Criteria
  readonly change: readonly Change[]
  readonly actor: Actor
}

/** The kept operations that a transaction may have to replay, each read once: by table and place. */
export type Kept = Map<Table, Map<string, readonly KeptOperation[]>>

/**
 * Rule 7 of merging: the operations with criteria of other clients that came after the base of a row
 * are applied to it, when this transaction has created it or moved it into their criteria: in their
 * order, whatever their times, under the rights of their actors. True when one of them changed it.
 */
export function replay(
  run: Execution,
  row: Row,
  realm: RealmRef | undefined,
  known: Kept,
): Awaitable<boolean> {
  if (row.base === undefined || realm === undefined) return false
  const since = operationsSince(run, row, realm, row.base, known)
  return andThen(since, (operations) =>
    operations.length === 0 ? false : applyAll(run, row, realm, operations),
  )
}

async function applyAll(
  run: Execution,
  row: Row,
  realm: RealmRef,
  operations: readonly KeptOperation[],
): Promise<boolean> {
  const { table, key, before } = row
  const multiOf = multiOfIn(table)
  const earlier: WireObject | undefined = before && parseStored(before.value)
  let isChanged = false
  for (const operation of operations) {
    if (row.state.kind !== 'row') break
    const { criteria } = operation
    if (!satisfies(criteria, row.state.object, key, multiOf)) continue
    // It was there when the operation was executed, which reached it then.
    if (earlier !== undefined && satisfies(criteria, earlier, key, multiOf)) continue
    if (await applyKept(run, row, operation, realm)) isChanged = true
  }
  return isChanged
}

function operationsSince(
  { tx, push }: Execution,
  { table }: Row,
  realm: RealmRef,
  base: number,
  known: Kept,
): Awaitable<readonly KeptOperation[]> {
  const name = `${realm} ${base}`
  const ofTable = known.get(table) ?? new Map<string, readonly KeptOperation[]>()
  known.set(table, ofTable)
  const found = ofTable.get(name)
  if (found !== undefined) return found
  return andThen(tx.criteriaOps.since(table.number, realm, base), (since) => {
    const operations = since
      .filter(({ client }) => client !== push.client.number)
      .map((kept) => ({
        kept,
        criteria: readCriteria(JSON.parse(kept.criteria)),
        change: kept.change === null ? [] : readChangeSpec(parseStored(kept.change)),
        actor: { subject: kept.subject, email: kept.email, name: null, scopes: new Set<never>() },
      }))
    ofTable.set(name, operations)
    return operations
  })
}

async function applyKept(
  run: Execution,
  row: Row,
  { kept, change, actor }: KeptOperation,
  realm: RealmRef,
): Promise<boolean> {
  const { table, state } = row
  if (state.kind !== 'row') return false
  const { revision } = run
  const access: Access = await accessOf(run.tx, actor)
  if (!mayRead(access, table.name, realm, () => row.key)) return false
  const writing: Writing = {
    ...writingOf(run, table),
    actor,
    subject: kept.subject,
    isGlobal: false,
    access,
  }
  const stored = storedAs(row, state.object, realm)
  try {
    if (kept.kind === 'delete') {
      await judgeRemoval(writing, stored)
      row.state = { kind: 'dead', revision, client: kept.client, entered: state.entered }
      return true
    }
    const copy = copyOf(state)
    const changes = withoutKey(table.primaryKey ?? [], change)
    // Nothing is newer than this base, so every path is written.
    const base = Number.MAX_SAFE_INTEGER
    const origin = { ts: kept.ts, base, own: run.written, client: kept.client, revision }
    await mergeInTurns(run, copy, changes, origin)
    await judgePut(writing, { ...row, isTaken: false }, copy.object, stored)
    row.state = copy
    row.isShared = false
    return true
  } catch (error) {
    if (!isRejection(error)) throw error
    return false
  }
}

/** The row as it would be if the transaction ended here. */
function storedAs({ key, before }: Row, object: WireObject, realm: RealmRef) {
  const { owner } = object
  return {
    seq: 0,
    updated: 0,
    stamps: null,
    entered: 0,
    revision: 0,
    ...before,
    key,
    realm,
    owner: typeof owner === 'string' ? owner : null,
    value: JSON.stringify(object),
  }
}
