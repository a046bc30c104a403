import { expect, test } from 'bun:test'
import { openHoldable } from '../../../src/domain/blob/hold'
import type { BlobStore } from '../../../src/domain/store/blob-store'

async function setup() {
  const removed: string[] = []
  const reports: unknown[] = []
  const open = async (isUsed: (file: string) => Promise<boolean>) => {
    const remove = async (file: string) => {
      if (!(await isUsed(file))) removed.push(file)
    }
    return { remove } as BlobStore
  }
  const isUsed = async (file: string) => file === 'used'
  const blobs = await openHoldable(open, isUsed, (error) => reports.push(error))
  return { removed, reports, blobs }
}

test('bytes are removed at once while nobody holds them', async () => {
  const { removed, blobs } = await setup()
  for (const file of ['used', 'one']) await blobs.remove(file)
  expect(removed).toEqual(['one'])
})

test('bytes that are held are removed when the last holder lets go', async () => {
  const { removed, reports, blobs } = await setup()
  const [first, second] = [blobs.hold(), blobs.hold()]
  await blobs.remove('one')
  first[Symbol.dispose]()
  for (const file of ['used', 'two']) await blobs.remove(file)
  expect(removed).toEqual([])
  second[Symbol.dispose]()
  await Bun.sleep(0)
  expect(removed).toEqual(['one', 'two'])
  expect(reports).toEqual([])
})
