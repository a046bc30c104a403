import { SatchelError, quoted } from '../value/error'
import { PUBLIC_REALM } from '../store/realms'
import type { Database } from '../store/store'
import { nextTurn } from '../value/turn'
import { requireSameBytes } from './archive-file'
import {
  type Entry,
  LARGE,
  type ObjectEntry,
  type PartLimits,
  draftOfEntry,
  draftOfLongEntry,
  atLocation,
  keyOfEntry,
  namingLocation,
  realmIdOf,
  refuseAt,
} from './entry'
import type { Draft } from '../object/draft'
import { requireFewEntries } from '../object/limits'
import type { Spool } from './spool'
import type { Table } from '../store/tables'

/** The contents of an import. */
export interface Contents {
  /** Objects to create or replace. */
  readonly objects: number
  /** Objects to delete, where they exist. */
  readonly deleted: number
  readonly demoUsers: number
  readonly blobs: number
}

/**
 * Makes sure that everything in a spool can be stored in these tables: every object with its key,
 * in a realm that exists or comes with the file and with no more index entries than an object may have, every
 * blob under an id that is free or has the same bytes. Throws `UNPROCESSABLE`, `UNKNOWN_TABLE`, `UNKNOWN_REALM` or `CONFLICT` naming the location in
 * the file. `progress` is called with the bytes done.
 */
export async function inspect(
  database: Database,
  spool: Spool,
  tables: ReadonlyMap<string, Table>,
  limits: PartLimits,
  progress: (done: number) => void,
): Promise<Contents> {
  const contents = { objects: 0, deleted: 0, demoUsers: 0, blobs: 0 }
  const realms: RealmCensus = { created: new Set(), removed: new Set(), needed: new Map() }
  for (let offset = 0; offset < spool.size;) {
    const { entries, next } = await readSome(spool, offset)
    await inspectBlobs(database, entries)
    for (const entry of entries) {
      if ('blob' in entry) {
        contents.blobs += 1
        continue
      }
      if ('user' in entry) {
        contents.demoUsers += 1
        continue
      }
      try {
        await inspectEntry(tables, entry, realms, limits, next - offset > LARGE)
      } catch (error) {
        throw namingLocation(error, entry.location)
      }
      if (entry.data === null) contents.deleted += 1
      else contents.objects += 1
    }
    offset = next
    progress(offset)
    await nextTurn()
  }
  await requireRealms(database, realms)
  return contents
}

/** Some entries of the spool, or a long one, which is parsed in slices. */
async function readSome(
  spool: Spool,
  offset: number,
): Promise<{ entries: readonly Entry[]; next: number }> {
  if (!spool.isLonger(offset, LARGE)) return spool.read(offset)
  const { entry, next } = await spool.readLong(offset)
  return { entries: [entry], next }
}

async function inspectBlobs(database: Database, entries: readonly Entry[]): Promise<void> {
  const given = entries.flatMap((entry) => ('blob' in entry ? [entry] : []))
  if (given.length === 0) return
  await database.read((tx) => {
    for (const { location, blob } of given) {
      const known = tx.blobs.find(blob.id)
      if (known !== undefined) atLocation(location, () => requireSameBytes(known, blob))
    }
  })
}

async function inspectEntry(
  tables: ReadonlyMap<string, Table>,
  entry: ObjectEntry,
  realms: RealmCensus,
  limits: PartLimits,
  isLong: boolean,
): Promise<void> {
  const table = requireTable(tables, entry)
  if (entry.data === null) {
    realmIdOf(entry.realm ?? '')
    const key = keyOfEntry(table, entry)
    if (table.name === 'realms') realms.removed.add(key)
    return
  }
  const draft = isLong
    ? await draftOfLongEntry(table, entry, entry.data)
    : draftOfEntry(table, entry, entry.data)
  requireFewEntries(table, draft.object, '', limits)
  countRealm(table, entry, draft, realms)
}

function requireTable(tables: ReadonlyMap<string, Table>, entry: ObjectEntry): Table {
  const table = tables.get(entry.table)
  if (table !== undefined && !table.hidden) return table
  throw new SatchelError(
    'UNKNOWN_TABLE',
    `there is no table ${quoted(entry.table)}: declare it in the "schema" of the file or with satchel schema push`,
  )
}

function countRealm(
  table: Table,
  entry: ObjectEntry,
  { key, realmId = '' }: Draft,
  realms: RealmCensus,
): void {
  if (table.name === 'realms') {
    if (key !== undefined) realms.created.add(key)
  } else if (realmId.startsWith('rlm') && realmId !== PUBLIC_REALM) {
    if (!realms.needed.has(realmId)) realms.needed.set(realmId, entry.location)
  }
}

/** The realm ids of a file, which are few beside its objects. */
interface RealmCensus {
  readonly created: Set<string>
  readonly removed: Set<string>
  /** Realms that objects lie in, each with the place of the first one. */
  readonly needed: Map<string, string>
}

async function requireRealms(database: Database, realms: RealmCensus): Promise<void> {
  for (const [id, location] of realms.needed) {
    if (realms.created.has(id)) continue
    const isThere = !realms.removed.has(id) && (await database.read((tx) => tx.realms.find(id)))
    if (isThere) continue
    throw refuseAt(
      location,
      `there is no realm ${quoted(id)}: create it first, or in the same file`,
      'UNKNOWN_REALM',
    )
  }
}
