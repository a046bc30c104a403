import type {
  BlobReader,
  BlobReference,
  BlobState,
  BlobUsage,
  BlobWriter,
  StoredBlob,
} from '../domain/store/blobs'
import { erasing } from './realms'
import type { TxContext, WriteContext } from './context'
import type { Summed } from './soundness'
import { damagedRow, isSound, sumOf, withoutSum } from './summed'
import { knownTables, objectTable } from './tables'
import type { RealmRef } from '../domain/store/realms'

const COLUMNS = 'id, hash, size, type, created, file'
const STATE = `${COLUMNS}, idle_since AS idleSince`

export function blobReader(context: TxContext): BlobReader {
  const prepare = <Row>(sql: string) => context.connection.prepare<Row>(sql)
  return {
    find: (id) =>
      sound(id, prepare<Summed<BlobState>>(`SELECT ${STATE}, sum FROM blobs WHERE id = ?`).get(id)),
    findFor: (id, uploader, realms) => findFor(context, id, uploader, realms),
    isUploadedBy: (id, uploader) => isUploaded(context, id, uploader ?? WHOLE),
    isReferencedOutside: (id, realm) =>
      prepare(
        'SELECT 1 WHERE EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1 AND realm < ?2) OR EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1 AND realm > ?2)',
      ).get(id, realm ?? WHOLE) !== null,
    usage: (uploader) =>
      prepare<BlobUsage>('SELECT bytes, blobs FROM blob_usage WHERE realm = ?').get(
        uploader ?? WHOLE,
      ) ?? { bytes: 0, blobs: 0 },
    list: (after, limit, onlyIdle = false) =>
      prepare<BlobState>(
        `SELECT ${STATE} FROM blobs WHERE id > ? ${onlyIdle ? 'AND +idle_since IS NOT NULL ' : ''}ORDER BY id LIMIT ?`,
      ).all(after, limit),
    byFile: (after, limit) =>
      prepare<StoredBlob>(
        `SELECT ${COLUMNS} FROM blobs WHERE (file, id) > (?, ?) ORDER BY file, id LIMIT ?`,
      ).all(after?.file ?? '', after?.id ?? '', limit),
    idle: (until, limit) =>
      prepare<StoredBlob>(
        `SELECT ${COLUMNS} FROM blobs WHERE idle_since <= ? ORDER BY idle_since LIMIT ?`,
      ).all(until, limit),
    countIdle: (until) =>
      prepare<BlobUsage>(
        'SELECT count(*) AS blobs, ifnull(sum(size), 0) AS bytes FROM blobs WHERE idle_since <= ?',
      ).get(until) ?? { bytes: 0, blobs: 0 },
    references: (id, limit) => references(context, id, limit),
    uploaders: (id) =>
      prepare<{ realm: RealmRef }>('SELECT realm FROM blob_uploads WHERE blob = ? ORDER BY realm')
        .all(id)
        .map(({ realm }) => realm),
    isFileUsed: (file) => prepare('SELECT 1 FROM blobs WHERE file = ?').get(file) !== null,
  }
}

export function blobWriter(context: WriteContext): BlobWriter {
  return {
    ...blobReader(context),
    put: (blob, uploader) => putBlob(context, blob, uploader),
    setFile: (id, file) => setFile(context, id, file),
    remove: (id) => removeBlob(context, id),
  }
}

function findFor(
  context: TxContext,
  id: string,
  uploader: RealmRef | null,
  realms: ReadonlySet<RealmRef>,
): StoredBlob | undefined {
  const hidden = erasing(context)
  const isThere = (realm: RealmRef) => !hidden.has(realm)
  const places = `[${[...realms].filter(isThere).join()}]`
  const own = uploader !== null && isThere(uploader) ? uploader : WHOLE
  if (!isUploaded(context, id, own) && !isReferenced(context, id, places)) return undefined
  const row = context.connection
    .prepare<Summed<StoredBlob>>(`SELECT ${COLUMNS}, sum FROM blobs WHERE id = ?`)
    .get(id)
  return sound(id, row)
}

/** An upload by another user that damage has made one of this user does not count. */
function isUploaded({ connection }: TxContext, blob: string, realm: RealmRef): boolean {
  const row = connection
    .prepare<{ sum: number }>('SELECT sum FROM blob_uploads WHERE realm = ? AND blob = ?')
    .get(realm, blob)
  return row !== null && isSound('blob_uploads', { realm, blob, sum: row.sum })
}

/** By the realms of the caller, in JSON: others may reference the blob any number of times. */
function isReferenced({ connection }: TxContext, id: string, realms: string): boolean {
  const found = connection
    .prepare(
      'SELECT 1 FROM json_each(?2) place CROSS JOIN blob_refs ref WHERE ref.blob = ?1 AND ref.realm = place.value LIMIT 1',
    )
    .get(id, realms)
  return found !== null
}

/** The row that was found by this id, without its sum. Throws `DAMAGED`. */
function sound<Row extends StoredBlob>(id: string, row: Summed<Row> | null) {
  if (row === null) return undefined
  if (row.id !== id || !isSound('blobs', row)) throw damagedRow('blobs')
  return withoutSum(row)
}

function references(context: TxContext, id: string, limit: number): BlobReference[] {
  const { prepare } = context.connection
  const names = new Map(
    [...knownTables(context).values()].map(({ number, name }) => [number, name]),
  )
  const hidden = erasing(context)
  const found: BlobReference[] = []
  const rows = prepare<{ realm: RealmRef; seq: number; number: number }>(
    'SELECT realm, seq, table_number AS number FROM blob_refs WHERE blob = ?',
  )
  for (const { realm, seq, number } of rows.iterate(id)) {
    if (hidden.has(realm)) continue
    if (found.length === limit) break
    const object = prepare<{ key: string }>(
      `SELECT key FROM ${objectTable(number)} WHERE seq = ?`,
    ).get(seq)
    found.push({ table: names.get(number) ?? '', realm, key: object?.key ?? '' })
  }
  return found
}

/** The row of the whole database among those of its uploaders; no realm has this number. */
const WHOLE: RealmRef = 0

/** Adds a blob that may exist already, and another uploader of it. */
function putBlob(context: WriteContext, blob: StoredBlob, uploader: RealmRef | null): void {
  const { prepare } = context.connection
  const { id, hash, size, type, created, file } = blob
  const now = context.unit.clock.now()
  const { changes } = prepare(
    `INSERT INTO blobs (id, hash, size, type, created, file, sum, idle_since)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CASE WHEN ${IS_REFERENCED} THEN NULL ELSE ?8 END) ON CONFLICT DO NOTHING`,
  ).run(id, hash, size, type, created, file, sumOf('blobs', { ...blob }), now)
  if (changes > 0) count(context, WHOLE, size, 1)
  else {
    setFile(context, id, file)
    prepare('UPDATE blobs SET is_left = 0 WHERE id = ? AND is_left = 1').run(id)
    prepare(`UPDATE blobs SET idle_since = ?2 WHERE id = ?1 AND NOT ${IS_REFERENCED}`).run(id, now)
  }
  if (uploader === null) return
  const added = prepare(
    'INSERT INTO blob_uploads (realm, blob, sum) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
  ).run(uploader, id, sumOf('blob_uploads', { realm: uploader, blob: id }))
  if (added.changes > 0) count(context, uploader, size, 1)
}

const IS_REFERENCED = 'EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1)'

function setFile(context: WriteContext, id: string, file: string): void {
  const { prepare } = context.connection
  const row = prepare<Summed<StoredBlob>>(`SELECT ${COLUMNS}, sum FROM blobs WHERE id = ?`).get(id)
  const known = sound(id, row)
  if (known === undefined || known.file === file) return
  const sum = sumOf('blobs', { ...known, file })
  prepare('UPDATE blobs SET file = ?, sum = ? WHERE id = ?').run(file, sum, id)
  leave(context, known.file)
}

/** Removes a blob and its uploaders. */
function removeBlob(context: WriteContext, id: string): void {
  const { prepare } = context.connection
  const row = prepare<Pick<StoredBlob, 'size' | 'file'>>(
    'DELETE FROM blobs WHERE id = ? RETURNING size, file',
  ).get(id)
  if (row === null) return
  count(context, WHOLE, -row.size, -1)
  const uploads = prepare<{ realm: RealmRef }>(
    'DELETE FROM blob_uploads WHERE blob = ? RETURNING realm',
  ).all(id)
  for (const { realm } of uploads) count(context, realm, -row.size, -1)
  leave(context, row.file)
}

function leave({ unit }: WriteContext, file: string): void {
  unit.group.leftFiles.push(file)
}

/**
 * Removes up to `limit` uploads of a user who is being erased; returns their number. Blobs without
 * another uploader are removed at once, or with the last reference to them.
 */
export function eraseUploads(context: WriteContext, realm: RealmRef, limit: number): number {
  const { prepare } = context.connection
  const uploads = prepare<{ blob: string }>(
    'SELECT blob FROM blob_uploads WHERE realm = ? LIMIT ?',
  ).all(realm, limit)
  for (const { blob } of uploads) {
    prepare('DELETE FROM blob_uploads WHERE realm = ? AND blob = ?').run(realm, blob)
    prepare(
      'UPDATE blobs SET is_left = 1 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM blob_uploads WHERE blob = ?1)',
    ).run(blob)
    removeIfLeft(context, blob)
  }
  if (uploads.length === 0) prepare('DELETE FROM blob_usage WHERE realm = ?').run(realm)
  return uploads.length
}

/** Removes a blob without uploaders and references. */
export function removeIfLeft(context: WriteContext, id: string): void {
  const row = context.connection
    .prepare('SELECT 1 FROM blobs WHERE id = ? AND is_left = 1 AND idle_since IS NOT NULL')
    .get(id)
  if (row !== null) removeBlob(context, id)
}

function count({ connection }: TxContext, realm: RealmRef, bytes: number, blobs: number): void {
  connection
    .prepare(
      'INSERT INTO blob_usage (realm, bytes, blobs) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET bytes = bytes + ?2, blobs = blobs + ?3',
    )
    .run(realm, bytes, blobs)
}

/** Where an object is, and which blobs it references from there. */
interface References {
  readonly realm: RealmRef
  readonly blobs: readonly string[]
}

/** Records the references of the object at `seq`, instead of those `before`. */
export function putRefs(
  context: WriteContext,
  table: number,
  seq: number,
  { realm, blobs }: References,
  before?: References,
): void {
  if (blobs.length === 0 && (before === undefined || before.blobs.length === 0)) return
  const wasThere = before?.realm === realm ? new Set(before.blobs) : undefined
  for (const blob of blobs) if (wasThere?.has(blob) !== true) add(context, table, seq, realm, blob)
  if (before === undefined) return
  const isThere = wasThere === undefined ? undefined : new Set(blobs)
  const gone = before.blobs.filter((blob) => isThere?.has(blob) !== true)
  removeRefs(context, seq, { realm: before.realm, blobs: gone })
}

/** Removes the references of the object at `seq`. */
export function removeRefs(context: WriteContext, seq: number, { realm, blobs }: References): void {
  for (const blob of blobs) {
    context.connection
      .prepare('DELETE FROM blob_refs WHERE blob = ? AND realm = ? AND seq = ?')
      .run(blob, realm, seq)
    noteIdle(context, blob)
  }
}

/** The grace period of a blob starts when its last reference is removed. */
function noteIdle({ connection, unit }: WriteContext, blob: string): void {
  connection
    .prepare(
      'UPDATE blobs SET idle_since = ?2 WHERE id = ?1 AND idle_since IS NULL AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1)',
    )
    .run(blob, unit.clock.now())
}

function add(context: TxContext, table: number, seq: number, realm: RealmRef, blob: string): void {
  const { prepare } = context.connection
  prepare(
    'INSERT INTO blob_refs (blob, realm, seq, table_number) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  ).run(blob, realm, seq, table)
  prepare('UPDATE blobs SET idle_since = NULL WHERE id = ? AND idle_since IS NOT NULL').run(blob)
}
