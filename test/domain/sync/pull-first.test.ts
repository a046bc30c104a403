import { describe, expect, test } from 'bun:test'
import { ANONYMOUS } from '../../../src/domain/access/actor'
import type { Named } from '../../../src/domain/sync/named-keys'
import { ALICE, BOB, MEMBER, TEAM } from './client'
import { createDevice, declare, many, MARKED, NOW, operationsOf, openWorld, SCHEMA } from './setup'

describe('a first sync (protocol.md §4.7)', () => {
  test('gives an anonymous client what is public', async () => {
    await using world = await openWorld()
    await world.putAll('items', { id: 'itm1', realmId: 'rlm-public' })
    await world.put(ALICE, 'items', { id: 'itm2' })
    const answer = await createDevice(world.database, ANONYMOUS).pull()
    expect(answer).toMatchObject({
      dbId: world.database.id,
      realms: ['rlm-public'],
      inviteRealms: [],
      rejections: [],
    })
    expect(operationsOf(answer)).toEqual(['upsert items itm1'])
    expect(JSON.parse(answer.serverRevision)).toEqual([expect.any(String), expect.any(String)])
  })

  test('gives a user everything that they see, and lists their own realm before it has rows', async () => {
    await using world = await openWorld()
    const device = createDevice(world.database, BOB)
    expect(await device.pull()).toMatchObject({ realms: [BOB.subject, 'rlm-public'], changes: [] })
    await world.put(BOB, 'items', { id: 'itm1' })
    await world.put(ALICE, 'realms', TEAM)
    await world.put(ALICE, 'items', { id: 'itm2', ...TEAM }, { id: 'itm3' })
    await world.putAll('members', MEMBER)
    const fresh = createDevice(world.database, BOB)
    const answer = await fresh.pull()
    expect(answer.realms).toEqual([BOB.subject, 'rlm-public', 'rlmTeam'])
    expect(fresh.table('items').map(({ id }) => id)).toEqual(['itm1', 'itm2'])
    expect(fresh.table('realms')).toHaveLength(1)
    await device.pull()
    expect(new Map(device.rows)).toEqual(new Map(fresh.rows))
  })

  test('sends many rows in parts, with what others write meanwhile', async () => {
    await using world = await openWorld()
    const text = 'x'.repeat(1_000)
    const objects = Array.from({ length: 900 }, (_, at) => ({ id: `itm${at}`, text, n: 0 }))
    await world.put(ALICE, 'items', ...objects)
    const device = createDevice(world.database, ALICE)
    let writes = 0
    const { parts, serverRevision } = await device.pull({}, async () => {
      writes += 1
      await world.put(ALICE, 'items', { id: `itm${writes}`, n: writes }, { id: `itmNew${writes}` })
      await world.put(ALICE, 'items', { id: `itm${899 - writes}`, n: writes })
      await world.remove('items', `itm${writes + 100}`)
    })
    expect(parts).toBeGreaterThan(2)
    expect(JSON.parse(serverRevision)).toHaveLength(2)
    // The last part was read before the last write.
    await device.pull()
    const fresh = createDevice(world.database, ALICE)
    await fresh.pull()
    expect(device.table('items')).toEqual(fresh.table('items'))
    expect(fresh.table('items')).toHaveLength(900)
  })

  test('reads at most a thousand rows at once, of those that the client has made too', async () => {
    await using world = await openWorld()
    const rows = Array.from({ length: 4_500 }, (_, n) => ({ id: `itm${n}` }))
    await world.put(ALICE, 'items', ...rows)
    let reads = 0
    const read = ((work: Parameters<typeof world.database.read>[0]) => {
      reads += 1
      return world.database.read(work)
    }) as typeof world.database.read
    const device = createDevice({ ...world.database, read }, ALICE)
    const { revision } = await world.database.read((tx) => ({
      revision: tx.revision(),
    }))
    const made = {
      base: revision,
      isAsSent: true,
      isRejected: false,
      revision,
      properties: new Set('id'),
    }
    const named: Named = new Map([['items', new Map(rows.map(({ id }) => [id, made]))]])
    expect(operationsOf(await device.pull({ named }))).toEqual([])
    expect(reads).toBeGreaterThan(5)
  })

  test('of several parts waits for its turn before it reads them, one of a single part does not', async () => {
    await using world = await openWorld()
    const device = createDevice(world.database, ALICE)
    let waits = 0
    const untilItsTurn = async () => {
      waits += 1
      await world.put(ALICE, 'items', { id: `itmLate${waits}` })
    }
    await device.pull()
    await world.put(ALICE, 'items', { id: 'itmFirst' })
    await device.pull({ untilItsTurn })
    expect(waits).toBe(0)
    const text = 'x'.repeat(1_000)
    await world.put(ALICE, 'items', ...many(600, (at) => ({ id: `itm${at}`, text })))
    expect((await device.pull({ untilItsTurn })).parts).toBeGreaterThan(2)
    expect(waits).toBe(1)
    // It has the changes that were made while it waited, too.
    expect(device.table('items')).toHaveLength(602)
    const fresh = createDevice(world.database, ALICE)
    await fresh.pull({ untilItsTurn })
    expect([waits, fresh.table('items').length]).toEqual([2, 603])
  })

  test('gives a member of many realms their rows in all tables', async () => {
    await using world = await openWorld()
    const realms = many(230, (at) => `rlm${at}`)
    await world.put(ALICE, 'realms', ...realms.map((realmId) => ({ realmId })))
    await world.put(ALICE, 'items', ...realms.map((realmId, at) => ({ id: `itm${at}`, realmId })))
    await world.put(ALICE, 'notes', ...realms.slice(100).map((id) => ({ id, realmId: id })))
    const device = createDevice(world.database, ALICE)
    await device.pull()
    const counts = ['items', 'notes', 'realms', 'members'].map((name) => device.table(name).length)
    expect(counts).toEqual([230, 130, 230, 230])
  })

  test('sends no more of a realm that is lost meanwhile, and lists it until the next one', async () => {
    await using world = await openWorld()
    await world.put(ALICE, 'realms', TEAM)
    await world.putAll('members', MEMBER)
    const text = 'x'.repeat(10_000)
    await world.put(ALICE, 'items', ...many(200, (at) => ({ id: `itm${at}`, ...TEAM, text })))
    const device = createDevice(world.database, BOB)
    let isLost = false
    const answer = await device.pull({}, async () => {
      if (!isLost) await world.remove('members', 'mmbBob')
      isLost = true
    })
    expect(answer.realms).toContain('rlmTeam')
    expect(device.table('items').length).toBeLessThan(200)
    expect((await device.pull()).realms).not.toContain('rlmTeam')
    expect(device.table('items')).toEqual([])
  })
})

describe('the tables of a client (protocol.md §10.1)', () => {
  test('get all rows when they are new to it, and none while they are hidden or undeclared', async () => {
    await using world = await openWorld()
    await world.put(ALICE, 'items', { id: 'itm1' })
    await world.put(ALICE, 'notes', { id: 'n1' })
    const device = createDevice(world.database, ALICE)
    device.schema = { items: { markedForSync: true } }
    const first = await device.pull()
    expect(operationsOf(first)).toEqual(['upsert items itm1'])
    expect(first.schema).toMatchObject({ items: { initiallySynced: true } })
    device.schema = { items: MARKED, notes: { markedForSync: true }, local: {} }
    const second = await device.pull()
    expect(operationsOf(second)).toEqual(['upsert notes n1'])
    expect(second.schema).toEqual({
      items: expect.objectContaining({ initiallySynced: true, idPrefix: 'itm' }),
      notes: { markedForSync: true, initiallySynced: true },
      local: { initiallySynced: false },
    })
    device.schema = SCHEMA
    await declare(world.database, { notes: null })
    await device.pull()
    const hidden = await createDevice(world.database, ALICE).pull()
    expect(operationsOf(hidden)).toEqual(['upsert items itm1'])
    expect(hidden.schema['notes']).toEqual({ ...MARKED, initiallySynced: false })
  })
})

describe('a client whose revision cannot be placed (protocol.md §4.7)', () => {
  test('gets an answer without its realms, and everything with the next', async () => {
    await using world = await openWorld()
    await world.put(ALICE, 'items', { id: 'itm1' })
    const device = createDevice(world.database, ALICE)
    await device.pull()
    device.lastPull = { ...device.lastPull, serverRevision: '["elsewhere","3"]' }
    expect(await device.pull()).toMatchObject({ realms: [], inviteRealms: [], changes: [] })
    expect(device.table('items')).toEqual([])
    expect((await device.pull()).realms).toContain('alice@example.com')
    expect(device.table('items')).toHaveLength(1)
  })

  test('gets everything anew when deletions after its last pull were forgotten', async () => {
    await using world = await openWorld()
    await world.put(ALICE, 'items', { id: 'itm1' }, { id: 'itm2' })
    const device = createDevice(world.database, ALICE)
    await device.pull()
    await world.remove('items', 'itm1')
    await world.database.write((tx) => tx.prune('history', NOW + 1, 10))
    expect(await device.pull()).toMatchObject({ realms: [], inviteRealms: [] })
    await device.pull()
    expect(device.table('items').map(({ id }) => id)).toEqual(['itm2'])
    // Its revision is newer than the forgotten deletion.
    expect((await device.pull()).realms).toHaveLength(2)
  })

  test('gets everything anew when own rows that others got were forgotten', async () => {
    await using world = await openWorld()
    const row = { id: 'mmb1', realmId: 'rlm-public', userId: BOB.subject }
    await world.putAll('members', row)
    const device = createDevice(world.database, BOB)
    await device.pull()
    expect(device.table('members')).toHaveLength(1)
    // That leaves no tombstone.
    await world.putAll('members', { ...row, userId: ALICE.subject })
    await world.database.write((tx) => tx.prune('history', NOW + 1, 10))
    expect(await device.pull()).toMatchObject({ realms: [], inviteRealms: [] })
    await device.pull()
    expect(device.table('members')).toEqual([])
  })

  test('drops and fetches only a realm that was deleted and made again', async () => {
    await using world = await openWorld()
    await world.put(ALICE, 'items', { id: 'itm1' })
    await world.putAll('realms', { ...TEAM, owner: ALICE.subject })
    await world.put(ALICE, 'items', { id: 'itm2', ...TEAM })
    const device = createDevice(world.database, ALICE)
    await device.pull()
    await world.remove('realms', 'rlmTeam')
    await world.putAll('realms', { ...TEAM, owner: ALICE.subject })
    const dropped = await device.pull()
    expect(dropped.realms).toEqual([ALICE.subject, 'rlm-public'])
    expect(device.table('items').map(({ id }) => id)).toEqual(['itm1'])
    expect((await device.pull()).realms).toContain('rlmTeam')
    expect(device.table('realms')).toHaveLength(1)
  })
})
