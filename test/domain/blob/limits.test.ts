import { describe, expect, test } from 'bun:test'
import {
  type BlobLimitChanges,
  changeBlobLimits,
  findBlobLimits,
  findOwnBlobLimits,
} from '../../../src/domain/blob/limits'
import { codeOf, setupStore } from '../../auth/setup'

const SERVER = { blob: 1_000, database: 5_000, user: null }
const NOTHING: BlobLimitChanges = { blob: undefined, database: undefined, user: undefined }

async function setupLimits() {
  const base = await setupStore()
  const database = await base.store.create('main')
  return {
    change: (changes: Partial<BlobLimitChanges>) =>
      database.write((tx) => changeBlobLimits(tx, { ...NOTHING, ...changes })),
    own: () => database.read(findOwnBlobLimits),
    limits: () => database.read((tx) => findBlobLimits(tx, SERVER)),
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

describe('the limits of blobs', () => {
  test('are those of the server until the database says otherwise, each by itself', async () => {
    await using world = await setupLimits()
    expect([await world.limits(), await world.own()]).toEqual([SERVER, {}])
    await world.change({ user: 700 })
    expect(await world.limits()).toEqual({ ...SERVER, user: 700 })
    await world.change({ database: null, blob: 10 })
    expect(await world.limits()).toEqual({ blob: 10, database: null, user: 700 })
    await world.change({ user: 'server', blob: 'server' })
    expect([await world.limits(), await world.own()]).toEqual([
      { ...SERVER, database: null },
      { database: null },
    ])
  })

  test('never let a blob be larger than its server takes', async () => {
    await using world = await setupLimits()
    await world.change({ blob: 1_001 })
    expect(await world.limits()).toEqual(SERVER)
  })

  test.each([{ blob: -1 }, { database: 1.5 }, { user: Number.NaN }, { blob: null as never }])(
    'are not %p',
    async (changes) => {
      await using world = await setupLimits()
      expect(await codeOf(() => world.change(changes))).toBe('UNPROCESSABLE')
      expect(await world.own()).toEqual({})
    },
  )
})
