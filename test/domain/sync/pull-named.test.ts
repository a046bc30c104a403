import { describe, expect, test } from 'bun:test'
import type { Named, NamedKey } from '../../../src/domain/sync/named-keys'
import { ALICE, BOB, MEMBER, TEAM } from './client'
import { createDevice, many, operationsOf, openWorld } from './setup'

describe('the keys that a request named', () => {
  const NAMED: NamedKey = {
    base: 0,
    isAsSent: true,
    isRejected: false,
    revision: undefined,
    properties: new Set(['a']),
  }
  const named = (key: string, one: Partial<NamedKey>): Named =>
    new Map([['items', new Map([[key, { ...NAMED, ...one }]])]])

  async function setup() {
    const world = await openWorld()
    await world.put(ALICE, 'items', { id: 'itm1', a: 1, b: 1 })
    const device = createDevice(world.database, ALICE)
    await device.pull()
    return { world, device, revision: () => world.database.read((tx) => tx.revision()) }
  }

  test('are not repeated when they are as they were sent', async () => {
    const { world, device, revision } = await setup()
    await using _ = world
    await world.put(ALICE, 'items', { id: 'itm1', a: 2, b: 1 })
    const own = await revision()
    const answer = await device.pull({ named: named('itm1', { revision: own, base: own - 1 }) })
    expect(answer.changes).toEqual([])
  })

  test('are corrected when another wrote them afterwards', async () => {
    const { world, device, revision } = await setup()
    await using _ = world
    await world.put(ALICE, 'items', { id: 'itm1', a: 2, b: 1 })
    const own = await revision()
    await world.put(ALICE, 'items', { id: 'itm1', a: 2, b: 3 })
    const answer = await device.pull({ named: named('itm1', { revision: own, base: own - 1 }) })
    expect(answer.changes[0]?.muts).toEqual([
      { type: 'update', keys: ['itm1'], changeSpecs: [{ a: 2, b: 3 }] },
    ])
  })

  test('are answered once, though they changed as well', async () => {
    const { world, device, revision } = await setup()
    await using _ = world
    await world.put(ALICE, 'items', { id: 'itm1', a: 2, b: 1 })
    const base = (await revision()) - 1
    const answer = await device.pull({ named: named('itm1', { isAsSent: false, base }) })
    expect(operationsOf(answer)).toEqual(['update items itm1'])
  })

  test('are restored after a rejection: by an upsert, or a deletion where there is no row', async () => {
    const { world, device } = await setup()
    await using _ = world
    const rejected = { isRejected: true }
    const keys = new Map([
      ['itm1', { ...NAMED, ...rejected }],
      ['itm2', { ...NAMED, ...rejected }],
    ])
    const rejections = [{ txid: 't', name: 'NOT_AUTHORIZED', message: 'Not authorized' }]
    const answer = await device.pull({ named: new Map([['items', keys]]), rejections })
    expect(operationsOf(answer)).toEqual(['delete items itm2', 'upsert items itm1'])
    expect(answer.rejections).toEqual(rejections)
  })

  test('are deleted where the actor does not see the row', async () => {
    const { world } = await setup()
    await using _ = world
    const device = createDevice(world.database, BOB)
    await device.pull()
    const answer = await device.pull({ named: named('itm1', { isAsSent: false }) })
    expect(operationsOf(answer)).toEqual(['delete items itm1'])
  })

  test('of a realm that is new to the client are sent unless it made the rows', async () => {
    const { world, revision } = await setup()
    await using _ = world
    await world.put(ALICE, 'realms', TEAM)
    await world.put(ALICE, 'items', { id: 'itm2', ...TEAM })
    await world.putAll('members', MEMBER)
    const device = createDevice(world.database, BOB)
    const own = await world.database.read((tx) => {
      const table = tx.tables.find('items')
      return tx.objects.findMany(table!, ['itm2']).get('itm2')?.revision
    })
    const made = await device.pull({ named: named('itm2', { revision: own }) })
    expect(operationsOf(made)).not.toContain('upsert items itm2')
    await world.put(ALICE, 'items', { id: 'itm2', ...TEAM, a: 2 })
    const other = createDevice(world.database, BOB)
    const changed = await other.pull({ named: named('itm2', { revision: await revision() }) })
    expect(operationsOf(changed)).toContain('upsert items itm2')
  })

  test('of a realm that an answer left out are sent with it, those that the client made before too', async () => {
    const { world, device, revision } = await setup()
    await using _ = world
    device.lastPull = { ...device.lastPull, serverRevision: '["elsewhere","3"]' }
    await device.pull()
    // Made before that answer, which has dropped it with its realm, and sent afterwards.
    await world.put(ALICE, 'items', { id: 'itm2' })
    const answer = await device.pull({ named: named('itm2', { revision: await revision() }) })
    expect(operationsOf(answer)).toContain('upsert items itm2')
  })

  test('are deleted where the client moved a row out of a realm that it loses, and the row is gone', async () => {
    await using world = await openWorld()
    const device = createDevice(world.database, BOB)
    await world.put(ALICE, 'realms', TEAM)
    await world.put(ALICE, 'items', { id: 'itm2', ...TEAM })
    await world.putAll('members', MEMBER)
    await device.pull()
    await world.remove('items', 'itm2')
    await world.remove('members', 'mmbBob')
    const answer = await device.pull({ named: named('itm2', { properties: new Set(['realmId']) }) })
    expect(operationsOf(answer)).toContain('delete items itm2')
  })

  test('are many: they are restored in several reads', async () => {
    const { world, device } = await setup()
    await using _ = world
    const keys = new Map(many(2_500, (at) => [`itm${at}`, { ...NAMED, isRejected: true }] as const))
    const answer = await device.pull({ named: new Map([['items', keys]]) })
    expect(operationsOf(answer)).toHaveLength(2_500)
    expect(device.table('items')).toHaveLength(1)
  })
})
