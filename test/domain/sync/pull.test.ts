import { describe, expect, test } from 'bun:test'
import { Database as File } from 'bun:sqlite'
import { ANONYMOUS } from '../../../src/domain/access/actor'
import { verifyDatabase } from '../../../src/domain/rows/verification'
import type { Named, NamedKey } from '../../../src/domain/sync/named'
import { nextTurn } from '../../../src/domain/value/turn'
import { createDevice, declare, MARKED, NOW, operationsOf, openWorld, SCHEMA, user } from './setup'

const ALICE = user('alice@example.com')
const BOB = user('bob@example.com')

const TEAM = { realmId: 'rlmTeam' }
const MEMBER = { id: 'mmbBob', realmId: 'rlmTeam', userId: BOB.subject, name: 'Bob' }

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
    const { revision } = await world.database.read(async (tx) => ({
      revision: await tx.revision(),
    }))
    const made = {
      base: revision,
      isAsSent: true,
      isRejected: false,
      revision,
      names: new Set('id'),
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
    await world.putAll('members', ...invitations)
    expect((await device.pull()).inviteRealms).toEqual(['rlmTeam'])
    await world.remove('members', 'mmb1')
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
    const answer = await device.pull()
    expect(answer.inviteRealms).toEqual(['rlmTeam'])
    const operations = operationsOf(answer)
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
    const answer = await device.pull()
    // The other row may have been an own one before.
    expect(operationsOf(answer)).toEqual(['delete members mmb0', 'upsert members mmb1'])
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
      names: new Set(['id']),
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
    await world.database.write((tx) => tx.runs.prune(NOW + 1, 10))
    expect(await device.pull()).toMatchObject({ realms: [], inviteRealms: [] })
    await device.pull()
    expect(device.table('items').map(({ id }) => id)).toEqual(['itm2'])
    // Its revision is newer than the forgotten deletion.
    expect((await device.pull()).realms).toHaveLength(2)
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

describe('the keys that a request named (rule 8 of merging)', () => {
  const NAMED: NamedKey = {
    base: 0,
    isAsSent: true,
    isRejected: false,
    revision: undefined,
    names: new Set(['a']),
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
    const own = await world.database.read(async (tx) => {
      const table = await tx.tables.find('items')
      return (await tx.objects.findTimed(table!, ['itm2'])).get('itm2')?.revision
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
    const answer = await device.pull({ named: named('itm2', { names: new Set(['realmId']) }) })
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

function many<T>(length: number, make: (at: number) => T): T[] {
  return Array.from({ length }, (_, at) => make(at))
}

function date(time: number) {
  return { $t: 'Date', v: new Date(time).toISOString() }
}

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
