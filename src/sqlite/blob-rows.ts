import type { Blob } from '../domain/value/blob'
import type { RealmRef } from '../domain/store/realm'
import type { Scope, WriteScope } from './scope'

/** The row of the whole database among those of its uploaders; no realm has this number. */
export const WHOLE: RealmRef = 0

/** Notes a blob that may be there, and one more who brought it. */
export function putBlob(scope: WriteScope, blob: Blob, uploader: RealmRef | null): void {
  const { prepare } = scope.connection
  const { id, hash, size, type, created } = blob
  const { changes } = prepare(
    'INSERT INTO blobs (id, hash, size, type, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
  ).run(id, hash, size, type, created)
  if (changes > 0) count(scope, WHOLE, size, 1)
  prepare('DELETE FROM spent_hashes WHERE hash = ?').run(hash)
  prepare('UPDATE blobs SET is_left = 0 WHERE id = ? AND is_left = 1').run(id)
  prepare(
    'UPDATE blobs SET idle_since = ?2 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1)',
  ).run(id, scope.unit.clock.now())
  if (uploader === null) return
  const added = prepare(
    'INSERT INTO blob_uploads (realm, blob) VALUES (?, ?) ON CONFLICT DO NOTHING',
  ).run(uploader, id)
  if (added.changes > 0) count(scope, uploader, size, 1)
}

/** Removes a blob and who brought it; the last one of its content leaves its hash as spent. */
export function removeBlob(scope: WriteScope, id: string): void {
  const { prepare } = scope.connection
  const row = prepare<Pick<Blob, 'hash' | 'size'>>(
    'DELETE FROM blobs WHERE id = ? RETURNING hash, size',
  ).get(id)
  if (row === null) return
  count(scope, WHOLE, -row.size, -1)
  const uploads = prepare<{ realm: RealmRef }>(
    'DELETE FROM blob_uploads WHERE blob = ? RETURNING realm',
  ).all(id)
  for (const { realm } of uploads) count(scope, realm, -row.size, -1)
  const spent = prepare(
    'INSERT INTO spent_hashes (hash) SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE hash = ?1) ON CONFLICT DO NOTHING',
  ).run(row.hash)
  scope.unit.group.contentSpent ||= spent.changes > 0
}

/**
 * Forgets up to `limit` uploads of somebody who is being erased; how many there were. What nobody
 * else brought goes at once, or with the last place that references it.
 */
export function eraseUploads(scope: WriteScope, realm: RealmRef, limit: number): number {
  const { prepare } = scope.connection
  const uploads = prepare<{ blob: string }>(
    'SELECT blob FROM blob_uploads WHERE realm = ? LIMIT ?',
  ).all(realm, limit)
  for (const { blob } of uploads) {
    prepare('DELETE FROM blob_uploads WHERE realm = ? AND blob = ?').run(realm, blob)
    prepare(
      'UPDATE blobs SET is_left = 1 WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM blob_uploads WHERE blob = ?1)',
    ).run(blob)
    removeIfLeft(scope, blob)
  }
  if (uploads.length === 0) prepare('DELETE FROM blob_usage WHERE realm = ?').run(realm)
  return uploads.length
}

/** Removes a blob that nobody brought any more and nothing references. */
export function removeIfLeft(scope: WriteScope, id: string): void {
  const row = scope.connection
    .prepare('SELECT 1 FROM blobs WHERE id = ? AND is_left = 1 AND idle_since IS NOT NULL')
    .get(id)
  if (row !== null) removeBlob(scope, id)
}

function count({ connection }: Scope, realm: RealmRef, bytes: number, blobs: number): void {
  connection
    .prepare(
      'INSERT INTO blob_usage (realm, bytes, blobs) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET bytes = bytes + ?2, blobs = blobs + ?3',
    )
    .run(realm, bytes, blobs)
}
