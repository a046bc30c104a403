import type {
  BlobReader,
  BlobReference,
  BlobState,
  BlobUsage,
  BlobWriter,
  Blob,
} from '../domain/store/blobs'
import { erasing } from './realms'
import type { TxContext, WriteContext } from './context'
import type { Summed } from './soundness'
import { damagedRow, isSound, sumOf, withoutSum } from './summed'
import { knownTables, objectTable } from './tables'
import type { RealmRef } from '../domain/store/realms'

const COLUMNS = 'id, hash, size, type, created'
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
    byContent: (after, limit) =>
      prepare<Blob>(
        `SELECT ${COLUMNS} FROM blobs WHERE (hash, id) > (?, ?) ORDER BY hash, id LIMIT ?`,
      ).all(after?.hash ?? '', after?.id ?? '', limit),
    idle: (until, limit) =>
      prepare<Blob>(
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
    placeOf: (hash) => placeOf(context, hash),
    isPlaceUsed: (place) => prepare('SELECT 1 FROM blobs WHERE place = ?').get(place) !== null,
    spentPlaces: (after, limit) =>
      prepare<{ place: string }>(
        'SELECT place FROM spent_places WHERE place > ? ORDER BY place LIMIT ?',
      )
        .all(after, limit)
        .map(({ place }) => place),
  }
}

export function blobWriter(context: WriteContext): BlobWriter {
  return {
    ...blobReader(context),
    put: (blob, uploader) => putBlob(context, blob, uploader),
    remove: (id) => removeBlob(context, id),
    placeContent: (hash, place) => placeContent(context, hash, place),
    removeSpentPlace: (place) =>
      void context.connection.prepare('DELETE FROM spent_places WHERE place = ?').run(place),
  }
}

function findFor(
  context: TxContext,
  id: string,
  uploader: RealmRef | null,
  realms: ReadonlySet<RealmRef>,
): Blob | undefined {
  const hidden = erasing(context)
  const isThere = (realm: RealmRef) => !hidden.has(realm)
  const places = `[${[...realms].filter(isThere).join()}]`
  const own = uploader !== null && isThere(uploader) ? uploader : WHOLE
  if (!isUploaded(context, id, own) && !isReferenced(context, id, places)) return undefined
  const row = context.connection
    .prepare<Summed<Blob>>(`SELECT ${COLUMNS}, sum FROM blobs WHERE id = ?`)
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
function sound<Row extends Blob>(id: string, row: Summed<Row> | null) {
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
export const WHOLE: RealmRef = 0

/** Adds a blob that may exist already, and another uploader of it. */
export function putBlob(context: WriteContext, blob: Blob, uploader: RealmRef | null): void {
  const { prepare } = context.connection
  const { id, hash, size, type, created } = blob
  const now = context.unit.clock.now()
  const { changes } = prepare(
    `INSERT INTO blobs (id, hash, size, type, created, sum, place_sum, idle_since)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CASE WHEN ${IS_REFERENCED} THEN NULL ELSE ?8 END) ON CONFLICT DO NOTHING`,
  ).run(id, hash, size, type, created, sumOf('blobs', blob), sumOfPlace(hash, null), now)
  if (changes > 0) {
    count(context, WHOLE, size, 1)
    takePlace(context, hash, id)
  } else {
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

/** Removes a blob and its uploaders; with the last blob of a content its place becomes spent. */
export function removeBlob(context: WriteContext, id: string): void {
  const { prepare } = context.connection
  const row = prepare<PlaceRow & Pick<Blob, 'size'>>(
    'DELETE FROM blobs WHERE id = ? RETURNING id, hash, size, place, place_sum AS sum',
  ).get(id)
  if (row === null) return
  count(context, WHOLE, -row.size, -1)
  const uploads = prepare<{ realm: RealmRef }>(
    'DELETE FROM blob_uploads WHERE blob = ? RETURNING realm',
  ).all(id)
  for (const { realm } of uploads) count(context, realm, -row.size, -1)
  if (row.place === null) return
  const [first] = firstOf(context, row.hash)
  if (first !== undefined) setPlace(context, first.id, row.place, row.sum)
  else if (isSound('blob_places', row)) spend(context, row.place)
  else giveBack(context, row.place, row.sum)
}

/** Moves a place to the blobs whose content it had: the row that it was recorded with has a damaged hash. */
function giveBack(context: WriteContext, place: string, sum: number): void {
  const rows = context.connection.prepare<Pick<Blob, 'id' | 'hash'>>(
    'SELECT min(id) AS id, hash FROM blobs GROUP BY hash HAVING count(place) = 0',
  )
  for (const { id, hash } of rows.iterate()) {
    if (sumOfPlace(hash, place) === sum) return setPlace(context, id, place, sum)
  }
}

/** A blob with its place, and the sum of both hash and place. */
type PlaceRow = Summed<Pick<Blob, 'id' | 'hash'> & { readonly place: string | null }>

/** Throws `DAMAGED`. */
function placeOf(context: TxContext, hash: string): string | undefined {
  const [first] = firstOf(context, hash)
  if (first !== undefined && !isSound('blob_places', first)) throw damagedRow('blob_places')
  return first?.place ?? undefined
}

/** Records where a content is; its former place, whose bytes may be damaged, becomes spent. */
function placeContent(context: WriteContext, hash: string, place: string): void {
  const [first] = firstOf(context, hash)
  if (first === undefined) return spend(context, place)
  if (first.place === place && isSound('blob_places', first)) return
  setPlace(context, first.id, place, sumOfPlace(hash, place))
  if (first.place !== place) spendPlaceOf(context, first)
}

/** Moves the place of a content to this new blob, if it has become the first one with the content. */
function takePlace(context: WriteContext, hash: string, id: string): void {
  const [first, second] = firstOf(context, hash)
  if (first?.id !== id || second === undefined || second.place === null) return
  setPlace(context, second.id, null, sumOfPlace(hash, null))
  setPlace(context, id, second.place, second.sum)
}

/** The first two blobs with a content. */
function firstOf({ connection }: TxContext, hash: string): PlaceRow[] {
  return connection
    .prepare<PlaceRow>(
      'SELECT id, hash, place, place_sum AS sum FROM blobs WHERE hash = ? ORDER BY id LIMIT 2',
    )
    .all(hash)
}

/** `sum`: of the hash and the place; that of a damaged place remains wrong when it moves. */
function setPlace(context: WriteContext, id: string, place: string | null, sum: number): void {
  context.connection
    .prepare('UPDATE blobs SET place = ?2, place_sum = ?3 WHERE id = ?1')
    .run(id, place, sum)
}

function sumOfPlace(hash: string, place: string | null): number {
  return sumOf('blob_places', { hash, place })
}

/** A damaged place may be that of another content: its bytes stay. */
function spendPlaceOf(context: WriteContext, row: PlaceRow): void {
  if (row.place !== null && isSound('blob_places', row)) spend(context, row.place)
}

function spend(context: WriteContext, place: string): void {
  context.connection.prepare('INSERT INTO spent_places (place) VALUES (?)').run(place)
  context.unit.group.flags.contentSpent = true
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
export interface References {
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
