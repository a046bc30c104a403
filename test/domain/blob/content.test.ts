import { expect, test } from 'bun:test'
import { Database as File } from 'bun:sqlite'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { removeSpent } from '../../../src/domain/blob/collection'
import { atPlaceOf, keepAll, openBlob } from '../../../src/domain/blob/content'
import { verifyBlobs } from '../../../src/domain/blob/verification'
import type { Arrival } from '../../../src/domain/store/blob-store'
import { codeOf, folderOf } from '../../auth/setup'
import { fileWith } from '../../blobs/files'
import { ANY_SIZE, chunksOf } from '../../contract/content-fixture'
import { alice, bob, type ByteWorld, hashOf, setupByteWorld } from './setup'

async function textOf({ database, bytes }: ByteWorld, text: string): Promise<string | undefined> {
  const content = await openBlob(database, bytes, { hash: hashOf(text), size: text.length })
  return content && (await new Response(content.body()).text())
}

test('an upload of the same bytes repairs those that are lost or changed', async () => {
  await using world = await setupByteWorld()
  const file = () => fileWith(join(world.folder, 'blobs'), 'abc')
  await world.upload(alice, 'one', 'abc')
  for (const damage of [() => truncateSync(file(), 2), () => writeFileSync(file(), 'xyz')]) {
    damage()
    await world.upload(bob, 'two', 'abc')
    await removeSpent(world.database, world.bytes)
    expect(await textOf(world, 'abc')).toBe('abc')
    expect(await world.contents()).toEqual([hashOf('abc')])
  }
  truncateSync(file(), 2)
  expect(await codeOf(() => textOf(world, 'abc'))).toBe('BLOB_DAMAGED')
})

test('a reader follows bytes that move', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one', 'abc')
  const places: string[] = []
  const text = await atPlaceOf(world.database, hashOf('abc'), async (place) => {
    places.push(place)
    if (places.length === 1) {
      await world.upload(bob, 'two', 'abc')
      await removeSpent(world.database, world.bytes)
    }
    return await new Response((await world.bytes.open(place, 3)).body()).text()
  })
  expect(text).toBe('abc')
  expect(new Set(places).size).toBe(2)
})

test('a content that no blob has any more is not opened', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one', 'abc')
  await world.database.write((tx) => tx.blobs.remove('one'))
  expect(await textOf(world, 'abc')).toBeUndefined()
})

test('blobs lose no bytes with the damaged hash of another one that had the same', async () => {
  await using world = await setupByteWorld()
  const { database } = world
  for (const id of ['one', 'two']) await world.upload(alice, id, 'abc')
  await world.upload(alice, 'other', 'xyz')
  {
    using file = new File(join(folderOf(database), 'database.sqlite'))
    expect(file.run("UPDATE blobs SET hash = 'x' || hash WHERE id = 'one'").changes).toBe(1)
  }
  const faults = async () =>
    (await verifyBlobs(database, world.bytes, world.clock.now())).faults.map(
      ({ problem, blobs }) => `${problem} ${blobs.join()}`,
    )
  expect(await codeOf(() => textOf(world, 'abc'))).toBe('BLOB_DAMAGED')
  expect(await faults()).toEqual(expect.arrayContaining(['missing two', 'missing one']))
  await database.write((tx) => tx.blobs.remove('one'))
  await removeSpent(database, world.bytes)
  expect(await faults()).toEqual([])
  expect([await textOf(world, 'abc'), await textOf(world, 'xyz')]).toEqual(['abc', 'xyz'])
})

test('of many arrivals none stays when the record fails', async () => {
  await using world = await setupByteWorld()
  await using stack = new AsyncDisposableStack()
  const arrivals: Arrival[] = []
  for (const text of ['one', 'two', 'three']) {
    arrivals.push(stack.use(await world.bytes.receive(chunksOf(text), ANY_SIZE)))
  }
  const failing = keepAll(arrivals, async () => {
    expect(await world.contents()).toHaveLength(3)
    throw new Error('refused')
  })
  expect(failing).rejects.toThrow('refused')
  await failing.catch(() => undefined)
  expect(await world.contents()).toEqual([])
})
