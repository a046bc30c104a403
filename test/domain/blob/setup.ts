import { filesByHash } from '../../blobs/files'
import { join } from 'node:path'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { type Actor, ANONYMOUS } from '../../../src/domain/access/actor'
import { findReadableBlob } from '../../../src/domain/access/blob'
import { isFileUsed } from '../../../src/domain/blob/collection'
import type { BlobLimits } from '../../../src/domain/blob/limits'
import type { BlobUsage } from '../../../src/domain/store/blobs'
import type { BlobStore } from '../../../src/domain/store/blob-store'
import { putBlob } from '../../../src/domain/blob/upload'
import { SatchelError } from '../../../src/domain/value/error'
import { createJobRunner } from '../../../src/domain/job/job-runner'
import { MAINTENANCE } from '../../../src/domain/object/maintenance'
import { removeObject } from '../../../src/domain/object/remove'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { parseStores } from '../../../src/domain/value/schema'
import type { Scope } from '../../../src/domain/value/scope'
import type { Database } from '../../../src/domain/store/store'
import { admitUser } from '../../../src/domain/user/policy'
import { REMOVAL_STEPS } from '../../../src/domain/user/removal'
import type { ViewName } from '../../../src/domain/access/view'
import { setupStore, type TestClock, type TestStore } from '../../auth/setup'
import { ANY_SIZE, chunksOf } from '../../contract/content-fixture'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { declareTables } from '../../../src/domain/object/tables'

export function person(id: string, ...scopes: Scope[]): Actor {
  return { ...ANONYMOUS, subject: id, scopes: new Set<Scope>(['ACCESS_DB', ...scopes]) }
}

export const administrator = person('administrator', 'GLOBAL_READ', 'GLOBAL_WRITE')

export const alice = person('alice')
export const bob = person('bob')
export const carol = person('carol')

type Row = Readonly<Record<string, unknown>>

export interface BlobWorld extends TestStore {
  readonly database: Database
  /** The answer to this write, parsed. */
  put(actor: Actor, table: string, row: Row, view?: ViewName): Promise<Row>
  remove(actor: Actor, table: string, key: string): Promise<void>
  /** Works off the jobs that wait. */
  work(): Promise<void>
}

/** A database with users, a table `files`, and the realm `rlm-team` of alice in which bob is. */
export async function setupBlobWorld(): Promise<BlobWorld> {
  const base = await setupStore()
  const database = await base.store.create('main')
  const now = base.clock.now()
  await database.write((tx) => {
    declareTables(tx, parseStores({ files: '@id' }), now)
    for (const { subject } of [alice, bob, carol]) {
      const who = { id: subject ?? '', email: null, name: null }
      admitUser(tx, who, { action: 'prod' }, now)
    }
  })
  const put: BlobWorld['put'] = async (actor, table, row, view = 'my') => {
    const upsert = {
      actor,
      view,
      table,
      objects: [row],
      isArray: false,
      now: base.clock.now(),
      rulesByTable: ROW_RULES,
    }
    const [text = ''] = await upsertObjects(database, upsert)
    return JSON.parse(text) as Row
  }
  const world: BlobWorld = {
    ...base,
    database,
    put,
    remove: (actor, table, key) =>
      removeObject(database, {
        actor,
        view: 'my',
        table,
        key,
        now: base.clock.now(),
        rulesByTable: ROW_RULES,
      }),
    async work() {
      const fail = (_job: unknown, error: unknown) => {
        throw error
      }
      await using runner = createJobRunner(database, { ...MAINTENANCE, ...REMOVAL_STEPS }, fail)
      await runner.idle()
    },
  }
  await put(alice, 'realms', { realmId: 'rlm-team' })
  await put(
    administrator,
    'members',
    {
      id: 'mmb-bob',
      realmId: 'rlm-team',
      userId: 'bob',
      permissions: { add: ['files'], update: { files: '*' } },
    },
    'all',
  )
  return world
}

/** A blob world with a place for the bytes. */
export interface ByteWorld extends BlobWorld {
  readonly bytes: BlobStore
  /** Uploads a text as the front door does. */
  upload(actor: Actor, id: string, text?: string): Promise<string>
  /** The ids of all blobs. */
  ids(): Promise<string[]>
  /** The hashes of all stored files. */
  contents(): Promise<string[]>
}

export async function setupByteWorld(): Promise<ByteWorld> {
  const world = await setupBlobWorld()
  const { database } = world
  const report = (error: unknown) => {
    throw error
  }
  const bytes = createDiskBlobs(join(world.folder, 'blobs'), {
    isDurable: false,
    isUsed: (file) => isFileUsed(database, file),
    report,
  })
  return {
    ...world,
    bytes,
    async upload(actor, id, text = id) {
      await using arrival = await bytes.receive(chunksOf(text), ANY_SIZE)
      return await arrival.keep(() => uploadText(world, actor, id, text))
    },
    ids: () => database.read((tx) => tx.blobs.list('', 1_000).map(({ id }) => id)),
    contents: async () =>
      [...filesByHash(join(world.folder, 'blobs'))]
        .flatMap(([hash, files]) => files.map(() => hash))
        .toSorted(),
    async [Symbol.asyncDispose]() {
      await bytes[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
}

/** A BlobRef as clients write it. */
export function refTo(id: string): Row {
  return { _bt: 'Blob', ref: `1:${id}`, size: 1, ct: 'text/plain' }
}

/** Those of these users who may read a blob. */
export async function readersOf(
  { database }: { readonly database: Database },
  id: string,
  actors: readonly Actor[] = [alice, bob, carol, ANONYMOUS],
): Promise<(string | null)[]> {
  const readers: (string | null)[] = []
  for (const actor of actors) {
    try {
      await findReadableBlob(database, actor, `1:${id}`)
      readers.push(actor.subject)
    } catch (error) {
      if (!(error instanceof SatchelError)) throw error
    }
  }
  return readers
}

export const ANY_AMOUNT: BlobLimits = { blob: 2 ** 30, database: null, user: null }

/** A place for bytes that were never uploaded. */
export const NO_BYTES: BlobStore = {
  receive: nothing,
  open: nothing,
  remove: async () => undefined,
  async *list() {},
  check: nothing,
  async [Symbol.asyncDispose]() {},
}

function nothing(): never {
  throw new Error('there are no bytes here')
}

/** The hash of a text, as the blob store would give it. */
export function hashOf(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}

/** The answer to an upload of this text under this id. */
export function uploadText(
  { database, clock }: { readonly database: Database; readonly clock: TestClock },
  actor: Actor,
  id: string,
  text = id,
  { type = 'text/plain', limits = ANY_AMOUNT } = {},
): Promise<string> {
  const hash = hashOf(text)
  const upload = {
    id,
    hash,
    file: hash,
    size: Buffer.byteLength(text),
    type,
    now: clock.now(),
  }
  return putBlob(database, actor, upload, limits)
}

/** The uploads of a user, or all of them for null. */
export function usageOf(database: Database, subject: string | null): Promise<BlobUsage> {
  return database.read((tx) => {
    const realm = subject === null ? undefined : tx.realms.find(subject)
    return tx.blobs.usage(subject === null ? null : (realm?.ref ?? -1))
  })
}
