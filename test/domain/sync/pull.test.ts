import { describe, expect, test } from 'bun:test'
import { Database as File } from 'bun:sqlite'
import { verifyDatabase } from '../../../src/domain/rows/verification'
import type { Named } from '../../../src/domain/sync/named-keys'
import { nextTurn } from '../../../src/domain/value/turn'
import { ALICE, BOB, MEMBER, TEAM } from './client'
import { createDevice, date, many, operationsOf, openWorld } from './setup'

describe('a later sync', () => {
  test('sends what changed: rows, properties and deletions', async () => {
    await using world = await openWorld()
    await world.put(ALICE, 'items', ...['itm1', 'itm2', 'itm3'].map((id) => ({ id, a: 1, b: 1 })))
    const device = createDevice(world.database, ALICE)
    await device.pull()
    expect((await device.pull()).changes).toEqual([])
    await world.put(ALICE, 'items', { id: 'itm1', a: 2 }, { id: 'itm4' })
    await world.remove('items', 'itm2')
    const answer = await device.pull()
    expect(operationsOf(answer)).toEqual([
      'delete items itm2',
      'update items itm1',
      'upsert items itm4',
    ])
    expect(device.table('items')).toEqual([
      { id: 'itm1', a: 2, realmId: ALICE.subject, owner: ALICE.subject },
      { id: 'itm3', a: 1, b: 1, realmId: ALICE.subject, owner: ALICE.subject },
      { id: 'itm4', realmId: ALICE.subject, owner: ALICE.subject },
    ])
  })

  test('sends realms that were gained whole, and names those that were lost no more', async () => {
    await using world = await openWorld()
    const device = createDevice(world.database, BOB)
    await device.pull()
    await world.put(ALICE, 'realms', TEAM)
    await world.put(ALICE, 'items', { id: 'itm1', ...TEAM })
    await world.putAll('members', MEMBER)
    const gained = await device.pull()
    expect(gained.realms).toContain('rlmTeam')
    expect(operationsOf(gained)).toContain('upsert items itm1')
    await world.remove('members', 'mmbBob')
    const lost = await device.pull()
    expect(lost.realms).not.toContain('rlmTeam')
    expect(lost.changes).toEqual([])
    expect(device.table('items')).toEqual([])
  })

  test('shows an invitation: the row of the realm and the own row, then all of it', async () => {
    await using world = await openWorld()
    const device = createDevice(world.database, BOB)
    await device.pull()
    await world.put(ALICE, 'realms', { ...TEAM, name: 'Team' })
    await world.put(ALICE, 'items', { id: 'itm1', ...TEAM })
    const invitation = { id: 'mmbBob', ...TEAM, email: BOB.email, invite: true }
    await world.putAll('members', invitation)
    const invited = await device.pull()
    expect(invited.inviteRealms).toEqual(['rlmTeam'])
    expect(operationsOf(invited)).toEqual(['upsert members mmbBob', 'upsert realms rlmTeam'])
    await world.put(ALICE, 'realms', { ...TEAM, name: 'Crew' })
    expect(operationsOf(await device.pull())).toEqual(['update realms rlmTeam'])
    expect((await device.pull()).changes).toEqual([])
    await world.putAll('members', { ...invitation, userId: BOB.subject, accepted: date(1) })
    const accepted = await device.pull()
    expect(accepted).toMatchObject({ inviteRealms: [] })
    expect(accepted.realms).toContain('rlmTeam')
    expect(operationsOf(accepted)).toContain('upsert items itm1')
  })

  test('removes an invitation that is withdrawn or turned to another while one to its realm is open', async () => {
    await using world = await openWorld()
    const device = createDevice(world.database, BOB)
    await world.put(ALICE, 'realms', TEAM)
    const invitations = ['mmb1', 'mmb2', 'mmb3', 'mmb5'].map((id) => ({
      id,
      ...TEAM,
      email: BOB.email,
    }))
    const others = ['other1', 'other2'].map((id) => ({ id, ...TEAM, email: 'carol@example.com' }))
    await world.putAll('members', ...invitations, ...others)
    expect((await device.pull()).inviteRealms).toEqual(['rlmTeam'])
    await world.remove('members', 'mmb1')
    await world.remove('members', 'other1')
    await world.putAll('members', { id: 'other2', ...TEAM, email: 'dora@example.com' })
    await world.putAll('members', { id: 'mmb2', ...TEAM, email: 'dora@example.com' })
    await world.putAll('members', { id: 'mmb4', ...TEAM, email: 'dora@example.com' })
    await world.putAll('members', { id: 'mmb5', realmId: 'rlm-public', email: BOB.email })
    const answer = await device.pull()
    expect(answer.inviteRealms).toEqual(['rlmTeam'])
    expect(operationsOf(answer).toSorted()).toEqual([
      'delete members mmb1',
      'delete members mmb2',
      'upsert members mmb5',
    ])
    expect((await device.pull()).changes).toEqual([])
  })

  test('keeps the own row that moved out of a realm to which only an invitation is left', async () => {
    await using world = await openWorld()
    const device = createDevice(world.database, BOB)
    await world.put(ALICE, 'realms', TEAM)
    const own = { id: 'mmb1', userId: BOB.subject, email: BOB.email, accepted: date(1) }
    await world.putAll('members', { ...own, ...TEAM }, { id: 'mmb2', ...TEAM, email: BOB.email })
    expect((await device.pull()).realms).toContain('rlmTeam')
    await world.putAll('members', { ...own, realmId: 'rlm-public' })
    await world.putAll('members', { id: 'later', ...TEAM, email: 'carol@example.com' })
    const answer = await device.pull()
    expect(answer.inviteRealms).toEqual(['rlmTeam'])
    const operations = operationsOf(answer)
    expect(operations).not.toContain('delete members later')
    expect(operations).toContain('upsert members mmb1')
    expect(operations).not.toContain('delete members mmb1')
  })

  test('sends an object that moves within sight once, and one that moves out as deleted', async () => {
    await using world = await openWorld()
    await world.put(ALICE, 'realms', TEAM)
    await world.putAll('members', MEMBER)
    await world.put(ALICE, 'items', { id: 'itm1', ...TEAM }, { id: 'itm2', ...TEAM })
    const [alice, bob] = [ALICE, BOB].map((actor) => createDevice(world.database, actor))
    await alice!.pull()
    await bob!.pull()
    await world.put(ALICE, 'items', { id: 'itm1', realmId: ALICE.subject })
    expect(operationsOf(await alice!.pull())).toEqual(['upsert items itm1'])
    expect(operationsOf(await bob!.pull())).toEqual(['delete items itm1'])
    await world.put(ALICE, 'items', { id: 'itm1', ...TEAM })
    expect(operationsOf(await bob!.pull())).toEqual(['upsert items itm1'])
  })

  test('shows only the own rows among the members of the public realm', async () => {
    await using world = await openWorld()
    const rows = [ALICE, BOB].map(({ subject }, at) => ({
      id: `mmb${at}`,
      realmId: 'rlm-public',
      userId: subject,
      permissions: { add: '*' },
    }))
    await world.putAll('members', ...rows)
    const device = createDevice(world.database, BOB)
    await device.pull()
    expect(device.table('members').map(({ id }) => id)).toEqual(['mmb1'])
    await world.putAll('members', ...rows.map((row) => ({ ...row, name: 'editor' })))
    expect(operationsOf(await device.pull())).toEqual(['upsert members mmb1'])
    await world.putAll('members', { ...rows[1], userId: ALICE.subject })
    expect(operationsOf(await device.pull())).toEqual(['delete members mmb1'])
    await world.remove('members', 'mmb1')
    await world.remove('members', 'mmb0')
    // That one was an own row once.
    expect(operationsOf(await device.pull())).toEqual(['delete members mmb1'])
  })

  test('gives others a turn between two reads, also while it finds nothing to send', async () => {
    await using world = await openWorld()
    let turns = 0
    let isOver = false
    const reads: number[] = []
    const read = ((work: Parameters<typeof world.database.read>[0]) => {
      reads.push(turns)
      // As long as reads may take beside each other in one turn.
      for (const begun = performance.now(); performance.now() - begun < 5;);
      return world.database.read(work)
    }) as typeof world.database.read
    const device = createDevice({ ...world.database, read }, ALICE)
    await device.pull()
    const rows = many(4_500, (n) => ({ id: `itm${n}` }))
    await world.put(ALICE, 'items', ...rows)
    const revision = await world.database.read((tx) => tx.revision())
    const as = {
      base: revision,
      isAsSent: true,
      isRejected: false,
      revision,
      properties: new Set(['id']),
    }
    const named: Named = new Map([['items', new Map(rows.map(({ id }) => [id, as]))]])
    reads.length = 0
    const counting = (async () => {
      for (; !isOver; turns += 1) await nextTurn()
    })()
    expect(operationsOf(await device.pull({ named }))).toEqual([])
    isOver = true
    await counting
    expect(reads.length).toBeGreaterThan(5)
    expect(new Set(reads).size).toBeGreaterThan(2)
  })
})

test('a member who refuses afterwards keeps nothing of the realm but the invitation', async () => {
  await using world = await openWorld()
  await world.put(ALICE, 'realms', TEAM)
  await world.putAll('members', MEMBER, { id: 'mmbOther', ...TEAM, userId: 'other' })
  await world.putAll('members', { id: 'mmbGone', ...TEAM, userId: 'gone' })
  await world.putAll('roles', { ...TEAM, name: 'helper', permissions: {} })
  const device = createDevice(world.database, BOB)
  await device.pull()
  expect(device.table('members').length).toBeGreaterThan(2)
  const rejected = { $t: 'Date', v: '2030-01-01T00:00:00.000Z' }
  await world.putAll('members', { ...MEMBER, rejected })
  await world.remove('members', 'mmbGone')
  const { inviteRealms } = await device.pull()
  expect(inviteRealms).toEqual(['rlmTeam'])
  expect(device.table('members').map(({ id }) => id)).toEqual(['mmbBob'])
  expect([device.table('roles'), device.table('realms').length]).toEqual([[], 1])
})

test('a row that was written by hand and accepted goes out whole, removed properties too', async () => {
  await using world = await openWorld()
  await world.put(ALICE, 'items', { id: 'itm1', title: 'One', old: 1 })
  await world.put(ALICE, 'items', { id: 'itm1', title: 'Two', old: 1 })
  const device = createDevice(world.database, ALICE)
  await device.pull()
  {
    using file = new File(world.file)
    const { number } = file.query("SELECT number FROM tables WHERE name = 'items'").get() as {
      number: number
    }
    file.run(
      `UPDATE o_${number} SET value = json_remove(json_set(value, '$.title', 'By hand'), '$.old')`,
    )
  }
  expect((await verifyDatabase(world.database, { accepts: true })).faults).toEqual([])
  expect(operationsOf(await device.pull())).toEqual(['upsert items itm1'])
  const [row] = device.table('items')
  expect(row).toMatchObject({ id: 'itm1', title: 'By hand' })
  expect(row).not.toHaveProperty('old')
})
