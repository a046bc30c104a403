import { describe, expect, test } from 'bun:test'
import { ANONYMOUS } from '../../../src/domain/access/actor'
import { findReadableBlob } from '../../../src/domain/access/blob'
import { roomForBlob } from '../../../src/domain/blob/upload'
import { codeOf, refusalOf, setupStore } from '../../auth/setup'
import { administrator, ANY_AMOUNT, hashOf, person, uploadText, usageOf } from './setup'

const alice = person('alice')
const bob = person('bob')

async function setupWorld() {
  const base = await setupStore()
  const database = await base.store.create('main')
  return { ...base, database }
}

describe('an upload', () => {
  test('gives the ref that only its uploader can read it by', async () => {
    await using world = await setupWorld()
    const { database, clock } = world
    const ref = await uploadText(world, alice, 'a1', 'hello')
    expect(ref).toBe('1:a1')
    expect(await findReadableBlob(database, alice, ref)).toEqual({
      id: 'a1',
      hash: hashOf('hello'),
      file: hashOf('hello'),
      size: 5,
      type: 'text/plain',
      created: clock.now(),
    })
    expect(await codeOf(() => findReadableBlob(database, bob, ref))).toBe('UNKNOWN_BLOB')
    expect(await codeOf(() => findReadableBlob(database, ANONYMOUS, ref))).toBe('INVALID_TOKEN')
    const reader = person('carol', 'GLOBAL_READ')
    expect(await findReadableBlob(database, reader, ref)).toMatchObject({ id: 'a1' })
  })

  test('that is repeated gets the same ref, and keeps its type', async () => {
    await using world = await setupWorld()
    const ref = await uploadText(world, alice, 'a1', 'hello')
    expect(await uploadText(world, alice, 'a1', 'hello', { type: 'text/html' })).toBe(ref)
    expect(await findReadableBlob(world.database, alice, ref)).toMatchObject({ type: 'text/plain' })
    expect(await usageOf(world.database, null)).toEqual({ bytes: 5, blobs: 1 })
  })

  test('of other bytes under an existing id is refused to every caller', async () => {
    await using world = await setupWorld()
    await uploadText(world, alice, 'a1', 'hello')
    for (const actor of [alice, bob, administrator]) {
      expect(await codeOf(() => uploadText(world, actor, 'a1', 'other'))).toBe('CONFLICT')
    }
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

  test('by a stranger who has the bytes but not the type tells nothing of the type', async () => {
    await using world = await setupWorld()
    await uploadText(world, alice, 'a1', 'hello')
    const upload = () => uploadText(world, bob, 'a1', 'hello', { type: 'text/html' })
    expect(await codeOf(upload)).toBe('CONFLICT')
    expect(await codeOf(() => findReadableBlob(world.database, bob, '1:a1'))).toBe('UNKNOWN_BLOB')
  })

  test('under an id that is none is refused before any byte is taken', async () => {
    await using world = await setupWorld()
    const ask = () => roomForBlob(world.database, alice, 'a/b', ANY_AMOUNT, world.clock.now())
    expect(await codeOf(ask)).toBe('INVALID_REQUEST')
    expect(await codeOf(() => uploadText(world, alice, 'a/b'))).toBe('INVALID_REQUEST')
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

  test('is never overdrawn by uploads at the same time', async () => {
    await using world = await setupWorld()
    const ids = Array.from({ length: 20 }, (_, n) => `a${n}`)
    const upload = (id: string) =>
      uploadText(world, person(`user ${id}`), id, `${text.slice(1)}${id}`.slice(0, 10), {
        limits: { ...limits, database: 55 },
      })
    const outcomes = await Promise.allSettled(ids.map(upload))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
    expect(await usageOf(world.database, null)).toEqual({ bytes: 50, blobs: 5 })
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
