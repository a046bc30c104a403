/**
 * Who may read which blob, said again from the papers (`design.md` §5.9 and §6 "re-upload",
 * `protocol.md` §8) on top of the oracle of rows, without a line of the code it judges. Everything
 * is looked up anew each time.
 */
import { isRecord } from './oracle-permission'
import {
  findRow,
  isLive,
  type Person,
  PUBLIC,
  realmOf,
  type Row,
  seesRealm,
  type Value,
  type World,
} from './oracle-world'

export const GRACE = 24 * 3_600_000

export interface KnownBlob {
  readonly id: string
  readonly text: string
  readonly type: string
  readonly uploaders: readonly string[]
  /** Since when no row references it, ms; null while one does. */
  readonly idleSince: number | null
}

export interface BlobWorld {
  readonly world: World
  readonly blobs: readonly KnownBlob[]
  /** Rows of deleted realms whose erasure is not done: they keep blobs, but give no access to them. */
  readonly limbo: readonly Row[]
  /** ms */
  readonly now: number
}

export const findBlob = (state: BlobWorld, id: string): KnownBlob | undefined =>
  state.blobs.find((blob) => blob.id === id)

/** The blobs that a value names, at any depth: string `_bt`, string `ref`, no `v`. */
export const namedIn = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.flatMap(namedIn)
  if (!isRecord(value)) return []
  const { _bt: type, ref, v } = value
  const isRef = typeof type === 'string' && typeof ref === 'string' && v === undefined
  const own = isRef && ref.startsWith('1:') ? [ref.slice(2)] : []
  return [...own, ...Object.values(value).flatMap(namedIn)]
}

const rowsThatName = (rows: readonly Row[], id: string): readonly Row[] =>
  rows.filter((row) => namedIn(row.value).includes(id))

/** Null is an anonymous caller. */
export const mayRead = (state: BlobWorld, person: Person | null, id: string): boolean => {
  const blob = findBlob(state, id)
  if (blob === undefined) return false
  if (person !== null && blob.uploaders.includes(person.id)) return true
  return rowsThatName(state.world.rows, id).some((row) =>
    person === null ? realmOf(row) === PUBLIC : seesRealm(state.world, person.id, realmOf(row)),
  )
}

/** The blobs that a row gets to name and that this writer may not read: it must not be stored. */
export const forbiddenIn = (
  state: BlobWorld,
  person: Person,
  old: Value | undefined,
  next: Value,
): string[] => {
  const had = namedIn(old)
  return namedIn(next).filter((id) => !had.includes(id) && !mayRead(state, person, id))
}

export type UploadVerdict = 'stored' | 'conflict' | 'either'

/** The result of an upload by a caller with or without `GLOBAL_WRITE`. */
export const judgeUpload = (
  state: BlobWorld,
  person: Person,
  { id, text, type }: Pick<KnownBlob, 'id' | 'text' | 'type'>,
  isGlobal: boolean,
): UploadVerdict => {
  const known = findBlob(state, id)
  if (known !== undefined) {
    if (known.text !== text) return 'conflict'
    return known.type === type || isGlobal || mayRead(state, person, id) ? 'stored' : 'conflict'
  }
  if (isGlobal) return 'stored'
  const elsewhere = (row: Row) => realmOf(row) !== person.id
  if (rowsThatName(state.world.rows, id).some(elsewhere)) return 'conflict'
  // Blobs that wait for their erasure may still count or not.
  return rowsThatName(state.limbo, id).some(elsewhere) ? 'either' : 'stored'
}

export const uploaded = (
  state: BlobWorld,
  person: Person,
  { id, text, type }: Pick<KnownBlob, 'id' | 'text' | 'type'>,
): BlobWorld => {
  const known = findBlob(state, id)
  const uploaders = [...new Set([...(known?.uploaders ?? []), person.id])]
  const blob = { id, text, type: known?.type ?? type, uploaders, idleSince: state.now }
  return settle({ ...state, blobs: [...state.blobs.filter((other) => other !== known), blob] })
}

/** The world after a write: the contents of deleted realms wait for their erasure. */
export const written = (state: BlobWorld, next: World): BlobWorld => {
  const dead = state.world.rows.filter(
    (row) => isLive(state.world, realmOf(row)) && !isLive(next, realmOf(row)),
  )
  return settle({ ...state, world: next, limbo: [...state.limbo, ...dead] })
}

export const erased = (state: BlobWorld): BlobWorld => settle({ ...state, limbo: [] })

export const collected = (state: BlobWorld): BlobWorld => ({
  ...state,
  blobs: state.blobs.filter(({ idleSince }) => idleSince === null || idleSince > state.now - GRACE),
})

/** Notes from when on nothing references a blob. */
const settle = (state: BlobWorld): BlobWorld => ({
  ...state,
  blobs: state.blobs.map((blob) => {
    const isNamed = rowsThatName([...state.world.rows, ...state.limbo], blob.id).length > 0
    return { ...blob, idleSince: isNamed ? null : (blob.idleSince ?? state.now) }
  }),
})

/** The row of the next world that an object of a request became, with the one it replaces. */
export const changedRows = (before: World, after: World): { old?: Row; row: Row }[] =>
  after.rows
    .filter((row) => !before.rows.includes(row))
    .map((row) => {
      const old = findRow(before, row.table, row.key)
      return old === undefined ? { row } : { old, row }
    })
