import { expect, test } from 'bun:test'
import { setupStore } from '../auth/setup'
import { declareIn, ensureRealm, eraseAll, fresh, NO_TRACES, NOW } from '../contract/fixture'

test('rows that are too large together are erased in several steps', async () => {
  await using fixture = await setupStore()
  const database = await fixture.store.create('main')
  const [large, small] = [await declareIn(database, 'large'), await declareIn(database, 'small')]
  const realm = await ensureRealm(database, 'rlm-gone')
  await database.write((tx) => {
    const value = JSON.stringify({ text: 'x'.repeat(5_000_000) })
    const put = (key: string, more = {}) => fresh(key, { realm, ...more })
    tx.objects.put(large, [put('a', { value }), put('b', { value }), put('c')], NOW)
    tx.objects.put(small, [put('d'), put('e'), put('f')], NOW)
    tx.realms.markErasing(realm)
  })
  const erase = () => database.write((tx) => tx.objects.erase(realm, 50, () => NO_TRACES))
  expect([await erase(), await erase(), await erase()]).toEqual([1, 2, 3])
  expect(await eraseAll(database, realm)).toBe(0)
})
