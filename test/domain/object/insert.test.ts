import { expect, test } from 'bun:test'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { WriteTx } from '../../../src/domain/store/store'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'
import { administrator } from '../blob/setup'
import { countingTest } from '../../missing'

/** A database that can count what its units do: `watch` gets each step of them, and `count` to call. */
async function setup(watch: (tx: WriteTx, count: () => void) => void) {
  const base = await setupStore()
  const stored = await base.store.create('main')
  await declareIn(stored, 'todo', 'id')
  let counted = 0
  const watched =
    <T>(work: (tx: WriteTx) => T) =>
    (tx: WriteTx) => {
      watch(tx, () => {
        counted += 1
      })
      return work(tx)
    }
  const database: typeof stored = {
    ...stored,
    write: (work, options) => stored.write(watched(work), options),
    writeSteps: (work, options) =>
      stored.writeSteps(
        (step) => {
          const watchedStep = (part: (tx: WriteTx) => unknown) => step(watched(part))
          const attempt = (part: () => Promise<unknown>) => step.attempt(part)
          return work(Object.assign(watchedStep, { attempt }) as typeof step)
        },
        // However long it takes on a busy machine.
        { ...options, isUnbounded: true },
      ),
  }
  return {
    stored,
    /** How often `count` was called during the last `put`. */
    counted: () => counted,
    put: (table: string, ...objects: readonly object[]) => {
      counted = 0
      return upsertObjects(database, {
        actor: administrator,
        view: 'all',
        table,
        objects,
        isArray: objects.length > 1,
        now: NOW,
        rulesByTable: ROW_RULES,
      })
    },
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

const many = (from: number, title: string, length = 1_000) =>
  Array.from({ length }, (_, n) => ({
    id: `k${from + n}`,
    realmId: 'rlm-public',
    owner: null,
    title,
  }))
const texts = (objects: readonly object[]) => objects.map((object) => JSON.stringify(object))

countingTest(
  'new objects are written without a look for ones that they would replace',
  async () => {
    await using base = await setup(({ objects }, count) => {
      const findMany = objects.findMany.bind(objects)
      objects.findMany = (table, keys) => {
        count()
        return findMany(table, keys)
      }
    })
    const { stored, counted, put } = base
    const first = '{"id":"a","realmId":"rlm-public","owner":null}'
    const second = '{"id":"a","realmId":"rlm-public","title":"again","owner":null}'
    expect(await put('todo', { id: 'a', realmId: 'rlm-public' })).toEqual([first])
    expect(counted()).toBe(0)
    expect(await put('todo', { id: 'a', realmId: 'rlm-public', title: 'again' })).toEqual([second])
    expect(counted()).toBe(1)
    expect(await put('todo', ...many(0, 'new'))).toEqual(texts(many(0, 'new')))
    expect(counted()).toBe(0)
    // The second half is there, and looked up by the hundreds.
    const mixed = [...many(5_000, 'new'), ...many(0, 'replaced')]
    expect(await put('todo', ...mixed)).toEqual(texts(mixed))
    expect(counted()).toBe(5)
    // The same key twice: the second one replaces the first.
    const [first0, second0] = [many(9_000, 'first')[0]!, many(9_000, 'second')[0]!]
    expect(await put('todo', first0, second0)).toEqual(texts([first0, second0]))
    const table = (await stored.read((tx) => tx.tables.find('todo')))!
    const kept = await stored.read((tx) => tx.objects.find(table, 'k9000'))
    expect(kept?.value).toBe(JSON.stringify(second0))
  },
)

test('a unit goes in steps, between which others have their turn: new objects, replaced ones and rows', async () => {
  await using base = await setup((_tx, count) => count())
  const { counted, put } = base
  await put('todo', ...many(0, 'new', 800))
  expect(counted()).toBeGreaterThan(3)
  await put('todo', ...many(0, 'replaced', 800))
  expect(counted()).toBeGreaterThan(3)
  await put('realms', ...Array.from({ length: 100 }, (_, n) => ({ realmId: `rlm${n}` })))
  expect(counted()).toBeGreaterThan(1)
  await put('todo', ...many(0, 'long'.repeat(100_000), 10))
  expect(counted()).toBeGreaterThan(3)
})
