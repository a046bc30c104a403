import { expect, test } from 'bun:test'
import process from 'node:process'
import type { Database } from '../../src/domain/store/store'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { missing } from '../missing'
import { temporaryFolder } from '../setup'
import { declareIn, fresh, keysOf, NOW } from './fixture'

/** A part of what `bun run missing` runs, which takes minutes. */
const SAMPLE = [
  'test/sqlite/store.contract.test.ts',
  'test/domain/object',
  'test/domain/sync/push.test.ts',
  'test/domain/sync/push-prepared.test.ts',
  'test/domain/sync/pull.test.ts',
]

test('an engine that has no value at once passes the contract suite, and tests of objects and sync', async () => {
  const run = Bun.spawn([process.execPath, 'test', '--timeout', '180000', ...SAMPLE], {
    // A unit that asks for hundreds of values is quicker with fewer runs.
    env: { ...process.env, SATCHEL_TEST_ENGINE: 'missing', SATCHEL_TEST_MISSES: '25' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [printed, code] = await Promise.all([new Response(run.stderr).text(), run.exited])
  const failed = printed.split('\n').filter((line) => line.includes('(fail)'))
  expect({ failed, code }).toEqual({ failed: [], code: 0 })
}, 300_000)

test('it shows a unit that has an effect but through its transaction', async () => {
  await using fixture = await openMissing()
  const { database } = fixture
  const table = await declareIn(database, 'things')
  const seen: string[] = []
  await database.write((tx) => {
    seen.push('once more')
    tx.objects.put(table, [fresh('a')], NOW)
    tx.objects.find(table, 'b')
  })
  expect(seen.length).toBeGreaterThan(1)
  expect(await keysOf(database, table)).toEqual(['a'])
})

test('it shows a catch that swallows the signal of a missing value', async () => {
  await using fixture = await openMissing()
  const { database } = fixture
  const swallowing = database.write((tx) => {
    try {
      return tx.users.find('alice')
    } catch {
      return undefined
    }
  })
  const error = await swallowing.catch((failure: unknown) => failure)
  expect(String(error)).toContain('a catch swallowed the signal of a missing value')
  expect(String(error)).toContain('users.find ["alice"]')
})

test('it gives a unit the same ids in each run', async () => {
  await using fixture = await openMissing()
  const { database } = fixture
  const ids: string[] = []
  await database.write((tx) => {
    ids.push(tx.newId('tst', 'rlm-public'))
    tx.users.find('alice')
  })
  expect(ids.length).toBeGreaterThan(1)
  expect(new Set(ids).size).toBe(1)
})

async function openMissing(): Promise<AsyncDisposable & { readonly database: Database }> {
  await using undo = new AsyncDisposableStack()
  const { path } = undo.use(temporaryFolder())
  const store = createSqliteStore(path, { clock: createTestClock(), durability: 'none' })
  const database = missing(await undo.use(store).create('main'))
  const parts = undo.move()
  return { database, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}
