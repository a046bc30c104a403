import type { Packed } from './archive'
import { type ErrorCode, SatchelError } from '../value/error'
import { JSON_LIMITS, type JsonLimits, parseJson } from '../json/scan'
import { type WireObject, isWireObject, requireWireObject } from '../value/value'
import type { TableSchema } from '../value/schema'
import type { Position } from '../value/position'
import type { Blob } from '../store/blobs'

/** An object of an import file, checked as far as that needs no table. */
export interface ObjectEntry {
  /** Where it stands in the file, for refusals: `line 12`, `"data.rlm-public.cities.x"`. */
  readonly place: string
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
  readonly place: string
  readonly user: string
  readonly data: WireObject | null
}

/** What is told of a blob beside its bytes. */
export interface BlobFacts {
  readonly blob: Blob
  /** The ids of those who brought it. */
  readonly uploaders: readonly string[]
}

/** A blob, and where in its archive the bytes lie. */
export interface BlobEntry extends BlobFacts {
  readonly place: string
  readonly packed: Packed
}

export type Entry = ObjectEntry | UserEntry | BlobEntry

/** What a file says about the database itself; several of them add up. */
export interface Declaration {
  readonly schemas?: ReadonlyMap<string, TableSchema | null>
  readonly idPrefixes?: ReadonlyMap<string, string>
  readonly sealed?: boolean
}

export type Item = Entry | { readonly declaration: Declaration }

/** What refusals call the file. */
export const FILE = 'The file'

/** How much one object, line or section of a file may hold. */
export interface PartLimits extends JsonLimits {
  readonly bytes: number
}

/** What a part may hold unless configured otherwise: four times a body (design.md §6). */
export const PART_LIMITS: PartLimits = { ...JSON_LIMITS, bytes: 64 * 2 ** 20 }

/** The value of an object in a file, or null. Throws `UNPROCESSABLE` naming the place. */
export function requireData(value: unknown, place: string): WireObject | null {
  if (value === null) return null
  if (!isWireObject(value)) throw refuseAt(place, 'an object is expected, or null to delete it')
  return inPlace(place, () => requireWireObject(value, ''))
}

/**
 * Parses JSON of the file that begins at `start`. Throws `INVALID_REQUEST` with line and column, or
 * `UNPROCESSABLE` naming the place when there is too much of it.
 */
export function parsePart(
  text: string,
  start: Position,
  place: string,
  limits: JsonLimits,
  name = FILE,
): unknown {
  try {
    return parseJson(text, limits, { name, start })
  } catch (error) {
    throw error instanceof SatchelError && error.code === 'INVALID_REQUEST'
      ? error
      : namingPlace(error, place)
  }
}

/** Runs a check of what stands at `place`; its refusal names it. */
export function inPlace<T>(place: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    throw namingPlace(error, place)
  }
}

export function refuseAt(
  place: string,
  problem: string,
  code: ErrorCode = 'UNPROCESSABLE',
): SatchelError {
  return new SatchelError(code, `${place}: ${problem}`, { reason: place })
}

function namingPlace(error: unknown, place: string): unknown {
  return error instanceof SatchelError ? refuseAt(place, error.message, error.code) : error
}
