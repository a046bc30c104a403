import { expect, test } from 'bun:test'
import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { verifyBlobs } from '../../../src/domain/blob/verification'
import { fileWith } from '../../blobs/files'
import { bring } from '../../contract/content-fixture'
import { alice, type ByteWorld, hashOf, setupByteWorld } from './setup'

const verify = ({ database, bytes }: ByteWorld) => verifyBlobs(database, bytes)

const fileOf = ({ folder }: ByteWorld, text: string) => fileWith(join(folder, 'blobs'), text)

test('bytes that are all there are found good, each content once, with progress', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one', 'same')
  await world.upload(alice, 'two', 'same')
  await world.upload(alice, 'empty', '')
  await world.upload(alice, 'large', 'x'.repeat(600_000))
  const told: [number, number][] = []
  const progress = (...done: [number, number]) => told.push(done)
  const found = await verifyBlobs(world.database, world.bytes, { progress })
  expect(found).toEqual({ checked: 3, bytes: 600_004, faults: [], strays: [] })
  expect(new Set(told.map(([, total]) => total))).toEqual(new Set([600_004]))
  expect(told.at(-1)?.[0]).toBe(600_004)
  expect(told.length).toBeGreaterThan(3)
})

test('bytes that are damaged or missing are named with their blobs, strays by their file', async () => {
  await using world = await setupByteWorld()
  for (const id of ['good', 'cut', 'lost']) await world.upload(alice, id)
  await world.upload(alice, 'lost-too', 'lost')
  truncateSync(fileOf(world, 'cut'), 1)
  rmSync(fileOf(world, 'lost'))
  const { file } = await bring(world.bytes, 'stray')
  const { checked, faults, strays } = await verify(world)
  expect(checked).toBe(3)
  const sorted = faults.toSorted((one, other) => (one.problem < other.problem ? -1 : 1))
  expect(sorted).toEqual([
    { problem: 'damaged', hash: hashOf('cut'), blobs: ['cut'] },
    { problem: 'missing', hash: hashOf('lost'), blobs: ['lost', 'lost-too'] },
  ])
  expect(strays).toEqual([file])
})

test('a verification that is interrupted reads no further, not even in the same file', async () => {
  await using world = await setupByteWorld()
  for (const id of ['one', 'two']) await world.upload(alice, id, id.repeat(1_000_000))
  const interrupt = new AbortController()
  const told: number[] = []
  const progress = (done: number) => {
    told.push(done)
    interrupt.abort()
  }
  const { signal } = interrupt
  const verifying = verifyBlobs(world.database, world.bytes, { progress, signal })
  expect(await verifying.catch((error: unknown) => error)).toBe(signal.reason)
  expect(told).toHaveLength(1)
  expect(told[0]).toBeLessThan(3_000_000)
})
