import { ROW_RULES } from '../rows/row-rules'
import { SatchelError, quoted } from '../value/error'
import { type Draft, draftOf } from '../object/draft'
import { compoundKey } from '../value/key'
import { requirePrivatePlace } from '../object/placement'
import { type WireObject, getOwn, setOwn } from '../value/value'
import { requireUserId } from '../value/user-id'
import type { ObjectEntry } from './entry'
import type { Table } from '../store/tables'

/**
 * The draft of an object, its key and realm filled in from where it stood in the file. Throws
 * `UNPROCESSABLE` for what cannot be stored in this table. Changes `data`.
 */
export function draftOfEntry(table: Table, entry: ObjectEntry, data: WireObject): Draft {
  requireKnownKey(table)
  const { realm, id } = entry
  const named = getOwn(data, 'realmId')
  if (typeof named === 'string') setOwn(data, 'realmId', realmIdOf(named))
  if (id !== null) fillKey(table, data, id)
  if (realm !== null) fill(data, 'realmId', realmIdOf(realm))
  const raw = draftOf(table, data, undefined)
  const draft = ROW_RULES.get(table.name)?.complete(raw) ?? raw
  if (id !== null && draft.key !== keyOfEntry(table, entry)) {
    throw refusal(table.primaryKey?.join('+') ?? '', 'is not the key that the file has it under')
  }
  if (realm !== null && draft.realmId !== undefined && draft.realmId !== realmIdOf(realm)) {
    throw refusal('realmId', 'is not the realm that the file has it under')
  }
  if (draft.realmId === undefined && table.name !== 'realms') {
    throw refusal('realmId', 'is missing: name it in every object, or one for all with --realm')
  }
  requirePrivatePlace(table, draft.key ?? '', draft.realmId ?? '')
  return draft
}

/** The stored key of an object that is to be deleted. Throws `UNPROCESSABLE`. */
export function keyOfEntry(table: Table, { id }: ObjectEntry): string {
  requireKnownKey(table)
  return table.compound ? compoundKey(partsOf(table, id ?? '')) : (id ?? '')
}

/**
 * A realm id as it is stored: that of a private realm is a user id (design.md §4). Throws
 * `UNPROCESSABLE`.
 */
export function realmIdOf(text: string): string {
  return text.startsWith('rlm') ? text : requireUserId(text)
}

function fillKey(table: Table, data: WireObject, id: string): void {
  const paths = table.primaryKey ?? []
  const parts = table.compound ? partsOf(table, id) : [id]
  for (const [position, path] of paths.entries()) fill(data, path, parts[position])
}

/** Sets a property that is absent, unless it lies inside another one. */
function fill(data: WireObject, path: string, value: unknown): void {
  const given = getOwn(data, path) ?? undefined
  if (given === undefined && !path.includes('.')) setOwn(data, path, value)
}

function partsOf(table: Table, id: string): (string | number)[] {
  const paths = table.primaryKey ?? []
  try {
    const parts: unknown = JSON.parse(id)
    if (Array.isArray(parts) && parts.length === paths.length && parts.every(isPart)) return parts
  } catch {
    // Refused like any other text that is no such array.
  }
  throw new SatchelError(
    'UNPROCESSABLE',
    `The key must be the JSON array of ${paths.map(quoted).join(' and ')}, as a text`,
  )
}

function isPart(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isFinite(value)
}

function requireKnownKey(table: Table): void {
  if (table.primaryKey !== null) return
  throw new SatchelError(
    'UNPROCESSABLE',
    `The primary key of ${quoted(table.name)} is not known yet: push the schema first (satchel schema push)`,
  )
}

function refusal(property: string, problem: string): SatchelError {
  return new SatchelError('UNPROCESSABLE', `${quoted(property)} ${problem}`, { reason: property })
}
