import { describe, expect, test } from 'bun:test'
import { findReadableBlob } from '../../../src/domain/access/blob'
import { roomForBlob } from '../../../src/domain/blob/upload'
import { refusalOf, setupStore } from '../../auth/setup'
import { administrator, ANY_AMOUNT, person, uploadText, usageOf } from './setup'

const alice = person('alice')
const bob = person('bob')

async function setupWorld() {
  const base = await setupStore()
  const database = await base.store.create('main')
  return { ...base, database }
}

describe('an upload', () => {
  test('that is repeated gets the same ref, and keeps its type', async () => {
    await using world = await setupWorld()
    const ref = await uploadText(world, alice, 'a1', 'hello')
    expect(await uploadText(world, alice, 'a1', 'hello', { type: 'text/html' })).toBe(ref)
    expect(await findReadableBlob(world.database, alice, ref)).toMatchObject({ type: 'text/plain' })
    expect(await usageOf(world.database, null)).toEqual({ bytes: 5, blobs: 1 })
  })

  test('of the same blob by another user lets both read it, and counts for both', async () => {
    await using world = await setupWorld()
    const ref = await uploadText(world, alice, 'a1', 'hello')
    expect(await uploadText(world, bob, 'a1', 'hello')).toBe(ref)
    for (const actor of [alice, bob]) {
      expect(await findReadableBlob(world.database, actor, ref)).toMatchObject({ size: 5 })
    }
    const usage = []
    for (const subject of [null, 'alice', 'bob']) usage.push(await usageOf(world.database, subject))
    expect(usage.map(({ bytes }) => bytes)).toEqual([5, 5, 5])
  })
})

describe('the room for blobs', () => {
  const limits = { blob: 100, database: 25, user: 15 }
  const text = 'ten bytes!'

  test('of one is what the smallest limit leaves', async () => {
    await using world = await setupWorld()
    const room = async (actor = alice) => {
      const { bytes, refuse } = await roomForBlob(
        world.database,
        actor,
        'new',
        limits,
        world.clock.now(),
      )
      return [bytes, refuse().code]
    }
    expect(await room()).toEqual([15, 'QUOTA_EXCEEDED'])
    await uploadText(world, alice, 'a1', text)
    expect(await room()).toEqual([5, 'QUOTA_EXCEEDED'])
    expect(await room(bob)).toEqual([15, 'QUOTA_EXCEEDED'])
    await uploadText(world, bob, 'b1', text)
    expect(await room(person('carol'))).toEqual([5, 'QUOTA_EXCEEDED'])
    const alone = { ...limits, blob: 3 }
    const { bytes, refuse } = await roomForBlob(
      world.database,
      alice,
      'new',
      alone,
      world.clock.now(),
    )
    expect([bytes, refuse().code]).toEqual([3, 'PAYLOAD_TOO_LARGE'])
  })

  test('is not asked for again when an upload is repeated', async () => {
    await using world = await setupWorld()
    await uploadText(world, alice, 'a1', text, { limits: { ...limits, user: 10, database: 10 } })
    const full = { blob: 1, user: 10, database: 10 }
    expect(await uploadText(world, alice, 'a1', text, { limits: full })).toBe('1:a1')
    expect(await roomForBlob(world.database, alice, 'a1', full, world.clock.now())).toMatchObject({
      bytes: 10,
    })
  })

  test('is not checked again for a client with GLOBAL_WRITE and without a user', async () => {
    await using world = await setupWorld()
    const client = { ...administrator, subject: null }
    const full = { ...limits, database: 10 }
    await uploadText(world, client, 'a1', text, { limits: full })
    const { bytes, refuse } = await roomForBlob(
      world.database,
      client,
      'a1',
      full,
      world.clock.now(),
    )
    expect([bytes, refuse().code]).toEqual([10, 'CONFLICT'])
  })

  test('says which limit was in the way, and how much it is', async () => {
    await using world = await setupWorld()
    const refusal = (limits: typeof ANY_AMOUNT) =>
      refusalOf(() => uploadText(world, alice, 'a1', text, { limits }))
    expect(await refusal({ ...ANY_AMOUNT, blob: 9 })).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: 'A blob may have at most 9 bytes here',
    })
    expect(await refusal({ ...ANY_AMOUNT, user: 9 })).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      message: expect.stringContaining('the quota of 9 bytes for each user'),
    })
    expect(await refusal({ ...ANY_AMOUNT, database: 9 })).toMatchObject({
      code: 'QUOTA_EXCEEDED',
      message: expect.stringContaining('blobs of this database'),
    })
  })
})
