import { describe, expect, test } from 'bun:test'
import type { Actor } from '../../../src/domain/access/actor'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database, ReadTx } from '../../../src/domain/store/store'
import { readSyncRequest } from '../../../src/domain/sync/request'
import { isFirstSync, sync } from '../../../src/domain/sync/sync'
import { type Answer, NOW, openWorld, operationsOf, SCHEMA, user } from './setup'

const ALICE = user('alice@example.com')
const BOB = user('bob@example.com')
const TEAM = { realmId: 'rlmTeam' }
const LIMITS = {
  maxObjects: 100,
  maxRows: 100,
  maxEntries: 100,
  maxRequestEntries: 1_000,
  maxProperties: 100,
  maxDepth: 10,
}

type Sent = Readonly<Record<string, unknown>>

/** A client that sends operations and keeps what `lastPull` and `baseRevs` are made of. */
function createClient(database: Database, actor: Actor, clientIdentity = `${actor.subject}'s`) {
  let lastPull: object | undefined
  let baseRevs: object[] = []
  let rev = 0

  async function send(body: object): Promise<Answer> {
    const all = { v: 3, clientIdentity, schema: SCHEMA, lastPull, baseRevs, ...body }
    const request = readSyncRequest(JSON.parse(JSON.stringify(all)))
    let text = ''
    const given = { actor, request, now: NOW, rulesByTable: ROW_RULES, limits: LIMITS }
    for await (const part of sync(database, given)) text += part.text
    const answer = JSON.parse(text) as Answer
    const { serverRevision, realms, inviteRealms } = answer
    lastPull = { serverRevision, realms, inviteRealms }
    baseRevs = [{ tableName: 'items', clientRev: rev + 1, serverRev: serverRevision }]
    return answer
  }

  return {
    pull: () => send({ changes: [] }),
    /** Sends each operation on `items` as a transaction of its own. */
    async push(...operations: readonly Sent[]): Promise<Answer> {
      const muts = operations.map((operation) => {
        rev += 1
        const txid = `${clientIdentity} ${rev}`
        return { txid, ts: NOW + rev, opNo: 1, rev, userId: actor.subject, ...operation }
      })
      return send({ changes: [{ table: 'items', muts }] })
    },
    send,
  }
}

const insert = (value: Readonly<Record<string, unknown>>) => ({
  type: 'insert',
  keys: [value['id']],
  values: [value],
})
const update = (key: string, change: object) => ({
  type: 'update',
  keys: [key],
  changeSpecs: [change],
})

/** Alice and Bob share a realm with an object. */
async function setupTeam() {
  const world = await openWorld()
  await world.put(ALICE, 'realms', TEAM)
  const member = { id: 'mmbBob', ...TEAM, userId: BOB.subject, permissions: { manage: '*' } }
  await world.putAll('members', member)
  await world.put(ALICE, 'items', { id: 'itm1', ...TEAM, a: 1, b: 1 })
  const [alice, bob] = [createClient(world.database, ALICE), createClient(world.database, BOB)]
  await alice.pull()
  await bob.pull()
  return { world, alice, bob, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

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

  test('of a client whose clock went back is answered with the rows as they are', async () => {
    await using team = await setupTeam()
    const value = { id: 'itm2', realmId: BOB.subject, owner: BOB.subject, n: 1 }
    const early = { ...insert(value), txid: 'two', ts: NOW - 1_000, rev: 2 }
    const late = { ...update('itm2', { n: 2 }), txid: 'one', ts: NOW, rev: 1 }
    const answer = await team.bob.send({ changes: [{ table: 'items', muts: [early, late] }] })
    expect(operationsOf(answer)).toEqual(['update items itm2'])
    expect(answer.changes[0]?.muts[0]?.changeSpecs?.[0]).toMatchObject({ n: 2 })
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
    const stored = await team.world.database.read(async (tx) => {
      const table = await tx.tables.find('items')
      return tx.objects.findMany(table!, ['itm1', 'itm2', 'itm3'])
    })
    expect([...stored].map(([key, { value }]) => [key, JSON.parse(value) as object])).toEqual([
      ['itm1', expect.objectContaining(TEAM)],
      ['itm2', own],
    ])
  })
})

test('a realm that was lost and regained while a client was away is up to date', async () => {
  await using team = await setupTeam()
  await team.world.remove('members', 'mmbBob')
  await team.world.put(ALICE, 'items', { id: 'itm1', ...TEAM, a: 5 }, { id: 'itm2', ...TEAM })
  const again = { id: 'mmbBob2', ...TEAM, userId: BOB.subject }
  await team.world.putAll('members', again)
  expect(operationsOf(await team.bob.pull())).toEqual([
    'delete members mmbBob',
    'update items itm1',
    'upsert items itm2',
    'upsert members mmbBob2',
  ])
})

test('a realm that two clients tie to the same object is one realm (conformance 132)', async () => {
  await using team = await setupTeam()
  const { database } = team.world
  const other = createClient(database, ALICE, 'other')
  await other.pull()
  const place = { realmId: 'rlm~itm1', owner: ALICE.subject }
  const tie = (txid: string, member: string) => {
    const own = { txid, ts: NOW, rev: 1, userId: ALICE.subject, type: 'upsert' }
    const invited = { id: member, realmId: place.realmId, email: `${member}@example.com` }
    return {
      changes: [
        { table: 'realms', muts: [{ ...own, keys: [place.realmId], values: [place] }] },
        { table: 'members', muts: [{ ...own, keys: [member], values: [invited] }] },
      ],
    }
  }
  for (const [client, txid] of [
    [team.alice, 'one'],
    [other, 'two'],
  ] as const) {
    expect((await client.send(tie(txid, `mmb${txid}`))).rejections).toEqual([])
  }
  await team.alice.pull()
  const members = await database.read(async (tx) => {
    const realm = await tx.realms.find(place.realmId)
    return (await tx.memberships.ofRealm(realm!.ref)).map(({ source }) => source)
  })
  // The owner is in it once.
  expect(members.filter((source) => /one|two/.test(source)).toSorted()).toEqual([
    'members:mmbone',
    'members:mmbtwo',
  ])
  expect(members.filter((source) => source.startsWith('members:'))).toHaveLength(3)
})

test('a request that is sent twice is executed once, and answered twice', async () => {
  await using team = await setupTeam()
  const add = { a: { '@@propmod': { add: 1 } } }
  const mut = { ...update('itm1', add), txid: 't', ts: NOW, rev: 1, opNo: 1, userId: BOB.subject }
  const body = { changes: [{ table: 'items', muts: [mut] }] }
  const [first, second] = [await team.bob.send(body), await team.bob.send(body)]
  for (const answer of [first, second]) {
    expect(answer.changes[0]?.muts).toEqual([
      { type: 'update', keys: ['itm1'], changeSpecs: [{ a: 2 }] },
    ])
  }
})

test('answers have the final values: what a modification gave, and never the modification (conformance 100)', async () => {
  await using team = await setupTeam()
  const add = { a: { '@@propmod': { add: 1 } }, id: 'itm2', c: 'new' }
  await team.alice.push(update('itm1', add), insert({ id: 'itm3', ...TEAM, a: 1 }))
  const { changes } = await team.bob.pull()
  expect(changes).toEqual([
    {
      table: 'items',
      muts: [
        { type: 'update', keys: ['itm1'], changeSpecs: [{ a: 2, c: 'new' }] },
        // The row is new to Bob: an update would not reach it.
        {
          type: 'upsert',
          keys: ['itm3'],
          values: [{ id: 'itm3', ...TEAM, owner: ALICE.subject, a: 1 }],
        },
      ],
    },
  ])
})

test('a transaction that is rejected is told with its objects restored', async () => {
  await using team = await setupTeam()
  const answer = await team.bob.push(
    insert({ id: 'itm9', realmId: 'rlm-public', owner: BOB.subject }),
  )
  expect(answer.rejections).toMatchObject([{ name: 'NOT_AUTHORIZED' }])
  expect(operationsOf(answer)).toEqual(['delete items itm9'])
})

test('the own rows of a new client are not sent back to it', async () => {
  await using world = await openWorld()
  const rows = ['itm1', 'itm2'].map((id) => ({ id, realmId: ALICE.subject, owner: ALICE.subject }))
  const client = createClient(world.database, ALICE)
  expect((await client.push(...rows.map(insert))).changes).toEqual([])
  const upload = { type: 'upsert', keys: ['itm3'], txid: 'upload-x', userId: ALICE.subject }
  const values = [{ id: 'itm3', realmId: ALICE.subject, owner: ALICE.subject }]
  const other = createClient(world.database, ALICE, 'other')
  const muts = [{ ...upload, values }]
  const answer = await other.send({ changes: [{ table: 'items', muts }] })
  expect(operationsOf(answer)).toEqual(['upsert items itm1', 'upsert items itm2'])
})

test('rows of a new client that are both in its log and in its upload are not sent back', async () => {
  await using world = await openWorld()
  const client = createClient(world.database, ALICE)
  const value = { id: 'itm1', realmId: ALICE.subject, owner: ALICE.subject }
  const logged = { ...insert(value), ts: NOW, rev: 1, opNo: 1, txid: 't', userId: ALICE.subject }
  const upload = { type: 'upsert', keys: ['itm1'], txid: 'upload-x', userId: ALICE.subject }
  const muts = [logged, { ...upload, values: [{ ...value, local: 1 }] }]
  const answer = await client.send({ changes: [{ table: 'items', muts }] })
  expect(answer.changes).toEqual([])
})

test('a first sync is one without a last pull, or without the realm of the user in it', () => {
  const request = (lastPull?: object) =>
    readSyncRequest({ clientIdentity: 'x', ...(lastPull === undefined ? {} : { lastPull }) })
  const anonymous = { serverRevision: 'x', realms: ['rlm-public'], inviteRealms: [] }
  expect(isFirstSync(request(), null)).toBe(true)
  expect(isFirstSync(request(anonymous), null)).toBe(false)
  expect(isFirstSync(request(anonymous), ALICE.subject)).toBe(true)
  const own = { ...anonymous, realms: [ALICE.subject] }
  expect(isFirstSync(request(own), ALICE.subject)).toBe(false)
})

test('a client that is up to date is answered without a look for changes', async () => {
  await using team = await setupTeam()
  let looks = 0
  const alice = createClient(
    counting(team.world.database, () => (looks += 1)),
    ALICE,
  )
  await alice.pull()
  looks = 0
  const { changes } = await alice.push(
    insert({ id: 'itmA', ...TEAM, owner: 'alice@example.com', a: 1 }),
    update('itmA', { a: 2 }),
  )
  expect(changes).toEqual([])
  await alice.push({ type: 'delete', keys: ['itmA'] })
  expect(looks).toBe(0)
  await team.world.put(BOB, 'items', { id: 'itmB', ...TEAM })
  const answer = await alice.push(insert({ id: 'itmC', ...TEAM, owner: 'alice@example.com' }))
  expect(operationsOf(answer)).toEqual(['upsert items itmB'])
  expect(looks).toBe(1)
  looks = 0
  // Rows that its criteria reach are not all named.
  const criteria = { index: 'title', type: 'equal', value: 'x' }
  await alice.push({ type: 'delete', keys: [], criteria })
  await alice.pull()
  expect(looks).toBeGreaterThan(0)
})

/** The database, with a call for each look for changes. */
function counting(database: Database, looked: () => void): Database {
  const watched = (tx: ReadTx) =>
    new Proxy(tx, {
      get(target, name) {
        const noun: unknown = Reflect.get(target, name)
        return name === 'objects' ? watchedObjects(target.objects, looked) : noun
      },
    })
  const read = <T>(work: (tx: ReadTx) => Promise<T>) => database.read((tx) => work(watched(tx)))
  return { ...database, read }
}

function watchedObjects(objects: ReadTx['objects'], looked: () => void): ReadTx['objects'] {
  return new Proxy(objects, {
    get(target, name) {
      if (name === 'changes') looked()
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}
