import { describe, expect, test } from 'bun:test'
import { collectBlobs, GRACE, removeStrays } from '../../../src/domain/blob/collection'
import type { BlobStore } from '../../../src/domain/store/blob-store'
import { codeOf, HOUR } from '../../auth/setup'
import { ANY_SIZE, chunksOf } from '../../contract/content-fixture'
import { createRandom } from '../../lab/random'
import {
  administrator,
  ANY_AMOUNT,
  alice,
  type ByteWorld,
  bob,
  hashOf,
  refTo,
  setupByteWorld,
  uploadText,
} from './setup'

const collect = (world: ByteWorld, bytes = world.bytes) =>
  collectBlobs(world.database, bytes, world.clock.now())

describe('a blob that nothing references', () => {
  test('has its grace from the moment the last reference went', async () => {
    await using world = await setupByteWorld()
    await world.upload(alice, 'one')
    const { id } = await world.put(alice, 'files', { file: refTo('one') })
    world.clock.advance(10 * GRACE)
    expect(await collect(world)).toEqual({ blobs: 0, bytes: 0 })
    await world.put(alice, 'files', { id, title: 'without' })
    world.clock.advance(GRACE - 1)
    expect(await collect(world)).toEqual({ blobs: 0, bytes: 0 })
    world.clock.advance(1)
    expect(await collect(world)).toMatchObject({ blobs: 1 })
  })

  test('has a new one when it is uploaded again', async () => {
    await using world = await setupByteWorld()
    await world.upload(alice, 'one')
    world.clock.advance(GRACE)
    await world.upload(alice, 'one')
    expect(await collect(world)).toMatchObject({ blobs: 0 })
    world.clock.advance(GRACE)
    expect(await collect(world)).toMatchObject({ blobs: 1 })
  })

  test('leaves the bytes to another blob that has the same', async () => {
    await using world = await setupByteWorld()
    await world.upload(alice, 'one', 'same')
    world.clock.advance(HOUR)
    await world.upload(bob, 'two', 'same')
    world.clock.advance(GRACE - HOUR)
    await collect(world)
    expect([await world.ids(), await world.contents()]).toEqual([['two'], [hashOf('same')]])
    world.clock.advance(HOUR)
    await collect(world)
    expect([await world.ids(), await world.contents()]).toEqual([[], []])
  })

  test('is collected with many others, and told as they go', async () => {
    await using world = await setupByteWorld()
    await Promise.all(Array.from({ length: 450 }, (_, n) => world.upload(alice, `n${n}`)))
    world.clock.advance(GRACE)
    const told: number[] = []
    const progress = (done: number) => told.push(done)
    await collectBlobs(world.database, world.bytes, world.clock.now(), { progress })
    expect(told).toEqual([200, 400, 450])
    expect([await world.ids(), await world.contents()]).toEqual([[], []])
  })
})

describe('bytes that no blob needs', () => {
  test('are found by a sweep when they could not be removed at once', async () => {
    await using world = await setupByteWorld()
    await world.upload(alice, 'one')
    world.clock.advance(GRACE)
    const broken: BlobStore = {
      ...world.bytes,
      remove: () => Promise.reject(new Error('the process ended')),
    }
    const ended = collect(world, broken)
    expect(ended).rejects.toThrow('the process ended')
    await ended.catch(() => undefined)
    expect([await world.ids(), await world.contents()]).toEqual([[], [hashOf('one')]])
    expect(await removeStrays(world.database, world.bytes)).toBe(1)
    expect(await world.contents()).toEqual([])
  })

  test('that are uploaded again while they are collected stay', async () => {
    await using world = await setupByteWorld()
    await world.upload(alice, 'one', 'same')
    world.clock.advance(GRACE)
    await using arrival = await world.bytes.receive(chunksOf('same'), ANY_SIZE)
    await arrival.keep(async () => {
      await collect(world)
      expect([await world.ids(), await world.contents()]).toEqual([[], [hashOf('same')]])
      await uploadText(world, alice, 'two', 'same')
    })
    await collect(world)
    expect([await world.ids(), await world.contents()]).toEqual([['two'], [hashOf('same')]])
  })

  test('are removed with a failed record, unless another blob has the same', async () => {
    await using world = await setupByteWorld()
    await world.upload(alice, 'one', 'known')
    for (const text of ['known', 'unknown']) {
      await using arrival = await world.bytes.receive(chunksOf(text), ANY_SIZE)
      const limits = { ...ANY_AMOUNT, user: 5 }
      const refused = arrival.keep(() => uploadText(world, alice, 'two', text, { limits }))
      expect(await codeOf(() => refused)).toBe('QUOTA_EXCEEDED')
    }
    expect([await world.ids(), await world.contents()]).toEqual([['one'], [hashOf('known')]])
  })

  test('that an upload is about to record are no strays', async () => {
    await using world = await setupByteWorld()
    await using arrival = await world.bytes.receive(chunksOf('one'), ANY_SIZE)
    await arrival.keep(async () => {
      expect(await removeStrays(world.database, world.bytes)).toBe(0)
      await uploadText(world, alice, 'one')
    })
    expect(await world.contents()).toEqual([hashOf('one')])
  })
})

test('a collection of nothing writes nothing', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one')
  const write = () => Promise.reject(new Error('this is a read-only disk'))
  const database = { ...world.database, write }
  expect(await collectBlobs(database, world.bytes, world.clock.now())).toEqual({
    blobs: 0,
    bytes: 0,
  })
})

test('no collection loses what is uploaded or referenced at the same time', async () => {
  for (let seed = 1; seed <= 10; seed += 1) {
    await using world = await setupByteWorld()
    const dice = createRandom(seed)
    const texts = ['red', 'green', 'blue']
    const acts: (() => Promise<unknown>)[] = [
      () => world.upload(alice, `${dice.between(1, 8)}`, dice.pick(texts)),
      () =>
        world.put(
          administrator,
          'files',
          { id: `f${dice.between(1, 4)}`, realmId: 'alice', a: refTo(`${dice.between(1, 8)}`) },
          'all',
        ),
      () => world.remove(alice, 'files', `f${dice.between(1, 4)}`),
      () => collect(world),
      async () => world.clock.advance(GRACE / 2),
    ]
    for (let round = 0; round < 12; round += 1) {
      const started = Array.from({ length: 8 }, () => dice.pick(acts)())
      // Some are refused: ids are taken, objects are not there.
      await Promise.allSettled(started)
    }
    await collect(world)
    const { blobs, needed } = await world.database.read((tx) => {
      const blobs = tx.blobs.list('', 100)
      return { blobs, needed: new Set(blobs.map(({ hash }) => hash)) }
    })
    expect(await world.contents()).toEqual([...needed].toSorted())
    for (const { id, idleSince } of blobs) {
      const references = await world.database.read((tx) => tx.blobs.references(id, 10))
      expect(idleSince === null).toBe(references.length > 0)
      expect(idleSince ?? Infinity).toBeGreaterThan(world.clock.now() - GRACE)
    }
  }
})
