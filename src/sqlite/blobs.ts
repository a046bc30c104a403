import type { Blob } from '../domain/blob'
import type { RealmRef } from '../domain/realm'
import type { BlobReader, BlobUsage, BlobWriter } from '../domain/store'
import { erasing } from './erasing'
import type { Scope, WriteScope } from './scope'

const COLUMNS = 'id, hash, size, type, created'
/** The row of the whole database among those of its uploaders. */
const WHOLE = 0

export function blobReader(scope: Scope): BlobReader {
  return {
    find: (id) =>
      scope.connection.prepare<Blob>(`SELECT ${COLUMNS} FROM blobs WHERE id = ?`).get(id) ??
      undefined,
    findFor: (id, uploader, realms) => findFor(scope, id, uploader, realms),
    isUploadedBy: (id, uploader) =>
      scope.connection
        .prepare('SELECT 1 FROM blob_uploads WHERE realm = ? AND blob = ?')
        .get(uploader ?? WHOLE, id) !== null,
    isReferencedOutside: (id, realm) =>
      scope.connection
        .prepare(
          'SELECT 1 WHERE EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1 AND realm < ?2) OR EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1 AND realm > ?2)',
        )
        .get(id, realm ?? WHOLE) !== null,
    usage: (uploader) =>
      scope.connection
        .prepare<BlobUsage>('SELECT bytes, blobs FROM blob_usage WHERE realm = ?')
        .get(uploader ?? WHOLE) ?? { bytes: 0, blobs: 0 },
  }
}

export function blobWriter(scope: WriteScope): BlobWriter {
  return {
    ...blobReader(scope),
    put: (blob, uploader) => put(scope, blob, uploader),
  }
}

function findFor(
  scope: Scope,
  id: string,
  uploader: RealmRef | null,
  realms: ReadonlySet<RealmRef>,
): Blob | undefined {
  const hidden = erasing(scope)
  const isThere = (realm: RealmRef) => !hidden.has(realm)
  const places = `[${[...realms].filter(isThere).join()}]`
  const own = uploader !== null && isThere(uploader) ? uploader : WHOLE
  // By realm of the asker: a blob may be referenced any number of times where they are not.
  const row = scope.connection
    .prepare<Blob>(
      `SELECT ${COLUMNS} FROM blobs WHERE id = ?1 AND (EXISTS (SELECT 1 FROM blob_uploads WHERE realm = ?2 AND blob = ?1) OR EXISTS (SELECT 1 FROM json_each(?3) place CROSS JOIN blob_refs ref WHERE ref.blob = ?1 AND ref.realm = place.value))`,
    )
    .get(id, own, places)
  return row ?? undefined
}

function put(scope: WriteScope, blob: Blob, uploader: RealmRef | null): void {
  const { prepare } = scope.connection
  const { id, hash, size, type, created } = blob
  const { changes } = prepare(
    'INSERT INTO blobs (id, hash, size, type, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  ).run(id, hash, size, type, created)
  if (changes > 0) count(scope, WHOLE, size, 1)
  prepare('DELETE FROM spent_hashes WHERE hash = ?').run(hash)
  prepare(
    'UPDATE blobs SET idle_since = ?2 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1)',
  ).run(id, scope.unit.clock.now())
  if (uploader === null) return
  const added = prepare(
    'INSERT INTO blob_uploads (realm, blob) VALUES (?, ?) ON CONFLICT DO NOTHING',
  ).run(uploader, id)
  if (added.changes > 0) count(scope, uploader, size, 1)
}

function count({ connection }: Scope, realm: RealmRef, bytes: number, blobs: number): void {
  connection
    .prepare(
      'INSERT INTO blob_usage (realm, bytes, blobs) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET bytes = bytes + ?2, blobs = blobs + ?3',
    )
    .run(realm, bytes, blobs)
}
