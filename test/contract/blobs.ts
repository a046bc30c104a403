import { describe, expect, test } from 'bun:test'
import { PUBLIC_REALM_REF, type RealmRef } from '../../src/domain/store/realms'
import { HOUR } from '../auth/setup'
import {
  areFound,
  blob,
  foundIn,
  idleOf,
  put,
  remove,
  setupWorld,
  usages,
  write,
} from './blob-fixture'
import { fresh, inEveryLife, NOW, type OpenStore, update } from './fixture'
import type { StoredBlob } from '../../src/domain/store/blobs'

/** The records of blobs, their uploaders and their references (design.md §3, §5.9). */
export function describeBlobs(openStore: OpenStore): void {
  describe('blobs', () => {
    test('are kept with what they are, and never change', async () => {
      await using world = await setupWorld(openStore)
      const { database, alice } = world
      const one = blob('one', { size: 7, type: 'text/plain' })
      await put(database, one, alice)
      await put(database, { ...one, type: 'other', created: 5 }, alice)
      await inEveryLife(world, async (life) => {
        expect(await life.read((tx) => tx.blobs.find('one'))).toEqual({
          ...one,
          idleSince: world.clock.now(),
        })
        expect(await life.read((tx) => tx.blobs.find('two'))).toBeUndefined()
      })
    })

    test('are found for each of their uploaders', async () => {
      await using world = await setupWorld(openStore)
      const { database, alice, bob } = world
      await put(database, blob('one'), alice)
      expect(await areFound(database, 'one', [alice, bob, null])).toEqual([true, false, false])
      await put(database, blob('one'), bob)
      expect(await areFound(database, 'one', [alice, bob, null])).toEqual([true, true, false])
      expect(await database.read((tx) => tx.blobs.uploaders('one'))).toEqual([alice, bob])
      await put(database, blob('two'), null)
      expect(await areFound(database, 'two', [alice, bob, null])).toEqual([false, false, false])
      expect(await database.read((tx) => tx.blobs.uploaders('two'))).toEqual([])
    })

    test('are listed by their files, those with the same together, and page by page', async () => {
      await using world = await setupWorld(openStore)
      const { database } = world
      const all = ['d', 'b', 'a', 'c'].map((id, n) => blob(id, { hash: n < 3 ? 'ff' : 'aa' }))
      for (const each of all) await put(database, each, null)
      const ids: string[] = []
      for (let last: StoredBlob | undefined; ;) {
        const after = last
        const page = await database.read((tx) => tx.blobs.byFile(after, 2))
        ids.push(...page.map(({ id }) => id))
        last = page.at(-1)
        if (last === undefined) break
      }
      expect(ids).toEqual(['c', 'a', 'b', 'd'])
      const from = await database.read((tx) => tx.blobs.byFile({ file: 'ff', id: '' }, 2))
      expect(from.map(({ id }) => id)).toEqual(['a', 'b'])
    })

    test('are found in the realms of the objects that reference them, as these move', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, realms } = world
      const [r1, r2] = realms
      const find = () => foundIn(database, 'one', [r1, r2])
      await put(database, blob('one'), null)
      const references = { entries: [], blobs: ['one'] }
      await write(database, table, fresh('a', { realm: r1, ...references }))
      expect(await find()).toEqual([true, false])
      const move = (realm: RealmRef) =>
        database.write((tx) =>
          update(tx, table, 'a', { realm, ...references, previousTraces: references }),
        )
      await move(r2)
      await inEveryLife(world, async (life) => {
        expect(await foundIn(life, 'one', [r1, r2])).toEqual([false, true])
      })
    })

    test('are referenced until the last object that does is changed or removed', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, clock } = world
      await put(database, blob('one'), null)
      expect(await idleOf(database)).toEqual({ one: clock.now() })
      const references = { entries: [], blobs: ['one'] }
      await write(database, table, fresh('a', references), fresh('b', references))
      expect(await idleOf(database)).toEqual({ one: null })
      clock.advance(HOUR)
      await database.write((tx) => update(tx, table, 'a', { previousTraces: references }))
      expect(await idleOf(database)).toEqual({ one: null })
      clock.advance(HOUR)
      await remove(database, table, 'b', references)
      expect(await idleOf(database)).toEqual({ one: clock.now() })
      expect(await foundIn(database, 'one', [PUBLIC_REALM_REF])).toEqual([false])
    })

    test('keep the references that an object goes on having', async () => {
      await using world = await setupWorld(openStore)
      const { database, table } = world
      for (const id of ['one', 'two', 'three']) await put(database, blob(id), null)
      const before = { entries: [], blobs: ['one', 'two'] }
      await write(database, table, fresh('a', before))
      const after = { entries: [], blobs: ['two', 'three'] }
      await database.write((tx) => update(tx, table, 'a', { ...after, previousTraces: before }))
      const find = async (id: string) => (await foundIn(database, id, [PUBLIC_REALM_REF]))[0]
      expect([await find('one'), await find('two'), await find('three')]).toEqual([
        false,
        true,
        true,
      ])
    })

    test('may come after what references them', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, realms } = world
      const [r1] = realms
      await write(database, table, fresh('a', { realm: r1, blobs: ['one'] }))
      const outside = (realm: RealmRef | null) =>
        database.read((tx) => tx.blobs.isReferencedOutside('one', realm))
      expect([await outside(null), await outside(r1), await outside(1)]).toEqual([
        true,
        false,
        true,
      ])
      expect(await foundIn(database, 'one', [r1])).toEqual([false])
      await put(database, blob('one'), null)
      expect(await foundIn(database, 'one', [r1])).toEqual([true])
      expect(await idleOf(database)).toEqual({ one: null })
    })

    test('tell what references them, and what there is in order', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, realms } = world
      const [r1, r2] = realms
      for (const id of ['one', 'two', 'three']) await put(database, blob(id), null)
      await write(
        database,
        table,
        fresh('a', { realm: r2, blobs: ['one'] }),
        fresh('b', { realm: r1, blobs: ['one', 'two'] }),
      )
      await database.read(({ blobs }) => {
        expect(blobs.references('one', 10)).toEqual([
          { table: 'things', realm: r1, key: 'b' },
          { table: 'things', realm: r2, key: 'a' },
        ])
        expect(blobs.references('one', 1)).toHaveLength(1)
        expect(blobs.list('', 2).map(({ id }) => id)).toEqual(['one', 'three'])
        expect(blobs.list('three', 2).map(({ id }) => id)).toEqual(['two'])
      })
    })

    test('leave nothing of a unit that fails', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, alice } = world
      await put(database, blob('one'), alice)
      const failed = database.write((tx) => {
        tx.blobs.put(blob('two'), alice)
        tx.objects.put(table, [fresh('a', { blobs: ['one'] })], NOW)
        throw new Error('expected')
      })
      expect(failed).rejects.toThrow('expected')
      await failed.catch(() => undefined)
      expect(await foundIn(database, 'one', [PUBLIC_REALM_REF])).toEqual([false])
      expect(await database.read((tx) => tx.blobs.find('two'))).toBeUndefined()
      expect(await usages(database, null, alice)).toEqual([
        { bytes: 10, blobs: 1 },
        { bytes: 10, blobs: 1 },
      ])
    })
  })
}
