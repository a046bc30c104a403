import type { PackedFile } from './archive'
import type { Blob } from '../store/blobs'
import { type ErrorCode, SatchelError, quoted, unprocessable } from '../value/error'
import { type JsonLimits, parseJson } from '../json/scan'
import { scanInSlices, SLICE } from '../json/slices'
import { stringifyInSlices } from '../json/stringify'
import { jsonOf } from '../value/escape'
import { nextTurn } from '../value/turn'
import type { Position } from '../value/position'
import { type WireObject, getOwn, isRecord, requireWireObject, setOwn } from '../value/value'
import type { TableSchema } from '../value/schema'
import { ROW_RULES } from '../rows/row-rules'
import { type Draft, draftOf } from '../object/draft'
import type { WriteLimits } from '../object/limits'
import { compoundKey } from '../value/key'
import { requirePrivateRealm } from '../object/placement'
import type { Table } from '../store/tables'
import { requireUserId } from '../value/user-id'

/** An object of an import file, checked as far as that needs no table. */
export interface ObjectEntry {
  /** Where it stands in the file, for refusals: `line 12`, `"data.rlm-public.cities.x"`. */
  readonly location: string
  readonly table: string
  /** Null when the object itself says it. */
  readonly realm: string | null
  /** The key as text, a compound one as JSON; null when the object has it or the server makes it. */
  readonly id: string | null
  /** Null deletes. */
  readonly data: WireObject | null
}

/** A demo user; `data` null removes them. */
export interface UserEntry {
  readonly location: string
  readonly user: string
  readonly data: WireObject | null
}

/** The description of a blob beside its bytes. */
export interface BlobFacts {
  readonly blob: Blob
  /** The ids of the users who uploaded it. */
  readonly uploaders: readonly string[]
}

/** A blob, and where in its archive the bytes lie. */
export interface BlobEntry extends BlobFacts {
  readonly location: string
  readonly packed: PackedFile
}

export type Entry = ObjectEntry | UserEntry | BlobEntry

/** The part of a file about the database itself; several of them add up. */
export interface Declaration {
  readonly schemas?: ReadonlyMap<string, TableSchema | null>
  readonly idPrefixes?: ReadonlyMap<string, string>
  readonly sealed?: boolean
}

export type Item = Entry | { readonly declaration: Declaration }

/** The name of the file in refusals. */
export const FILE = 'The file'

/** How much one object, line or section of a file may hold. */
export interface PartLimits extends JsonLimits, Pick<WriteLimits, 'maxEntries'> {
  readonly bytes: number
}

/** The default bytes of a part: four times those of a body (design.md §6). */
export const PART_BYTES = 64 * 2 ** 20

/** The value of an object in a file, or null. Throws `UNPROCESSABLE` naming the location. */
export function requireData(value: unknown, location: string): WireObject | null {
  if (value === null) return null
  if (!isRecord(value)) throw refuseAt(location, 'an object is expected, or null to delete it')
  return atLocation(location, () => requireWireObject(value, ''))
}

/** Longer texts are parsed in slices. */
export const LARGE = 1024 * 1024

/**
 * Parses JSON of the file that begins at `start`; a long text in slices, between which others get a turn.
 * Throws `INVALID_REQUEST` with line and column, or `UNPROCESSABLE` naming the location when there is too
 * much of it.
 */
export function parsePart(
  text: string,
  start: Position,
  location: string,
  limits: JsonLimits,
  name = FILE,
): unknown {
  const source = { name, start }
  const refuse = (error: unknown): never => {
    const isLocated = error instanceof SatchelError && error.code === 'INVALID_REQUEST'
    throw isLocated ? error : namingLocation(error, location)
  }
  if (text.length > LARGE) {
    const scanning = scanInSlices(Buffer.from(text), limits, SLICE, nextTurn, source)
    return scanning.then((json) => json.parse()).catch(refuse)
  }
  try {
    return parseJson(text, limits, source)
  } catch (error) {
    return refuse(error)
  }
}

/** Runs a check of the value at `location`; its refusal names the location. */
export function atLocation<T>(location: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw namingLocation(error, location)
  }
}

export function refuseAt(
  location: string,
  problem: string,
  code: ErrorCode = 'UNPROCESSABLE',
): SatchelError {
  return new SatchelError(code, `${location}: ${problem}`, { reason: location })
}

/** The refusal of the value at `location`, which it names; other errors as they are. */
export function namingLocation(error: unknown, location: string): unknown {
  return error instanceof SatchelError ? refuseAt(location, error.message, error.code) : error
}

/**
 * The draft of an object, its key and realm filled in from where it stood in the file. Throws
 * `UNPROCESSABLE` for what cannot be stored in this table. Changes `data`.
 */
export function draftOfEntry(table: Table, entry: ObjectEntry, data: WireObject): Draft {
  fillIn(table, entry, data)
  return completeDraft(table, entry, draftOf(table, data, undefined))
}

/** `draftOfEntry` for a long object, whose text is made in slices, between which others get a turn. */
export async function draftOfLongEntry(
  table: Table,
  entry: ObjectEntry,
  data: WireObject,
): Promise<Draft> {
  fillIn(table, entry, data)
  return completeDraft(table, entry, draftOf(table, data, undefined, await stringifyInSlices(data)))
}

function fillIn(table: Table, { realm, id }: ObjectEntry, data: WireObject): void {
  requireKnownKey(table)
  const named = getOwn(data, 'realmId')
  if (typeof named === 'string') setOwn(data, 'realmId', realmIdOf(named))
  if (id !== null) fillKey(table, data, id)
  if (realm !== null) fill(data, 'realmId', realmIdOf(realm))
}

function completeDraft(table: Table, entry: ObjectEntry, raw: Draft): Draft {
  const { realm, id } = entry
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
  requirePrivateRealm(table, draft.key ?? '', draft.realmId ?? '')
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

/** Sets an absent property, unless it is nested in another one. */
function fill(data: WireObject, path: string, value: unknown): void {
  const given = getOwn(data, path) ?? undefined
  if (given === undefined && !path.includes('.')) setOwn(data, path, value)
}

function partsOf(table: Table, id: string): (string | number)[] {
  const paths = table.primaryKey ?? []
  const parts = jsonOf(id)
  if (Array.isArray(parts) && parts.length === paths.length && parts.every(isPart)) return parts
  throw unprocessable(
    `The key must be the JSON array of ${paths.map(quoted).join(' and ')}, as a text`,
  )
}

function isPart(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isFinite(value)
}

function requireKnownKey(table: Table): void {
  if (table.primaryKey !== null) return
  throw unprocessable(
    `The primary key of ${quoted(table.name)} is not known yet: push the schema first (satchel schema push)`,
  )
}

function refusal(property: string, problem: string): SatchelError {
  return unprocessable(`${quoted(property)} ${problem}`, property)
}
