import { describe, expect, test } from 'bun:test'
import { HOUR } from '../auth/setup'
import {
  areFound,
  blob,
  erase,
  foundIn,
  idleOf,
  put,
  setupWorld,
  usages,
  write,
} from './blob-fixture'
import { fresh, inEveryLife, type OpenStore } from './fixture'

/** How long blobs stay, and what goes with them. */
export function describeIdleBlobs(openStore: OpenStore): void {
  describe('blobs that nothing references', () => {
    test('are told after their grace, the longest waiting first', async () => {
      await using world = await setupWorld(openStore)
      const { database, clock } = world
      const start = clock.now()
      for (const id of ['b', 'a']) {
        await put(database, blob(id), null)
        clock.advance(HOUR)
      }
      const idle = (until: number, limit = 10) =>
        database.read((tx) => tx.blobs.idle(until, limit).map(({ id }) => id))
      expect(await idle(start - 1)).toEqual([])
      expect(await idle(start)).toEqual(['b'])
      expect(await idle(start + HOUR)).toEqual(['b', 'a'])
      expect(await idle(start + HOUR, 1)).toEqual(['b'])
      const count = (until: number) => database.read((tx) => tx.blobs.countIdle(until))
      expect([await count(start - 1), await count(start + HOUR)]).toEqual([
        { blobs: 0, bytes: 0 },
        { blobs: 2, bytes: 20 },
      ])
      await put(database, blob('b'), null)
      expect(await idle(start + HOUR)).toEqual(['a'])
    })

    test('are removed with their uploaders, and no longer count', async () => {
      await using world = await setupWorld(openStore)
      const { database, alice, bob } = world
      await put(database, blob('one'), alice)
      await put(database, blob('one'), bob)
      await put(database, blob('two', { size: 3 }), bob)
      expect(await usages(database, null, alice, bob)).toEqual([
        { bytes: 13, blobs: 2 },
        { bytes: 10, blobs: 1 },
        { bytes: 13, blobs: 2 },
      ])
      await database.write((tx) => tx.blobs.remove('one'))
      await database.write((tx) => tx.blobs.remove('never'))
      expect(await areFound(database, 'one', [alice, bob])).toEqual([false, false])
      expect(await usages(database, null, alice, bob)).toEqual([
        { bytes: 3, blobs: 1 },
        { bytes: 0, blobs: 0 },
        { bytes: 3, blobs: 1 },
      ])
    })

    test('are announced with the files that they leave, which other blobs may need', async () => {
      await using world = await setupWorld(openStore)
      const { database } = world
      for (const id of ['one', 'two']) await put(database, blob(id, { hash: 'same' }), null)
      const heard: (readonly string[])[] = []
      const stop = database.onCommit(({ leftFiles }) => heard.push(leftFiles))
      const isUsed = () => database.read((tx) => tx.blobs.isFileUsed('same'))
      await database.write((tx) => tx.blobs.remove('one'))
      expect([heard, await isUsed()]).toEqual([[['same']], true])
      await database.write((tx) => {
        const undone = () =>
          tx.attempt(() => {
            tx.blobs.remove('two')
            throw new Error('not this part')
          })
        expect(undone).toThrow()
      })
      expect(heard).toHaveLength(1)
      await database.write((tx) => tx.blobs.remove('two'))
      expect([heard, await isUsed()]).toEqual([[['same'], ['same']], false])
      stop()
    })

    test('leave their former file when their bytes are stored in another one', async () => {
      await using world = await setupWorld(openStore)
      const { database } = world
      for (const id of ['one', 'two']) await put(database, blob(id, { file: 'f1' }), null)
      const heard: (readonly string[])[] = []
      const stop = database.onCommit(({ leftFiles }) => heard.push(leftFiles))
      await put(database, blob('one', { file: 'f1' }), null)
      await database.write((tx) => tx.blobs.setFile('never', 'f2'))
      expect(heard).toEqual([])
      await put(database, blob('one', { file: 'f2' }), null)
      await database.write((tx) => tx.blobs.setFile('two', 'f2'))
      expect(heard).toEqual([['f1'], ['f1']])
      stop()
      await inEveryLife(world, async (life) => {
        await life.read(({ blobs }) => {
          expect([blobs.isFileUsed('f1'), blobs.isFileUsed('f2')]).toEqual([false, true])
          expect(blobs.find('one')).toMatchObject({ hash: 'one', file: 'f2' })
        })
      })
    })
  })

  describeErasedBlobs(openStore)
}

function describeErasedBlobs(openStore: OpenStore): void {
  describe('blobs of a realm that is erased', () => {
    test('are not found there from its first moment on', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, realms, alice } = world
      const [r1, r2] = realms
      await put(database, blob('one'), alice)
      await write(database, table, fresh('a', { realm: r1, blobs: ['one'] }))
      await write(database, table, fresh('b', { realm: r2, blobs: ['one'] }))
      await database.write((tx) => tx.realms.markErasing(r1))
      expect(await foundIn(database, 'one', [r1, r2])).toEqual([false, true])
      expect(await database.read((tx) => tx.blobs.references('one', 10))).toHaveLength(1)
      await database.write((tx) => tx.realms.markErasing(alice))
      expect(await areFound(database, 'one', [alice])).toEqual([false])
    })

    test('have their grace while an uploader exists', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, realms, alice, clock } = world
      const [r1] = realms
      await put(database, blob('one'), alice)
      await put(database, blob('two'), null)
      await write(database, table, fresh('a', { realm: r1, blobs: ['one', 'two'] }))
      clock.advance(HOUR)
      await erase(database, r1, { a: ['one', 'two'] })
      expect(await idleOf(database)).toEqual({ one: clock.now(), two: clock.now() })
    })

    test('go with the one person who brought them, unless others reference them', async () => {
      await using world = await setupWorld(openStore)
      const { database, table, realms, alice, bob } = world
      const [r1] = realms
      for (const id of ['loose', 'own', 'shared', 'both']) await put(database, blob(id), alice)
      await put(database, blob('both'), bob)
      await write(database, table, fresh('a', { realm: alice, blobs: ['own', 'shared', 'both'] }))
      await write(database, table, fresh('b', { realm: r1, blobs: ['shared'] }))
      const left: string[] = []
      const stop = database.onCommit(({ leftFiles }) => left.push(...leftFiles))
      await erase(database, alice, { a: ['own', 'shared', 'both'] })
      stop()
      expect(Object.keys(await idleOf(database))).toEqual(['both', 'shared'])
      expect(await usages(database, null, alice, bob)).toEqual([
        { bytes: 20, blobs: 2 },
        { bytes: 0, blobs: 0 },
        { bytes: 10, blobs: 1 },
      ])
      expect(left.toSorted()).toEqual(['loose', 'own'])
      // It has no other uploader: it is removed with its last reference.
      await erase(database, r1, { b: ['shared'] })
      expect(Object.keys(await idleOf(database))).toEqual(['both'])
    })
  })
}
