import { accessOf } from '../access/access'
import type { Actor } from '../access/actor'
import { putDrafts } from '../object/put'
import { writeRows } from '../object/write'
import { type Writing, writingInView } from '../object/writing'
import type { WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { removeUser } from '../user/removal'
import { requireSameBytes } from './archive-file'
import {
  type BlobEntry,
  type Entry,
  type ObjectEntry,
  type UserEntry,
  draftOfEntry,
  keyOfEntry,
  realmIdOf,
} from './entry'
import { ensureOwnerRows } from '../rows/owner-row'
import { IMPORT_RULES } from '../rows/row-rules'

/** An import may write everything, as on `/all`. */
const IMPORTER: Actor = {
  subject: null,
  email: null,
  name: null,
  scopes: new Set(['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']),
}

/** The file with the bytes of a blob, which are being kept or stored already. */
export type FileOf = (tx: WriteTx, entry: BlobEntry) => string

/**
 * Applies entries that were found good, in their order. `now` in ms. Throws `CONFLICT` for a blob whose id was taken
 * since, and as `fileOf`, which is needed for blobs.
 */
export function applyEntries(
  tx: WriteTx,
  entries: readonly Entry[],
  now: number,
  fileOf: FileOf = requireNone,
): void {
  for (const batch of batchesOf(entries)) {
    if ('users' in batch) applyUsers(tx, batch.users, now)
    else if ('blobs' in batch) applyBlobs(tx, batch.blobs, fileOf)
    else applyObjects(tx, batch, now)
  }
}

function requireNone(): never {
  throw new Error('blobs are applied with their contents')
}

interface ObjectBatch {
  readonly table: string
  readonly isRemoval: boolean
  readonly objects: ObjectEntry[]
}

type Batch = ObjectBatch | { readonly users: UserEntry[] } | { readonly blobs: BlobEntry[] }

/** Entries that follow each other and can be applied together. */
function batchesOf(entries: readonly Entry[]): Batch[] {
  const batches: Batch[] = []
  for (const entry of entries) {
    const last = batches.at(-1)
    if ('blob' in entry) {
      if (last !== undefined && 'blobs' in last) last.blobs.push(entry)
      else batches.push({ blobs: [entry] })
      continue
    }
    if ('user' in entry) {
      if (last !== undefined && 'users' in last) last.users.push(entry)
      else batches.push({ users: [entry] })
      continue
    }
    const { table } = entry
    const isRemoval = entry.data === null
    const isSame = last !== undefined && 'table' in last && last.table === table
    if (isSame && last.isRemoval === isRemoval) last.objects.push(entry)
    else batches.push({ table, isRemoval, objects: [entry] })
  }
  return batches
}

function applyBlobs(tx: WriteTx, entries: readonly BlobEntry[], fileOf: FileOf): void {
  for (const entry of entries) {
    const known = tx.blobs.find(entry.blob.id)
    if (known !== undefined) requireSameBytes(known, entry.blob)
    const blob = { ...(known ?? entry.blob), file: fileOf(tx, entry) }
    if (entry.uploaders.length === 0) tx.blobs.put(blob, null)
    for (const user of entry.uploaders) tx.blobs.put(blob, tx.realms.ensure(user).ref)
  }
}

function applyUsers(tx: WriteTx, entries: readonly UserEntry[], now: number): void {
  for (const { user: id, data: given } of entries) {
    if (given === null) {
      if (tx.users.find(id) !== undefined) removeUser(tx, id, now)
      continue
    }
    const data = Object.keys(given).length === 0 ? null : given
    const known = tx.users.find(id)
    const fresh = {
      created: now,
      lastLogin: null,
      validUntil: null,
      evalUntil: null,
      deactivated: null,
    }
    tx.users.put({ ...fresh, ...known, id, type: 'demo', updated: now, data })
  }
}

function applyObjects(tx: WriteTx, batch: ObjectBatch, now: number): void {
  const table = tx.tables.find(batch.table)
  // A table that was found stays, though it may be hidden by now.
  if (table === undefined) throw new Error(`the table ${batch.table} is gone`)
  const writing = writingOf(tx, table, now)
  if (batch.isRemoval) removeAll(writing, batch.objects)
  else putAll(writing, batch.objects)
}

/** Whether an import of the entry can leave a realm without the row of its owner. */
export function changesOwners(entry: Entry): boolean {
  return 'table' in entry && (entry.table === 'realms' || entry.table === 'members')
}

/**
 * Gives owners of realms their rows once all entries are applied: some of the realms, from `after`
 * on. Resolves to where to go on, undefined at the end. `now` in ms.
 */
export function applyOwners(tx: WriteTx, after: number, now: number): number | undefined {
  const table = tx.tables.find('members')
  return table && ensureOwnerRows(writingOf(tx, table, now), after)
}

/** An import, or a clearing, writes with every right. */
export function writingOf(tx: WriteTx, table: Table, now: number): Writing {
  const request = { actor: IMPORTER, view: 'all', now, rulesByTable: IMPORT_RULES } as const
  return writingInView(tx, request, table, accessOf(tx, IMPORTER))
}

function putAll(writing: Writing, entries: readonly ObjectEntry[]): void {
  const { table } = writing
  const drafts = entries.flatMap((entry) =>
    entry.data === null ? [] : [draftOfEntry(table, entry, entry.data)],
  )
  // A realm may come later in the file than its objects.
  if (table.name !== 'realms') {
    for (const id of new Set(drafts.map(({ realmId }) => realmId))) {
      if (id !== undefined) writing.tx.realms.ensure(id)
    }
  }
  putDrafts(writing, drafts)
}

/** Deletes the objects that exist in the realm that the file names. */
function removeAll(writing: Writing, entries: readonly ObjectEntry[]): void {
  const { tx, table } = writing
  for (const entry of entries) {
    const before = tx.objects.find(table, keyOfEntry(table, entry))
    if (before === undefined) continue
    const realm = tx.realms.findByRef(before.realm)
    if (realm?.id === realmIdOf(entry.realm ?? ''))
      writeRows(writing, [{ before, after: undefined }])
  }
}
