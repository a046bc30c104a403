import { blob } from './blob-fixture'
import { describe, expect, test } from 'bun:test'
import { PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import type { Database, ReadTx, WriteTx } from '../../src/domain/store/store'
import { nextTurn } from '../../src/domain/value/turn'
import {
  declareIn,
  fresh,
  get,
  insert,
  NO_TRACES,
  NOW,
  type OpenStore,
  createDatabase,
  setupDatabase,
  update,
  WHOLE,
} from './fixture'
import type { Table } from '../../src/domain/store/tables'

/** `read`, and the life of a transaction. */
export function describeSnapshots(openStore: OpenStore): void {
  describe('reads', () => {
    test('see one snapshot, regardless of concurrent writes', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'accounts')
      await insert(database, table, 'mine', 'yours')
      const transfer = (to: number) =>
        database.write((tx) => {
          update(tx, table, 'mine', { value: String(to) })
          update(tx, table, 'yours', { value: String(-to) })
        })
      const balance = () =>
        database.read((tx) => {
          const mine = get(tx, table, 'mine')
          for (let step = 0; step < 10; step += 1) tx.users.find('nobody')
          const yours = get(tx, table, 'yours')
          const { rows } = tx.objects.page(table, { size: WHOLE })
          expect(rows.map(({ value }) => value)).toEqual([mine.value, yours.value])
          expect(Math.max(mine.revision, yours.revision)).toBeLessThanOrEqual(tx.revision())
          return Number(mine.value) + Number(yours.value)
        })
      await transfer(0)
      const transfers = Array.from({ length: 200 }, (_, amount) => transfer(amount))
      const reading = (async () => {
        for (let turn = 0; turn < 200; turn += 1) {
          expect(await Promise.all([balance(), balance()])).toEqual([0, 0])
          await nextTurn()
        }
      })()
      await Promise.all([...transfers, reading])
    })

    test('begun after a unit was answered see it, regardless of other open reads', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a')
      let isDone = false
      const others = (async () => {
        while (!isDone) {
          await database.read((tx) => tx.objects.find(table, 'a'))
          await nextTurn()
        }
      })()
      for (let n = 0; n < 100; n += 1) {
        await database.write((tx) => update(tx, table, 'a', { value: String(n) }))
        const read = database.read((tx) => ({
          revision: tx.revision(),
          found: get(tx, table, 'a'),
        }))
        const { revision, found } = await read
        expect(found).toMatchObject({ value: String(n), revision })
      }
      isDone = true
      await others
    })

    test('pass on what their work throws', async () => {
      await using fixture = await setupDatabase(openStore)
      const failure = new Error('mine')
      const read = fixture.database.read(() => {
        throw failure
      })
      expect(await read.catch((error: unknown) => error)).toBe(failure)
    })

    test('go on between the steps of a unit, and do not see it', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      let reads = 0
      let isWriting = true
      const writing = database
        .writeSteps(async (step) => {
          for (let n = 0; n < 10 || reads < 4; n += 1) {
            await step((tx) => tx.objects.put(table, [fresh(`k${n}`)], NOW))
          }
        })
        .finally(() => {
          isWriting = false
        })
      while (isWriting) {
        const count = await database.read((tx) => tx.objects.count(table, 1_000_000))
        if (isWriting) {
          expect(count).toBe(0)
          reads += 1
        }
        await Bun.sleep(1)
      }
      await writing
      expect(await database.read((tx) => tx.objects.count(table, 1_000_000))).toBeGreaterThan(0)
    })
  })

  describe('a transaction', () => {
    test('of a read is dead when the read is over', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const kept = await keptOf(database, async (work) => database.read(work))
      for (const use of readsOf(kept, table)) await expectRefused(use)
    })

    test('of a read whose work fails at once is refused by a promise', async () => {
      await using database = await createDatabase(openStore)
      const failing = database.read(() => {
        throw new RangeError('at once')
      })
      expect(failing).toBeInstanceOf(Promise)
      const refusal = Promise.resolve(failing).catch((error: unknown) => error)
      expect(await refusal).toBeInstanceOf(RangeError)
    })

    test('of a failed read is dead', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const kept = await keptOf(database, (work) =>
        database.read((tx) => {
          work(tx)
          throw new Error('expected')
        }),
      )
      for (const use of readsOf(kept, table)) await expectRefused(use)
    })

    test.each(['kept', 'failed'])('of a unit that %s is dead', async (outcome) => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, title')
      await insert(database, table, 'a')
      let kept: WriteTx | undefined
      const unit = database.write((tx) => {
        kept = tx
        tx.tables.seal(false)
        if (outcome === 'failed') throw new Error('expected')
      })
      await unit.catch(() => undefined)
      if (kept === undefined) throw new Error('the unit did not run')
      for (const use of [...readsOf(kept, table), ...writesOf(kept, table)]) {
        await expectRefused(use)
      }
      await database.read((tx) => {
        expect(tx.objects.count(table, 1_000_000)).toBe(1)
        expect(tx.tables.list()).toHaveLength(4)
      })
    })
  })
}

async function keptOf(
  database: Database,
  run: (work: (tx: ReadTx) => void) => Promise<unknown>,
): Promise<ReadTx> {
  let kept: ReadTx | undefined
  await run((tx) => {
    kept = tx
  }).catch(() => undefined)
  if (kept === undefined) throw new Error(`no read of ${database.name} ran`)
  return kept
}

/** Work that throws at once or later is refused either way. */
async function expectRefused(use: () => unknown): Promise<void> {
  const outcome = (async () => {
    await use()
    return 'was let through'
  })()
  expect(await outcome.catch(() => 'refused'), use.toString()).toBe('refused')
}

function readsOf(tx: ReadTx, table: Table): (() => unknown)[] {
  const realms = new Set([PUBLIC_REALM_REF])
  return [
    () => tx.revision(),
    () => tx.remember('something', () => 1),
    () => tx.tables.find('things'),
    () => tx.tables.list(),
    () => tx.tables.isSealed(),
    () => tx.objects.find(table, 'a'),
    () => tx.objects.findMany(table, ['a']),
    () => tx.objects.page(table, { size: WHOLE }),
    () => tx.objects.page(table, { size: WHOLE, realms }),
    () => tx.objects.page(table, { size: WHOLE, lookup: { index: 1, keys: [Uint8Array.of(1)] } }),
    () => tx.objects.changes(realms, 0, 1, WHOLE),
    () => tx.objects.count(table, 1_000_000),
    () => tx.realms.isUsed('alice'),
    () => tx.blobs.find('a'),
    () => tx.blobs.findFor('a', null, realms),
    () => tx.blobs.isUploadedBy('a', PUBLIC_REALM_REF),
    () => tx.blobs.isReferencedOutside('a', null),
    () => tx.blobs.usage(null),
    () => tx.blobs.list('', 1),
    () => tx.blobs.idle(NOW, 1),
    () => tx.blobs.references('a', 1),
    () => tx.blobs.uploaders('a'),
    () => tx.blobs.countIdle(NOW),
    () => tx.blobs.byFile(undefined, 1),
    () => tx.blobs.isFileUsed('a'),
    () => tx.realms.find('rlm-public'),
    () => tx.realms.findByRef(PUBLIC_REALM_REF),
    () => tx.realms.isRetired('rlm-public'),
    () => tx.memberships.ofUser('alice', 100),
    () => tx.memberships.ofSubject(null, 'alice@example.com'),
    () => tx.memberships.ofRealm(PUBLIC_REALM_REF, '', 100),
    ...[tx.clients, tx.keys, tx.origins, tx.jobs].flatMap((records) => [
      () => records.find('a'),
      () => records.list(),
    ]),
    () => tx.refreshTokens.find('hash'),
    () => tx.refreshTokens.findUse('hash', 1),
  ]
}

function writesOf(tx: WriteTx, table: Table): (() => unknown)[] {
  const previous = {
    seq: 1,
    key: 'a',
    realm: PUBLIC_REALM_REF,
    owner: null,
    revision: 1,
    value: '',
    entered: 1,
    updated: NOW,
    stamps: null,
  }
  const index = table.indexes[0]?.number ?? 0
  return [
    () => tx.newId('x', 'rlm-public'),
    () => tx.attempt(() => 1),
    () => tx.tables.put({ ...table, name: 'late' }),
    () => tx.tables.setIndexState(index, 'ready'),
    () => tx.tables.seal(true),
    () => tx.objects.put(table, [fresh('late')], NOW),
    () => tx.objects.remove(table, [{ previous, ...NO_TRACES }], NOW),
    () => tx.objects.addEntries([{ seq: 1, entries: [{ index, key: new Uint8Array(1) }] }]),
    () => tx.objects.dropEntries(1),
    () => tx.objects.erase(PUBLIC_REALM_REF, 1, () => NO_TRACES),
    () => tx.blobs.put(blob('late'), null),
    () => tx.blobs.remove('late'),
    () => tx.blobs.setFile('late', 'late'),
    () => tx.realms.ensure('late'),
    () => tx.realms.markErasing(PUBLIC_REALM_REF),
    () => tx.memberships.remove('late'),
    () => tx.memberships.removeOfRealm(PUBLIC_REALM_REF),
    () => tx.origins.put({ id: 'late', created: NOW }),
    () => tx.origins.remove('late'),
    () => tx.jobs.remove('late'),
    () => tx.refreshTokens.recordUse('late', 1, NOW),
    () => tx.refreshTokens.removeOf({ clientId: 'late' }),
    () => tx.prune('codes', NOW, 1),
    () => tx.setLatestTime(NOW),
  ]
}
