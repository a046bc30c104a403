import { expect, test } from 'bun:test'
import { holdable } from '../../../src/domain/blob/hold'
import type { BlobStore } from '../../../src/domain/store/blob-store'

function setup() {
  const removed: string[] = []
  const reports: unknown[] = []
  const store = { remove: async (file: string) => void removed.push(file) } as BlobStore
  return { removed, reports, blobs: holdable(store, (error) => reports.push(error)) }
}

test('bytes are removed at once while nobody holds them', async () => {
  const { removed, blobs } = setup()
  await blobs.remove('one')
  expect(removed).toEqual(['one'])
})

test('bytes that are held are removed when the last holder lets go', async () => {
  const { removed, reports, blobs } = setup()
  const [first, second] = [blobs.hold(), blobs.hold()]
  await blobs.remove('one')
  first[Symbol.dispose]()
  await blobs.remove('two')
  expect(removed).toEqual([])
  second[Symbol.dispose]()
  await Bun.sleep(0)
  expect(removed).toEqual(['one', 'two'])
  expect(reports).toEqual([])
})
