import { expect } from 'bun:test'
import type { RealmRef } from '../../src/domain/store/realms'
import type { ObjectPut, Traces } from '../../src/domain/store/objects'
import type { Database } from '../../src/domain/store/store'
import {
  type DatabaseFixture,
  declareIn,
  ensureRealm,
  eraseAll,
  get,
  NO_TRACES,
  NOW,
  type OpenStore,
  setupDatabase,
} from './fixture'
import type { StoredBlob } from '../../src/domain/store/blobs'
import type { Table } from '../../src/domain/store/tables'

export interface World extends DatabaseFixture {
  readonly table: Table
  readonly alice: RealmRef
  readonly bob: RealmRef
  readonly realms: readonly [RealmRef, RealmRef]
}

export async function setupWorld(openStore: OpenStore): Promise<World> {
  const fixture = await setupDatabase(openStore)
  const { database } = fixture
  const table = await declareIn(database, 'things')
  const alice = await ensureRealm(database, 'alice')
  const bob = await ensureRealm(database, 'bob')
  const realms = [
    await ensureRealm(database, 'rlm-1'),
    await ensureRealm(database, 'rlm-2'),
  ] as const
  return { ...fixture, table, alice, bob, realms }
}

export function blob(id: string, changes: Partial<StoredBlob> = {}): StoredBlob {
  const file = changes.hash ?? id
  return { id, hash: id, file, size: 10, type: 'image/png', created: NOW, ...changes }
}

export function put(database: Database, one: StoredBlob, uploader: RealmRef | null): Promise<void> {
  return database.write((tx) => tx.blobs.put(one, uploader))
}

export function write(database: Database, table: Table, ...puts: ObjectPut[]): Promise<void> {
  return database.write((tx) => tx.objects.put(table, puts, NOW))
}

export function remove(
  database: Database,
  table: Table,
  key: string,
  traces: Traces,
): Promise<void> {
  return database.write((tx) => {
    const previous = get(tx, table, key)
    tx.objects.remove(table, [{ previous, ...traces }], NOW)
  })
}

/** Erases a realm whose objects, by key, reference these blobs. */
export async function erase(
  database: Database,
  realm: RealmRef,
  blobsByKey: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  await database.write((tx) => tx.realms.markErasing(realm))
  await eraseAll(database, realm, 2, (_, value) => {
    const { id } = JSON.parse(value) as { id: string }
    return { ...NO_TRACES, blobs: blobsByKey[id] ?? [] }
  })
}

export async function areFound(
  database: Database,
  id: string,
  uploaders: readonly (RealmRef | null)[],
): Promise<boolean[]> {
  const nowhere: ReadonlySet<RealmRef> = new Set()
  const found: boolean[] = []
  for (const uploader of uploaders) {
    const one = await database.read((tx) => tx.blobs.findFor(id, uploader, nowhere))
    if (uploader !== null && one !== undefined) {
      expect(await database.read((tx) => tx.blobs.isUploadedBy(id, uploader))).toBe(true)
    }
    found.push(one?.id === id)
  }
  return found
}

export async function foundIn(
  database: Database,
  id: string,
  realms: readonly RealmRef[],
): Promise<boolean[]> {
  const found: boolean[] = []
  for (const realm of realms) {
    const places = new Set([realm])
    const one = await database.read((tx) => tx.blobs.findFor(id, null, places))
    found.push(one?.id === id)
  }
  return found
}

/** Since when nothing references each blob. */
export async function idleOf(database: Database): Promise<Record<string, number | null>> {
  const blobs = await database.read((tx) => tx.blobs.list('', 100))
  return Object.fromEntries(blobs.map(({ id, idleSince }) => [id, idleSince]))
}

export async function usages(database: Database, ...uploaders: (RealmRef | null)[]) {
  const found = []
  for (const uploader of uploaders) {
    found.push(await database.read((tx) => tx.blobs.usage(uploader)))
  }
  return found
}
