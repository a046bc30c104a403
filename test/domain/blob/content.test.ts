import { expect, test } from 'bun:test'
import { Database as File } from 'bun:sqlite'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectBlobs, GRACE } from '../../../src/domain/blob/collection'
import { keepAll, openBlob, withFileOf } from '../../../src/domain/blob/content'
import { verifyBlobs } from '../../../src/domain/blob/verification'
import type { Arrival } from '../../../src/domain/store/blob-store'
import { codeOf, folderOf } from '../../auth/setup'
import { fileWith } from '../../blobs/files'
import { ANY_SIZE, chunksOf } from '../../contract/content-fixture'
import { alice, bob, type ByteWorld, hashOf, setupByteWorld } from './setup'

async function textOf({ database, bytes }: ByteWorld, text: string): Promise<string | undefined> {
  const [blob] = await database.read((tx) => tx.blobs.byFile({ file: hashOf(text), id: '' }, 1))
  const content = blob && (await openBlob(database, bytes, blob))
  return content && (await new Response(content.body()).text())
}

test('an upload of the same bytes repairs those that are lost or changed', async () => {
  await using world = await setupByteWorld()
  const file = () => fileWith(join(world.folder, 'blobs'), 'abc')
  await world.upload(alice, 'one', 'abc')
  for (const damage of [() => truncateSync(file(), 2), () => writeFileSync(file(), 'xyz')]) {
    damage()
    await world.upload(bob, 'two', 'abc')
    expect(await textOf(world, 'abc')).toBe('abc')
    expect(await world.contents()).toEqual([hashOf('abc')])
  }
  truncateSync(file(), 2)
  expect(await codeOf(() => textOf(world, 'abc'))).toBe('BLOB_DAMAGED')
})

test('a reader follows a blob whose bytes are in another file now', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one', 'abc')
  const blob = { id: 'one', file: hashOf('abc') }
  const tried: string[] = []
  const found = await withFileOf(world.database, blob, async (file) => {
    tried.push(file)
    if (tried.length > 1) return 'found'
    await world.database.write((tx) => tx.blobs.setFile('one', 'elsewhere'))
    throw new Error('gone')
  })
  expect([found, tried]).toEqual(['found', [hashOf('abc'), 'elsewhere']])
})

test('a blob that was removed meanwhile is not opened', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one', 'abc')
  const blob = { id: 'one', file: hashOf('abc'), size: 3 }
  await world.database.write((tx) => tx.blobs.remove('one'))
  await world.bytes.remove(blob.file)
  expect(await openBlob(world.database, world.bytes, blob)).toBeUndefined()
})

test('blobs lose no bytes with the damaged record of another one that had the same', async () => {
  await using world = await setupByteWorld()
  const { database, bytes } = world
  for (const id of ['one', 'two']) await world.upload(alice, id, 'abc')
  await world.upload(alice, 'other', 'xyz')
  {
    using file = new File(join(folderOf(database), 'database.sqlite'))
    const damage = `UPDATE blobs SET file = '${hashOf('xyz')}' WHERE id = 'one'`
    expect(file.run(damage).changes).toBe(1)
  }
  world.clock.advance(GRACE)
  for (const id of ['two', 'other']) await world.upload(alice, id, id === 'two' ? 'abc' : 'xyz')
  expect(await collectBlobs(database, bytes, world.clock.now())).toMatchObject({ blobs: 1 })
  expect((await verifyBlobs(database, bytes)).faults).toEqual([])
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
