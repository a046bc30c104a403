import type { Blob } from '../domain/value/blob'
import type { RealmRef } from '../domain/store/realm'
import type {
  BlobReader,
  BlobReference,
  BlobState,
  BlobUsage,
  BlobWriter,
} from '../domain/store/blobs'
import { putBlob, removeBlob, WHOLE } from './blob-rows'
import { erasing } from './erasing'
import { objectTable } from './object-table'
import type { Scope, WriteScope } from './scope'
import { knownTables } from './tables'

const COLUMNS = 'id, hash, size, type, created'
const STATE = `${COLUMNS}, idle_since AS idleSince`

export function blobReader(scope: Scope): BlobReader {
  const prepare = <Row>(sql: string) => scope.connection.prepare<Row>(sql)
  return {
    find: (id) =>
      prepare<BlobState>(`SELECT ${STATE} FROM blobs WHERE id = ?`).get(id) ?? undefined,
    findFor: (id, uploader, realms) => findFor(scope, id, uploader, realms),
    isUploadedBy: (id, uploader) =>
      prepare('SELECT 1 FROM blob_uploads WHERE realm = ? AND blob = ?').get(
        uploader ?? WHOLE,
        id,
      ) !== null,
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
    references: (id, limit) => references(scope, id, limit),
    uploaders: (id) =>
      prepare<{ realm: RealmRef }>('SELECT realm FROM blob_uploads WHERE blob = ? ORDER BY realm')
        .all(id)
        .map(({ realm }) => realm),
    contents: (after, limit) =>
      prepare<Pick<Blob, 'hash' | 'size'>>(
        'SELECT hash, max(size) AS size FROM blobs WHERE hash > ? GROUP BY hash ORDER BY hash LIMIT ?',
      ).all(after, limit),
    ofContent: (hash, limit) =>
      prepare<Blob>(`SELECT ${COLUMNS} FROM blobs WHERE hash = ? LIMIT ?`).all(hash, limit),
    isStored: (hash) => prepare('SELECT 1 FROM blobs WHERE hash = ? LIMIT 1').get(hash) !== null,
    spent: (after, limit) =>
      prepare<{ hash: string }>(
        'SELECT hash FROM spent_hashes WHERE hash > ? ORDER BY hash LIMIT ?',
      )
        .all(after, limit)
        .map(({ hash }) => hash),
  }
}

export function blobWriter(scope: WriteScope): BlobWriter {
  return {
    ...blobReader(scope),
    put: (blob, uploader) => putBlob(scope, blob, uploader),
    remove: (id) => removeBlob(scope, id),
    settle: (hash) =>
      void scope.connection.prepare('DELETE FROM spent_hashes WHERE hash = ?').run(hash),
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

function references(scope: Scope, id: string, limit: number): BlobReference[] {
  const { prepare } = scope.connection
  const names = new Map([...knownTables(scope).values()].map(({ number, name }) => [number, name]))
  const hidden = erasing(scope)
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
