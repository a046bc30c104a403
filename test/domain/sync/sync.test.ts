import { expect, test } from 'bun:test'
import type { Database, ReadTx } from '../../../src/domain/store/store'
import type { AnswerEnd, AnswerPart } from '../../../src/domain/sync/pull'
import { isFirstSync } from '../../../src/domain/sync/sync'
import { ALICE, BOB, createClient, insert, setupTeam, TEAM, update } from './client'
import { NOW, openWorld, operationsOf, sync } from './setup'
import { countingTest } from '../../missing'
import { readRequest } from './read-request'

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
  const members = await database.read((tx) => {
    const realm = tx.realms.find(place.realmId)
    return tx.memberships.ofRealm(realm!.ref, '', 100).map(({ source }) => source)
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
  const told = (spec: Record<string, unknown>) => [
    { type: 'update' as const, keys: ['itm1'], changeSpecs: [spec] },
  ]
  expect(first.changes[0]?.muts).toEqual(told({ a: 2 }))
  // The client may have owned the row, which the server does not look at again.
  expect(second.changes[0]?.muts).toEqual(told({ a: 2, owner: ALICE.subject }))
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
    readRequest({ clientIdentity: 'x', ...(lastPull === undefined ? {} : { lastPull }) })
  const anonymous = { serverRevision: 'x', realms: ['rlm-public'], inviteRealms: [] }
  expect(isFirstSync(request(), null)).toBe(true)
  expect(isFirstSync(request(anonymous), null)).toBe(false)
  expect(isFirstSync(request(anonymous), ALICE.subject)).toBe(true)
  const own = { ...anonymous, realms: [ALICE.subject] }
  expect(isFirstSync(request(own), ALICE.subject)).toBe(false)
})

test('of the realms that a client names only those are looked at that it may see', async () => {
  await using team = await setupTeam()
  const { database } = team.world
  const fields = { clientIdentity: 'x', schema: { items: { markedForSync: true } } }
  const request = readRequest(fields)
  const first = await lastOf(sync(database, { ...SYNC, request }))
  const realms = new Named([...first.realms, 'rlm-lost'])
  const lastPull = { serverRevision: first.serverRevision, realms, inviteRealms: new Named() }
  const answer = await lastOf(sync(database, { ...SYNC, request: { ...request, lastPull } }))
  expect(answer.realms).toEqual(first.realms)
})

/** A set that gives its members to no one. */
class Named extends Set<string> {
  override [Symbol.iterator](): never {
    throw new Error('there may be a million')
  }
}

const SYNC = { actor: ALICE, now: NOW, rulesByTable: new Map(), limits: undefined as never }

async function lastOf(parts: AsyncIterable<AnswerPart>): Promise<AnswerEnd> {
  const all = await Array.fromAsync(parts)
  return all.at(-1)!.end!
}

countingTest('a client that is up to date is answered without a look for changes', async () => {
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
  // Nor are changes elsewhere looked for.
  await team.world.put(BOB, 'items', { id: 'itmP', title: 'private' })
  await alice.push(insert({ id: 'itmD', ...TEAM, owner: 'alice@example.com', title: 'x' }))
  expect(looks).toBe(0)
  await team.world.put(BOB, 'items', { id: 'itmB', ...TEAM })
  const answer = await alice.push(insert({ id: 'itmC', ...TEAM, owner: 'alice@example.com' }))
  expect(operationsOf(answer)).toEqual(['upsert items itmB'])
  expect(looks).toBe(1)
  looks = 0
  // Rows that its criteria reach are not all named.
  const criteria = { index: 'title', range: { type: 1, lower: 'x', upper: 'x' } }
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
  const read = <T>(work: (tx: ReadTx) => T) => database.read((tx) => work(watched(tx)))
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
