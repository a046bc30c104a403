import { expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { setupStore } from '../auth/setup'
import { declareIn } from '../contract/fixture'
import { damagePages } from '../lab/damage'

/**
 * Promise 3: damage is found and named. The lab damages 500 pages (`bun run lab`); this is the same with
 * a fixed seed, 40 times.
 */
test('promise 3: a damaged page is refused, answered with an error, named or of no consequence, 40 times', async () => {
  const { problems, ...ends } = await damagePages(40, 3)
  expect(problems).toEqual([])
  expect(Object.values(ends).reduce((sum, count) => sum + count)).toBe(40)
  // Each end is reached.
  for (const count of Object.values(ends)) expect(count).toBeGreaterThan(0)
})

test('promise 3: rows have checksums where a flipped bit gives rights, shows wrong data or loses a write', async () => {
  await using base = await setupStore()
  const things = await declareIn(await base.store.create('main'), 'things')
  using db = new Database(join(base.folder, 'databases', 'main', 'database.sqlite'))
  using tables = db.prepare<{ name: string }, []>(
    "SELECT t.name FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c WHERE c.name = 'sum' ORDER BY t.name",
  )
  expect(tables.all().map(({ name }) => name)).toEqual([
    'applied',
    'blob_uploads',
    'blobs',
    'clients',
    'former_memberships',
    'indexes',
    ...[1, 2, 3, things.number].map((number) => `o_${number}`),
    'realm_ids',
    'refresh_tokens',
    // The steps of applied transactions.
    'step_keys',
    'users',
  ])
})
