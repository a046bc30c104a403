import type { RealmRef } from '../domain/store/realm'
import type { Scope, WriteScope } from './scope'

/** Where an object is, and which blobs it references from there. */
export interface References {
  readonly realm: RealmRef
  readonly blobs: readonly string[]
}

/** Notes what the object at `seq` references, instead of what it referenced `before`. */
export function putRefs(
  scope: WriteScope,
  table: number,
  seq: number,
  { realm, blobs }: References,
  before?: References,
): void {
  if (blobs.length === 0 && (before === undefined || before.blobs.length === 0)) return
  const wasThere = before?.realm === realm ? new Set(before.blobs) : undefined
  for (const blob of blobs) if (wasThere?.has(blob) !== true) add(scope, table, seq, realm, blob)
  if (before === undefined) return
  const isThere = wasThere === undefined ? undefined : new Set(blobs)
  const gone = before.blobs.filter((blob) => isThere?.has(blob) !== true)
  removeRefs(scope, seq, { realm: before.realm, blobs: gone })
}

/** Forgets what the object at `seq` referenced. */
export function removeRefs(scope: WriteScope, seq: number, { realm, blobs }: References): void {
  for (const blob of blobs) {
    scope.connection
      .prepare('DELETE FROM blob_refs WHERE blob = ? AND realm = ? AND seq = ?')
      .run(blob, realm, seq)
    noteIdle(scope, blob)
  }
}

/** From when nothing references a blob on, its grace runs. */
function noteIdle({ connection, unit }: WriteScope, blob: string): void {
  connection
    .prepare(
      'UPDATE blobs SET idle_since = ?2 WHERE id = ?1 AND idle_since IS NULL AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE blob = ?1)',
    )
    .run(blob, unit.clock.now())
}

function add(scope: Scope, table: number, seq: number, realm: RealmRef, blob: string): void {
  const { prepare } = scope.connection
  prepare(
    'INSERT INTO blob_refs (blob, realm, seq, table_number) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  ).run(blob, realm, seq, table)
  prepare('UPDATE blobs SET idle_since = NULL WHERE id = ? AND idle_since IS NOT NULL').run(blob)
}
