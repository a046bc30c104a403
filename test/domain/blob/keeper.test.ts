import { expect, test } from 'bun:test'
import { GRACE } from '../../../src/domain/blob/collection'
import { createBlobKeeper } from '../../../src/domain/blob/keeper'
import { bring } from '../../contract/content-fixture'
import { removeUser } from '../../../src/domain/user/removal'
import { turns, until } from '../../timing'
import { alice, bob, type ByteWorld, hashOf, refTo, setupByteWorld } from './setup'

function keep({ database, bytes, clock }: ByteWorld, every?: number) {
  const reports: unknown[] = []
  const report = (error: unknown) => reports.push(error)
  const keeper = createBlobKeeper({
    database,
    bytes,
    clock,
    report,
    delay: 0,
    ...(every && { every }),
  })
  return { ...keeper, reports }
}

test('the keeper collects from time to time', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one')
  await using keeper = keep(world, 1)
  await turns()
  expect(await world.ids()).toEqual(['one'])
  world.clock.advance(GRACE)
  await until(async () => (await world.contents()).length === 0)
  expect(await world.ids()).toEqual([])
  expect(keeper.reports).toEqual([])
})

test('the keeper finds at its start what no blob needs, as after a crash between a file and its record', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one')
  await bring(world.bytes, 'stray')
  expect(await world.contents()).toHaveLength(2)
  await using keeper = keep(world)
  await keeper.idle()
  expect(await world.contents()).toEqual([hashOf('one')])
  expect(keeper.reports).toEqual([])
})

test('the keeper removes the bytes of a deleted user as soon as they are erased', async () => {
  await using world = await setupByteWorld()
  await using keeper = keep(world)
  for (const id of ['loose', 'private', 'shared']) await world.upload(alice, id)
  await world.put(alice, 'files', { file: [refTo('private'), refTo('shared')] })
  await world.put(alice, 'files', { realmId: 'rlm-team', file: refTo('shared') })
  await world.database.write((tx) => removeUser(tx, 'alice', world.clock.now()))
  await world.work()
  await keeper.idle()
  expect(await world.ids()).toEqual(['shared'])
  expect(await world.contents()).toEqual([hashOf('shared')])
  await world.remove(bob, 'realms', 'rlm-team')
  await world.work()
  await keeper.idle()
  expect([await world.ids(), await world.contents()]).toEqual([[], []])
})

test('the keeper reports what fails and goes on at the next time', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one')
  world.clock.advance(GRACE)
  const failure = new Error('no disk')
  let isBroken = true
  const bytes = {
    ...world.bytes,
    remove: (...call: Parameters<typeof world.bytes.remove>) =>
      isBroken ? Promise.reject(failure) : world.bytes.remove(...call),
  }
  await using keeper = keep({ ...world, bytes })
  await keeper.collect()
  await keeper.idle()
  expect(new Set(keeper.reports)).toEqual(new Set([failure]))
  isBroken = false
  await keeper.collect()
  expect(await world.contents()).toEqual([])
})

test('the keeper stops with its database', async () => {
  await using world = await setupByteWorld()
  await world.upload(alice, 'one')
  const keeper = keep(world, 1)
  await keeper[Symbol.asyncDispose]()
  world.clock.advance(GRACE)
  await turns()
  expect(await world.ids()).toEqual(['one'])
})

test('a keeper without the duty collects nothing in the background until it has it', async () => {
  await using world = await setupByteWorld()
  await using first = keep(world)
  await using second = keep(world, 1)
  await world.upload(alice, 'one')
  world.clock.advance(GRACE)
  await turns()
  await second.idle()
  expect(await world.ids()).toEqual(['one'])
  await first[Symbol.asyncDispose]()
  await second.idle()
  expect([await world.ids(), await world.contents()]).toEqual([[], []])
})
