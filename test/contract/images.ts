import { describe, expect, test } from 'bun:test'
import { numberOfRevision, formatRevision } from '../../src/domain/sync/revision'
import { declareIn, insert, keysOf, type OpenStore, refusalOf } from './fixture'
import { user } from './user-fixture'

/** Images, which test mode takes, restores and makes databases of. */
export function describeImages(openStore: OpenStore): void {
  describe('images', () => {
    test('a restored database has the rows of its image and repeats no revision', async () => {
      await using opened = await openStore()
      const { store } = opened
      const database = await store.create('main')
      const { id } = database
      const table = await declareIn(database, 'todos')
      await insert(database, table, 'before')
      const image = await store.image('main')
      await insert(database, table, 'after')
      const given = await database.read((tx) => {
        const run = tx.runs.list().at(-1)!
        return formatRevision(run, tx.revision())
      })
      await store.restore('main', image)
      const restored = await store.open('main')
      expect(restored.id).toBe(id)
      expect(await keysOf(restored, table)).toEqual(['before'])
      const place = () =>
        restored.read((tx) => numberOfRevision(tx.runs.list(), tx.revision(), given))
      expect(await place()).toBeUndefined()
      await insert(restored, table, 'again')
      expect(await place()).toBeUndefined()
      expect(database.read((tx) => tx.revision())).rejects.toThrow('closing')
    })

    test('a fork has an identity of its own', async () => {
      await using opened = await openStore()
      const { store } = opened
      const database = await store.create('main')
      const table = await declareIn(database, 'todos')
      await insert(database, table, 'one')
      const image = await store.image('main')
      await store.fork('other', image, 'main')
      const fork = await store.open('other')
      expect(fork.id).not.toBe(database.id)
      expect(await keysOf(fork, table)).toEqual(['one'])
      expect(await refusalOf(store.fork('other', image, 'main'))).toBe('CONFLICT')
      expect(await refusalOf(store.fork('No Name', image, 'main'))).toBe('UNPROCESSABLE')
      expect(await store.list()).toEqual(['main', 'other'])
    })

    test('an emptied database keeps its tables and settings', async () => {
      await using opened = await openStore()
      const { store } = opened
      const database = await store.create('main')
      const table = await declareIn(database, 'todos')
      await insert(database, table, 'one')
      await database.write((tx) => {
        tx.settings.put({ id: 'policy', value: { newUsers: 'eval' } })
        tx.users.put(user('alice@example.com'))
      })
      await store.empty('main')
      const emptied = await store.open('main')
      expect(await keysOf(emptied, table)).toEqual([])
      const { users, setting } = await emptied.read((tx) => ({
        users: tx.users.find('alice@example.com'),
        setting: tx.settings.find('policy'),
      }))
      expect({ users, setting: setting?.value }).toEqual({
        users: undefined,
        setting: { newUsers: 'eval' },
      })
      await insert(emptied, table, 'two')
      expect(await keysOf(emptied, table)).toEqual(['two'])
    })

    test('there is no image of an unknown database', async () => {
      await using opened = await openStore()
      const { store } = opened
      await store.create('main')
      const image = await store.image('main')
      for (const work of [store.image('none'), store.restore('none', image), store.empty('none')]) {
        expect(await refusalOf(work)).toBe('UNKNOWN_DATABASE')
      }
    })
  })
}
