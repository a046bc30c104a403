import { describe, expect, test } from 'bun:test'
import { ALICE, BOB, createClient, insert, setupTeam, TEAM, update } from './client'
import { SatchelError } from '../../../src/domain/value/error'
import { NOW, openWorld, operationsOf } from './setup'

describe('a change that was made before the client heard of another one', () => {
  test('is merged with it property by property, and the answer says what the other changed', async () => {
    await using team = await setupTeam()
    await team.alice.push(update('itm1', { a: 2 }))
    const answer = await team.bob.push(update('itm1', { b: 2 }))
    expect(answer.changes).toEqual([
      {
        table: 'items',
        muts: [{ type: 'update', keys: ['itm1'], changeSpecs: [{ a: 2, b: 2 }] }],
      },
    ])
    expect((await team.alice.pull()).changes[0]?.muts).toEqual([
      { type: 'update', keys: ['itm1'], changeSpecs: [{ b: 2 }] },
    ])
  })

  test('that moves an object which the client never had brings the whole of it', async () => {
    await using team = await setupTeam()
    await team.alice.push(insert({ id: 'itm2', ...TEAM, owner: ALICE.subject }))
    const move = update('itm2', { realmId: BOB.subject })
    const answer = await team.bob.push(move)
    expect(operationsOf(answer)).toEqual(['upsert items itm2'])
    const client = createClient(team.world.database, BOB, 'other')
    await client.pull()
    await team.alice.push(insert({ id: 'itm3', ...TEAM, owner: ALICE.subject }))
    const repeated = { txid: 'twice', ts: NOW, rev: 1, ...update('itm3', { realmId: BOB.subject }) }
    const body = {
      lastPull: undefined,
      baseRevs: [],
      changes: [{ table: 'items', muts: [repeated] }],
    }
    await client.send(body)
    const realms = [BOB.subject, 'rlm-public', 'rlmTeam']
    const { serverRevision } = await client.pull()
    const again = { ...body, lastPull: { serverRevision, realms, inviteRealms: [] } }
    expect(operationsOf(await client.send(again))).toEqual(['upsert items itm3'])
  })

  test('that removes something inside a property which is missing says so', async () => {
    await using team = await setupTeam()
    const { changes } = await team.bob.push(update('itm1', { 'deep.x': { $t: 'undefined' } }))
    const changeSpecs = [{ deep: { $t: 'undefined' } }]
    expect(changes).toEqual([
      { table: 'items', muts: [{ type: 'update', keys: ['itm1'], changeSpecs }] },
    ])
  })

  test('is placed by the base of its operation, not by the last pull (conformance 94)', async () => {
    await using team = await setupTeam()
    const { serverRevision: before } = await team.bob.pull()
    // Later than what Bob writes.
    await team.alice.push({ ...update('itm1', { a: 'Alice' }), ts: NOW - 1 })
    const { serverRevision: after, realms, inviteRealms } = await team.bob.pull()
    const mut = (rev: number, change: object) => {
      const own = {
        txid: `placed ${rev}`,
        userId: BOB.subject,
        ts: NOW - 1_000 + rev,
        opNo: 1,
        rev,
      }
      return { ...update('itm1', change), ...own }
    }
    const base = (clientRev: number, serverRev: string) => {
      return { tableName: 'items', clientRev, serverRev }
    }
    const send = (changes: ReturnType<typeof mut>) =>
      team.bob.send({
        lastPull: { serverRevision: after, realms, inviteRealms },
        baseRevs: [base(10, before), base(20, after)],
        changes: [{ table: 'items', muts: [changes] }],
      })
    const values = () => team.world.get('items', 'itm1')
    await send(mut(15, { a: 'Bob, who had not seen it', b: 2 }))
    expect(await values()).toMatchObject({ a: 'Alice', b: 2 })
    await send(mut(25, { a: 'Bob, who had' }))
    expect(await values()).toMatchObject({ a: 'Bob, who had', b: 2 })
  })

  test('of a client whose clock went back is executed where it was made', async () => {
    await using team = await setupTeam()
    const value = { id: 'itm2', realmId: BOB.subject, owner: BOB.subject, n: 1 }
    const late = { ...insert(value), txid: 'one', ts: NOW, rev: 1 }
    const early = { ...update('itm2', { n: 2 }), txid: 'two', ts: NOW - 1_000, rev: 2 }
    const answer = await team.bob.send({ changes: [{ table: 'items', muts: [early, late] }] })
    expect(operationsOf(answer)).toEqual([])
    const other = createClient(team.world.database, BOB, 'other')
    expect(JSON.stringify(await other.pull())).toContain('"n":2')
  })

  test('in transactions that no order explains is answered with the rows as they are', async () => {
    await using team = await setupTeam()
    const value = { id: 'itm2', realmId: BOB.subject, owner: BOB.subject, n: 1 }
    const one = { ...insert(value), txid: 'one', ts: NOW, rev: 2 }
    const other = { ...update('itm2', { n: 2 }), txid: 'one', ts: NOW, rev: 1 }
    const answer = await team.bob.send({ changes: [{ table: 'items', muts: [one, other] }] })
    expect(operationsOf(answer)).toEqual(['update items itm2'])
  })

  test('that changed nothing is not mistaken for the next write of others when it comes again', async () => {
    await using team = await setupTeam()
    const client = createClient(team.world.database, BOB, 'other')
    const { serverRevision } = await client.pull()
    const again = { txid: 'again', ts: NOW, rev: 1, ...update('itm2', { n: 1 }) }
    const realms = [BOB.subject, 'rlm-public', 'rlmTeam']
    const body = {
      lastPull: { serverRevision, realms, inviteRealms: [] },
      changes: [{ table: 'items', muts: [again] }],
    }
    expect(operationsOf(await client.send(body))).toEqual([])
    await team.world.put(ALICE, 'items', { id: 'itm2', ...TEAM })
    expect(operationsOf(await client.send(body))).toEqual(['upsert items itm2'])
  })

  test('in a new realm that the same request deletes is undone', async () => {
    await using team = await setupTeam()
    const place = { realmId: 'rlmShort', owner: BOB.subject }
    const own = { ts: NOW, userId: BOB.subject }
    const realm = { type: 'insert', keys: ['rlmShort'], values: [place] }
    const gone = { type: 'delete', keys: ['rlmShort'] }
    const answer = await team.bob.send({
      changes: [
        { table: 'realms', muts: [{ ...realm, ...own, txid: 'one', rev: 1 }] },
        {
          table: 'items',
          muts: [{ ...insert({ id: 'itm2', ...place }), ...own, txid: 'two', rev: 1 }],
        },
        { table: 'realms', muts: [{ ...gone, ...own, txid: 'three', rev: 2 }] },
      ],
    })
    expect(operationsOf(answer)).toContain('delete items itm2')
    expect(answer.rejections).toEqual([])
  })

  test('that updates an object which nobody has is as it was sent', async () => {
    await using team = await setupTeam()
    expect(operationsOf(await team.bob.push(update('itm9', { n: 1 })))).toEqual([])
  })

  test('that adds an object is answered with it when the answer before removed its key', async () => {
    await using team = await setupTeam()
    const { serverRevision } = await team.bob.pull()
    const early = {
      baseRevs: [{ tableName: 'items', clientRev: 1, serverRev: serverRevision }],
    }
    const own = { ts: NOW, userId: BOB.subject }
    const added = (id: string) => ({
      ...own,
      ...insert({ id, ...TEAM, owner: BOB.subject }),
      txid: `add ${id}`,
      rev: 2,
    })
    // The transaction comes again.
    const missing = { ...own, ...update('itm7', { n: 1 }), txid: 'again', rev: 1 }
    const twice = { ...early, changes: [{ table: 'items', muts: [missing] }] }
    expect(operationsOf(await team.bob.send(twice))).toEqual([])
    expect(operationsOf(await team.bob.send(twice))).toEqual(['delete items itm7'])
    // It removes a membership, so that nothing is sure.
    const leave = { ...own, type: 'delete', keys: ['mmbNobody'], txid: 'leave', rev: 1 }
    const unsure = {
      ...early,
      changes: [
        { table: 'members', muts: [leave] },
        { table: 'items', muts: [{ ...missing, keys: ['itm8'], txid: 'other' }] },
      ],
    }
    expect(operationsOf(await team.bob.send(unsure))).toContain('delete items itm8')
    // It deletes an object that the client has never had.
    await team.world.put(ALICE, 'items', { id: 'itm9', ...TEAM })
    const gone = { ...own, type: 'delete', keys: ['itm9'], txid: 'delete', rev: 1 }
    await team.bob.send({ ...early, changes: [{ table: 'items', muts: [gone] }] })
    for (const id of ['itm7', 'itm8', 'itm9']) {
      const answer = await team.bob.send({
        ...early,
        changes: [{ table: 'items', muts: [added(id)] }],
      })
      expect(operationsOf(answer)).toEqual([`upsert items ${id}`])
    }
  })

  test.each([
    ['changes it', 'itm1', { n: 1 }],
    ['moves it', 'itm9', { realmId: BOB.subject }],
  ])(
    'that adds an object is answered with it when an earlier one that %s found none',
    async (_, id, spec) => {
      await using team = await setupTeam()
      const { alice, bob } = team
      const { serverRevision: before } = await bob.pull()
      await alice.push({ type: 'delete', keys: ['itm1'] })
      // Its socket hears of the deletion between these two.
      const { serverRevision: after, realms, inviteRealms } = await bob.pull()
      const send = (rev: number, operation: object) =>
        bob.send({
          lastPull: { serverRevision: after, realms, inviteRealms },
          baseRevs: [
            { tableName: 'items', clientRev: 1, serverRev: before },
            { tableName: 'items', clientRev: 2, serverRev: after },
          ],
          changes: [
            {
              table: 'items',
              muts: [{ ...operation, ts: NOW, userId: BOB.subject, txid: `late ${rev}`, rev }],
            },
          ],
        })
      expect(operationsOf(await send(1, update(id, spec)))).toEqual([`delete items ${id}`])
      // It was made before that answer came, which removed it from the client.
      const answer = await send(2, insert({ id, ...TEAM, owner: BOB.subject }))
      expect(operationsOf(answer)).toEqual([`upsert items ${id}`])
    },
  )

  test('that adds an object again is answered with it when criteria of another removed the first', async () => {
    await using team = await setupTeam()
    const { alice, bob } = team
    const { serverRevision } = await bob.pull()
    const range = { type: 1, lower: 'x', upper: 'x' }
    await alice.push({ type: 'delete', keys: [], criteria: { index: 'list', range } })
    const own = { ts: NOW, userId: BOB.subject }
    const send = (rev: number, ...operations: readonly object[]) =>
      bob.send({
        baseRevs: [{ tableName: 'items', clientRev: 1, serverRev: serverRevision }],
        changes: operations.map((one, at) => {
          const mut = { ...own, ...one, txid: `added ${rev}`, rev: rev + at, opNo: at }
          return { table: 'items', muts: [mut] }
        }),
      })
    const added = (list: string) => insert({ id: 'itm2', ...TEAM, owner: BOB.subject, list })
    expect(operationsOf(await send(1, added('x')))).toEqual(['delete items itm2'])
    // It was made before that answer came, which removed it from the client.
    const answer = await send(2, { type: 'delete', keys: ['itm2'] }, added('y'))
    expect(operationsOf(answer)).toEqual(['upsert items itm2'])
  })

  test('that adds an object again is answered with it when the first was moved out of sight and deleted', async () => {
    await using team = await setupTeam()
    const { alice, bob } = team
    const { serverRevision } = await bob.pull()
    await alice.push(update('itm1', { realmId: ALICE.subject }), { type: 'delete', keys: ['itm1'] })
    expect(operationsOf(await bob.pull())).toEqual(['delete items itm1'])
    const own = { ts: NOW, userId: BOB.subject, txid: 'again' }
    const value = { id: 'itm1', realmId: BOB.subject, owner: BOB.subject }
    // It was made before that answer came, which removed it from the client.
    const muts = [
      { ...own, type: 'delete', keys: ['itm1'], rev: 1, opNo: 1 },
      { ...own, ...insert(value), rev: 2, opNo: 2 },
    ]
    const answer = await bob.send({
      baseRevs: [{ tableName: 'items', clientRev: 1, serverRev: serverRevision }],
      changes: [{ table: 'items', muts }],
    })
    expect(operationsOf(answer)).toEqual(['upsert items itm1'])
    expect(await team.world.get('items', 'itm1')).toEqual(value)
  })

  test('that invites its own user into a new realm is answered with the membership', async () => {
    await using team = await setupTeam()
    const place = { realmId: 'rlmOwn', owner: BOB.subject }
    const own = { ts: NOW, userId: BOB.subject, txid: 'one', rev: 1 }
    const values = [{ id: 'mmbOwn', ...place, email: BOB.subject, invite: true }]
    const { changes } = await team.bob.send({
      changes: [
        {
          table: 'realms',
          muts: [{ ...own, type: 'insert', keys: ['rlmOwn'], values: [place] }],
        },
        { table: 'members', muts: [{ ...own, type: 'insert', keys: ['mmbOwn'], values }] },
      ],
    })
    const sent = changes.find(({ table }) => table === 'members')?.muts[0]
    expect(sent?.keys).toEqual(['mmbOwn'])
    const accepted = { userId: BOB.subject, accepted: { $t: 'Date' } }
    expect(sent?.values?.[0]).toMatchObject(accepted)
  })

  test('by criteria says so when it reaches an object of its transaction that it does not name', async () => {
    await using team = await setupTeam()
    const modify = {
      type: 'modify',
      keys: [],
      criteria: { index: 'list', range: { type: 1, lower: 'x', upper: 'x' } },
      changeSpec: { n: 1 },
    }
    const value = { id: 'itm2', realmId: BOB.subject, owner: BOB.subject, list: 'x' }
    const own = { txid: 'one', ts: NOW, userId: BOB.subject }
    const muts = [
      { ...insert(value), ...own, opNo: 1, rev: 1 },
      { ...modify, ...own, opNo: 2, rev: 2 },
    ]
    const answer = await team.bob.send({ changes: [{ table: 'items', muts }] })
    expect(operationsOf(answer)).toEqual(['update items itm2'])
    expect(answer.changes[0]?.muts[0]?.changeSpecs?.[0]).toMatchObject({ n: 1 })
  })

  test('of an object that was deleted meanwhile is undone', async () => {
    await using team = await setupTeam()
    await team.alice.push({ type: 'delete', keys: ['itm1'] })
    expect(operationsOf(await team.bob.push(update('itm1', { b: 2 })))).toEqual([
      'delete items itm1',
    ])
  })

  test('that moves an object out of a realm which an answer on its way takes away is undone', async () => {
    await using team = await setupTeam()
    const { serverRevision: before } = await team.bob.pull()
    await team.world.remove('members', 'mmbBob')
    // The client moves it before it has this answer, and so keeps it when it drops the realm.
    const { serverRevision: after, realms, inviteRealms } = await team.bob.pull()
    expect(realms).not.toContain(TEAM.realmId)
    const own = { txid: 'moved', userId: BOB.subject, ts: NOW, opNo: 1, rev: 1 }
    const answer = await team.bob.send({
      lastPull: { serverRevision: after, realms, inviteRealms },
      baseRevs: [
        { tableName: 'items', clientRev: 1, serverRev: before },
        { tableName: 'items', clientRev: 2, serverRev: after },
      ],
      changes: [
        { table: 'items', muts: [{ ...update('itm1', { realmId: BOB.subject }), ...own }] },
      ],
    })
    expect(operationsOf(answer)).toEqual(['delete items itm1'])
    expect(await team.world.get('items', 'itm1')).toMatchObject(TEAM)
  })

  test('by criteria that moves an object into a realm which is lost meanwhile brings the object back', async () => {
    await using team = await setupTeam()
    const own = { id: 'itm2', realmId: BOB.subject, owner: BOB.subject, list: 'x' }
    await team.bob.push(insert(own))
    await team.world.remove('members', 'mmbBob')
    const range = { type: 1, lower: 'x', upper: 'x' }
    const criteria = { index: 'list', range }
    const modify = { type: 'modify', keys: ['itm2'], criteria, changeSpec: TEAM }
    // The client drops its copy with the realm.
    const answer = await team.bob.push(modify)
    expect(answer.realms).not.toContain(TEAM.realmId)
    expect(operationsOf(answer)).toEqual(['upsert items itm2'])
    expect(answer.changes[0]?.muts[0]?.values).toEqual([own])
  })

  test('in a realm that was lost meanwhile is undone, and costs the others nothing', async () => {
    await using team = await setupTeam()
    await team.world.remove('members', 'mmbBob')
    const own = { id: 'itm2', realmId: BOB.subject, owner: BOB.subject }
    const answer = await team.bob.push(
      update('itm1', { realmId: BOB.subject }),
      insert({ id: 'itm3', ...TEAM, owner: BOB.subject }),
      insert(own),
    )
    expect(answer.realms).not.toContain('rlmTeam')
    expect(operationsOf(answer)).toEqual(['delete items itm1', 'delete items itm3'])
    expect(answer.rejections).toHaveLength(1)
    const stored = await team.world.database.read((tx) => {
      const table = tx.tables.find('items')
      return tx.objects.findMany(table!, ['itm1', 'itm2', 'itm3'])
    })
    expect([...stored].map(([key, { value }]) => [key, JSON.parse(value) as object])).toEqual([
      ['itm1', expect.objectContaining(TEAM)],
      ['itm2', own],
    ])
  })

  test('and keeps the newer value of one object leaves its other objects as it was sent', async () => {
    await using team = await setupTeam()
    const { world, alice, bob } = team
    const hour = 3_600_000
    const laptop = createClient(world.database, ALICE, 'laptop')
    await laptop.pull()
    const deep = { x: 'added', y: 'added' }
    const added = { id: 'itm2', ...TEAM, owner: ALICE.subject, list: 'y', deep }
    await alice.push({ ...insert(added), ts: NOW - hour })
    const modify = (lower: string, changeSpec: object, keys: readonly string[]) => {
      const criteria = { index: 'list', range: { type: 2, lower, upper: 'y' } }
      return { type: 'modify', keys, criteria, changeSpec }
    }
    await laptop.push({ ...modify('y', { 'deep.x': 'laptop' }, []), ts: NOW + hour })
    const own = { id: 'itm3', realmId: BOB.subject, owner: BOB.subject, list: 'x', deep }
    const spec = { deep: { x: 'tablet', y: 'tablet' } }
    const answer = await bob.push(
      { ...insert(own), ts: NOW - 2 },
      { ...modify('x', spec, ['itm3']), ts: NOW - 1 },
    )
    const merged = { ...added, deep: { x: 'laptop', y: 'tablet' } }
    expect(operationsOf(answer)).toEqual(['upsert items itm2'])
    expect(answer.changes[0]?.muts[0]?.values).toEqual([merged])
    expect(await world.get('items', 'itm2')).toEqual(merged)
    expect(await world.get('items', 'itm3')).toEqual({ ...own, ...spec })
  })
})

describe('a private object that an answer on its way replaces on its device', () => {
  const KEY = `#theme:${ALICE.subject}`
  const put = (id: string, v: string) => ({
    type: 'upsert',
    keys: [id],
    values: [{ id, realmId: ALICE.subject, owner: ALICE.subject, v }],
  })

  async function setup() {
    const world = await openWorld()
    await world.put(ALICE, 'items', { id: KEY, v: 'dark' }, { id: 'itm1', v: 'dark' })
    const phone = createClient(world.database, ALICE)
    return { world, phone, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
  }

  test('is answered when it is sent, and neither its next change is nor one of another object', async () => {
    await using device = await setup()
    const { phone } = device
    expect(operationsOf(await phone.pull())).toContain(`upsert items ${KEY}`)
    const answer = await phone.push(put(KEY, 'light'), put('itm1', 'light'))
    expect(operationsOf(answer)).toEqual([`upsert items ${KEY}`])
    expect(answer.changes[0]?.muts[0]?.values?.[0]).toMatchObject({ v: 'light' })
    expect(operationsOf(await phone.push(put(KEY, 'blue')))).toEqual([])
  })

  test('is answered after one that fetched its realm again, as after a restore', async () => {
    await using device = await setup()
    const { phone } = device
    await phone.pull()
    await phone.push(put(KEY, 'light'))
    const realms = [ALICE.subject, 'rlm-public']
    const lastPull = { serverRevision: '["elsewhere","3"]', realms, inviteRealms: [] }
    expect((await phone.send({ lastPull, changes: [] })).realms).toEqual([])
    expect(operationsOf(await phone.pull())).toContain(`upsert items ${KEY}`)
    expect(operationsOf(await phone.push(put(KEY, 'blue')))).toEqual([`upsert items ${KEY}`])
    expect(operationsOf(await phone.push(put(KEY, 'green')))).toEqual([])
  })

  test('is fetched also where nothing can be noted', async () => {
    await using device = await setup()
    const { database } = device.world
    const full = createClient(
      {
        ...database,
        write: (work, options) =>
          database.write((tx) => {
            const notePrivates = () => {
              throw new SatchelError('STORAGE_FULL', 'The disk is full')
            }
            return work({ ...tx, syncClients: { ...tx.syncClients, notePrivates } })
          }, options),
      },
      ALICE,
    )
    expect(operationsOf(await full.pull())).toContain(`upsert items ${KEY}`)
  })
})
