import { describe, expect, test } from 'bun:test'
import { ROW_RULES, rowRulesWith } from '../../../src/domain/rows/row-rules'
import type { Database, Step, WriteTx } from '../../../src/domain/store/store'
import { pushTransactions } from '../../../src/domain/sync/push'
import { NOW, refusalOf } from '../../contract/fixture'
import {
  card,
  change,
  connect,
  drop,
  insert,
  inTable,
  isRejected,
  person,
  put,
  read,
  setupPush,
  upsert,
} from './push-setup'
import { countingTest } from '../../missing'
import { readRequest, UNLIMITED } from './read-request'

const TEAM = ['alice', 'rlm-team'] as const
const add = (n: number) => ({ n: { '@@propmod': { add: n } } })

describe('a transaction of a client', () => {
  test('is applied as a whole or not at all, and the others go on', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const pushed = await alice.send(
      [
        [insert(card('a'))],
        [insert(card('b')), insert(card('c', {}, 'alice', 'rlm-nowhere')), change('a', { n: 1 })],
        [insert(card('d'))],
      ],
      { txids: ['one', 'two', 'three'] },
    )
    expect(pushed.rejections).toEqual([
      { txid: 'two', name: 'NOT_AUTHORIZED', message: expect.stringContaining('no such realm') },
    ])
    expect(await read(database, 'cards', 'a')).toEqual(card('a'))
    expect(await read(database, 'cards', 'b')).toBeUndefined()
    expect(await read(database, 'cards', 'd')).toBeDefined()
    for (const key of ['a', 'b', 'c']) expect(isRejected(pushed, key)).toBe(true)
    expect(isRejected(pushed, 'd')).toBe(false)
  })

  test('spans tables', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    await alice.push(insert(card('a')), inTable('lists', insert(card('l'))))
    expect(await read(database, 'cards', 'a')).toBeDefined()
    expect(await read(database, 'lists', 'l')).toBeDefined()
    await alice.push(drop('a'), inTable('lists', upsert(card('m', {}, 'alice', 'rlm-nowhere'))))
    expect(await read(database, 'cards', 'a')).toBeDefined()
  })

  test('is executed once, however often it is sent, and by a client that had no answer under its last name', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const second = await connect(database, 'alice')
    await alice.push(insert(card('a', { n: 0 })))
    const txids = ['the-same']
    const first = await alice.send([[change('a', add(1))]], { txids })
    const revision = first.named.get('cards')?.get('a')?.revision
    for (const [client, isFirst] of [
      [alice, false],
      [second, true],
    ] as const) {
      const again = await client.send([[change('a', add(1))]], { txids, isFirst })
      expect(again.rejections).toEqual([])
      expect(again.named.get('cards')?.get('a')).toMatchObject({ isAsSent: false, revision })
    }
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 1 })
    const bob = await connect(database, 'bob')
    await bob.send([[insert(card('b', {}, 'bob'))]], { txids, isFirst: true })
    expect(await read(database, 'cards', 'b')).toBeDefined()
  })

  test('is forgotten ten minutes after its client stopped to repeat it', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const known = (txid: string) =>
      database.read((tx) => tx.applied.findOfUser('alice', txid) !== undefined)
    const minutes = (n: number) => NOW + n * 60_000
    await alice.send([[insert(card('a'))]], { txids: ['one'], now: minutes(0) })
    await alice.send([[insert(card('b'))]], { txids: ['two'], now: minutes(9) })
    expect(await known('one')).toBe(true)
    await alice.send([[insert(card('a'))]], { txids: ['one'], now: minutes(11) })
    expect(await known('one')).toBe(true)
    await alice.send([[insert(card('c'))]], { txids: ['three'], now: minutes(12) })
    expect([await known('one'), await known('two')]).toEqual([false, true])
  })

  test('that was rejected stays so when it comes again, whatever has been executed since', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const refused = [insert(card('a', { n: 1 }, 'alice', 'rlm-none'))]
    const txids = ['one', 'two']
    const once = await alice.send([refused, [upsert(card('a', { n: 2 }))]], { txids })
    const again = await alice.send([refused, [upsert(card('a', { n: 2 }))]], { txids })
    expect(once.rejections).toMatchObject([{ txid: 'one' }])
    expect(again.rejections).toEqual([...once.rejections])
    expect(again.named.get('cards')?.get('a')).toMatchObject({ isRejected: true })
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 2, realmId: 'alice' })
  })

  test('of another user, with a value that cannot be stored or an unknown table is rejected', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const pushed = await alice.send([
      [{ ...insert(card('a')), userId: 'bob' }],
      [insert(card('b', { n: 2 ** 60 }))],
      [inTable('nothing', insert(card('c')))],
      [{ type: 'strange', keys: ['d'] }],
      [{ ...insert(card('e')), keys: ['f'] }],
      [insert(card('g'))],
    ])
    expect(pushed.rejections.map(({ name }) => name)).toEqual([
      'NOT_AUTHORIZED',
      'UNPROCESSABLE',
      'UNKNOWN_TABLE',
      'UNPROCESSABLE',
      'UNPROCESSABLE',
    ])
    for (const key of ['a', 'b', 'd', 'f']) {
      expect(isRejected(pushed, key)).toBe(true)
      expect(await read(database, 'cards', key)).toBeUndefined()
    }
    expect(isRejected(pushed, 'c', 'nothing')).toBe(true)
    expect(await read(database, 'cards', 'g')).toBeDefined()
  })

  test('that names an invisible object finds nothing to update or delete, and costs nobody the rest', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('hidden', { n: 1 }, ...TEAM)])
    const carol = await connect(database, 'carol')
    const pushed = await carol.push(
      change('hidden', { n: 2 }),
      drop('hidden'),
      change('absent', { n: 2 }),
      drop('absent'),
      insert(card('own', {}, 'carol')),
    )
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'cards', 'hidden')).toMatchObject({ n: 1 })
    expect(await read(database, 'cards', 'own')).toBeDefined()
    const keys = pushed.named.get('cards')
    // All that the answer says of a key comes from this: whether it exists does not show.
    expect(keys?.get('hidden')).toEqual(keys!.get('absent'))
    const taken = await carol.push(insert(card('hidden', {}, 'carol')))
    expect(taken.rejections.map(({ name }) => name)).toEqual(['NOT_AUTHORIZED'])
  })

  test('keeps private objects in the private realm, under the key of their user', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const pushed = await alice.send([
      [upsert(card('#theme:alice', { v: 'dark', $$ts: 5 }))],
      [upsert(card('#theme:bob', { v: 'dark' }))],
      [upsert(card('#other:alice', { v: 'shared' }, ...TEAM))],
    ])
    expect(pushed.rejections).toHaveLength(2)
    expect(await read(database, 'cards', '#theme:alice')).toMatchObject({ v: 'dark' })
    expect(await read(database, 'cards', '#theme:bob')).toBeUndefined()
  })

  test('works on compound keys, and on tables whose key is not known yet (conformance 82, 97)', async () => {
    await using database = await setupPush()
    await database.write((tx) =>
      tx.tables.put({
        name: 'unknown',
        primaryKey: null,
        compound: false,
        generated: false,
        idPrefix: '',
        stores: '',
        hidden: false,
        indexes: [],
      }),
    )
    const alice = await connect(database, 'alice')
    const key = '["a",1]'
    const value = { x: 'a', y: 1, realmId: 'alice', owner: 'alice' }
    const roles = { realmId: 'rlm-team', name: 'doer', permissions: {} }
    const pushed = await alice.push(
      { table: 'unknown', type: 'upsert', keys: [key], values: [value] },
      { table: 'roles', type: 'insert', keys: ['["rlm-team","doer"]'], values: [roles] },
    )
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'unknown', key)).toEqual(value)
    expect(await read(database, 'roles', '["rlm-team","doer"]')).toMatchObject(roles)
  })

  test('with a key that does not sync is rejected (conformance 101)', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const roles = (realmId: unknown, name: unknown) => {
      const keys = [JSON.stringify([realmId, name])]
      return { table: 'roles', type: 'insert', keys, values: [{ realmId, name, permissions: {} }] }
    }
    const operations = [
      ...['', '.', 'a\u0000b', 'x'.repeat(1_025), '["a"]', '#mine:bob'].map((id) =>
        insert(card(id)),
      ),
      roles(1, 2),
      roles('rlm-team', true),
      roles('rlm-team', null),
    ]
    const { rejections } = await alice.send(operations.map((operation) => [operation]))
    expect(rejections.map(({ name }) => name)).toHaveLength(operations.length)
    expect((await alice.push(insert(card('itm1')))).rejections).toEqual([])
  })

  test('with an object that is too much is rejected, whatever the size of the request', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const limits = {
      maxObjects: 1,
      maxRows: 1,
      maxEntries: 5,
      maxRequestEntries: 5,
      maxProperties: 8,
      maxDepth: 9,
    }
    const tags = Array.from({ length: 9 }, (_, n) => `t${n}`)
    const many = Object.fromEntries(tags.map((tag) => [tag, 1]))
    const pushed = await alice.send(
      [
        [insert(card('a', { tags }))],
        [insert(card('b', many))],
        [insert(card('c', { title: 'x' }), card('d', { title: 'x' }), card('e', { title: 'x' }))],
      ],
      { limits },
    )
    expect(
      pushed.rejections.map(({ message }) => /maxEntries|maxProperties/.exec(message)?.[0]),
    ).toEqual(['maxEntries', 'maxProperties'])
    expect(await read(database, 'cards', 'e')).toBeDefined()
  })

  test('of very many changes of one row lets others have their turns', async () => {
    await using world = await setupPush()
    let turns = 0
    const database: Database = {
      ...world,
      writeSteps: (work, options) =>
        world.writeSteps((step) => {
          const counting = (part: (tx: WriteTx) => unknown) => {
            turns += 1
            return step(part)
          }
          const attempt = (part: () => Promise<unknown>) => step.attempt(part)
          return work(Object.assign(counting, { attempt }) as Step)
        }, options),
    }
    await put(database, 'cards', [card('a', {}), card('b', {})])
    const alice = await connect(database, 'alice')
    const turnsOf = async (count: number) => {
      const before = turns
      const spec = Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n]))
      await alice.push(change('a', spec))
      return turns - before
    }
    expect(await turnsOf(10)).toBe(0)
    expect(await turnsOf(5_000)).toBeGreaterThan(10)
    expect(await read(database, 'cards', 'a')).toMatchObject({ p0: 0, p4999: 4_999 })
  })

  test('can be executed again: it does not change the request', async () => {
    const add = { '@@propmod': { add: 1 } }
    const operations = [
      insert(card('a', { deep: { n: 5 } })),
      change('a', { 'deep.n': add }),
      change('a', { other: { n: 5 } }),
      change('a', { 'other.n': add }),
    ]
    const { transactions } = readRequest({
      clientIdentity: 'one',
      schema: {},
      changes: [
        { table: 'cards', muts: operations.map((mut) => ({ ...mut, txid: 't', ts: NOW })) },
      ],
    })
    for (let run = 0; run < 2; run += 1) {
      await using database = await setupPush()
      const client = await database.write((tx) => tx.syncClients.ensure('alice', 'one', NOW))
      await pushTransactions(database, {
        actor: person('alice'),
        client,
        isFirst: false,
        transactions,
        baseOf: () => 1_000,
        now: NOW,
        rulesByTable: ROW_RULES,
        limits: UNLIMITED,
      })
      const stored = await read(database, 'cards', 'a')
      expect(stored).toMatchObject({ deep: { n: 6 }, other: { n: 6 } })
    }
  })

  test('of a large request is freed once it was executed, and may be sent again', async () => {
    await using database = await setupPush()
    const client = await database.write((tx) => tx.syncClients.ensure('alice', 'one', NOW))
    const keys = Array.from({ length: 150 }, (_, n) => `card${n}`)
    const muts = keys.map((key) => ({ ...insert(card(key, { n: 1 })), txid: key, ts: NOW }))
    const { transactions } = readRequest({
      clientIdentity: 'one',
      schema: {},
      changes: [{ table: 'cards', muts }],
    })
    let units = 0
    const push = () =>
      pushTransactions(database, {
        actor: person('alice'),
        client,
        isFirst: false,
        transactions,
        baseOf: () => 1_000,
        now: NOW,
        rulesByTable: ROW_RULES,
        limits: UNLIMITED,
        relieve: () => (units += 1),
      })
    await push()
    expect(units).toBeGreaterThan(1)
    const held = transactions.flatMap(({ operations }) =>
      operations.flatMap(({ action }) => ('values' in action ? action.values : [])),
    )
    expect(held).toEqual([])
    const { named, rejections } = await push()
    expect(rejections).toEqual([])
    expect(await read(database, 'cards', 'card149')).toMatchObject({ n: 1 })
    // Its client may have anything there: it gets the whole row.
    expect(named.get('cards')?.get('card0')).toMatchObject({
      isAsSent: false,
      properties: undefined,
    })
  })

  test('is refused with its whole request when the database is closed', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    await alice.push(insert(card('a', { n: 0, deep: { x: 0 } })))
    const txids = ['one', 'two']
    const transactions = [
      [change('a', add(1)), insert(card('c', { deep: { x: 1 } })), change('c', { 'deep.x': 2 })],
      [insert(card('m', {}, 'alice', 'rlm-team'))],
    ]
    await database.store[Symbol.asyncDispose]()
    expect(await refusalOf(alice.send(transactions, { txids }))).toBe('BUSY')
  })
})

describe('rights in a transaction', () => {
  test('are those from before it: nobody makes themselves a manager', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { n: 1 }, ...TEAM)])
    await put(database, 'members', [
      { id: 'mmb-carol', realmId: 'rlm-team', userId: 'carol', permissions: { add: ['cards'] } },
    ])
    const carol = await connect(database, 'carol')
    const own = { realmId: 'rlm-team', owner: 'carol', permissions: { manage: '*' } }
    const attempts = [
      inTable('members', change('mmb-carol', { permissions: { manage: '*' } })),
      inTable('members', insert({ id: 'mmb-new', userId: 'carol', ...own } as { id: string })),
      inTable('roles', {
        type: 'insert',
        keys: ['["rlm-team","boss"]'],
        values: [{ name: 'boss', ...own }],
      }),
    ]
    for (const attempt of attempts) {
      const pushed = await carol.push(attempt, change('a', { n: 2 }))
      expect(pushed.rejections.map(({ name }) => name)).toEqual(['NOT_AUTHORIZED'])
    }
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 1 })
  })

  test('are full in a realm that it creates, in whatever order its rows come', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const realm = { realmId: 'rlm-new', owner: 'alice', name: 'New' }
    const member = { id: 'mmb-x', realmId: 'rlm-new', owner: 'alice', email: 'x@example.com' }
    const pushed = await alice.push(
      insert(card('a', {}, 'alice', 'rlm-new')),
      inTable('members', insert({ ...member, permissions: { manage: '*' } } as { id: string })),
      inTable('realms', { type: 'insert', keys: ['rlm-new'], values: [realm] }),
    )
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'cards', 'a')).toBeDefined()
    expect(await read(database, 'members', 'mmb-x')).toBeDefined()
    expect(await read(database, 'members', 'mmb-new')).toMatchObject({ userId: 'alice' })
  })

  test('an owner who brings their own row of members gets no second one', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const realm = { realmId: 'rlm-new', owner: 'alice' }
    const member = { id: 'mmb-me', realmId: 'rlm-new', owner: 'alice', userId: 'alice' }
    await alice.push(
      inTable('realms', { type: 'insert', keys: ['rlm-new'], values: [realm] }),
      inTable('members', insert(member)),
    )
    const ids = await database.read((tx) => {
      const found = tx.realms.find('rlm-new')
      const rows = tx.memberships.ofRealm(found!.ref, '', 100)
      return rows.map(({ source }) => source)
    })
    expect(ids.toSorted()).toEqual(['members:mmb-me', 'realms:rlm-new'])
  })

  test('a clean-up may delete the row of the owner and then the realm, not the row alone', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const own = inTable('members', drop('mmb-team'))
    await put(database, 'cards', [card('a', {}, ...TEAM)])
    const id = await database.read((tx) => {
      const realm = tx.realms.find('rlm-team')
      const rows = tx.memberships.ofSubjectIn('alice', null, realm!.ref)
      return rows.map(({ source }) => source).find((source) => source.startsWith('members:'))!
    })
    const row = { ...own, keys: [id.slice('members:'.length)] }
    const alone = await alice.push(row)
    expect(alone.rejections.map(({ name }) => name)).toEqual(['CONFLICT'])
    const pushed = await alice.push(row, drop('a'), inTable('realms', drop('rlm-team')))
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'realms', 'rlm-team')).toBeUndefined()
    expect(await read(database, 'cards', 'a')).toBeUndefined()
  })

  test('a realm under the id of a user is rejected', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const values = [{ realmId: 'alice', owner: 'alice', name: 'x' }]
    const pushed = await alice.push(inTable('realms', { type: 'insert', keys: ['alice'], values }))
    expect(pushed.rejections.map(({ name }) => name)).toEqual(['UNPROCESSABLE'])
    expect(isRejected(pushed, 'alice', 'realms')).toBe(true)
  })

  test('an invitation is accepted by an update of its person, and answered as the server has it', async () => {
    await using database = await setupPush()
    await put(database, 'members', [
      { id: 'mmb-carol', realmId: 'rlm-team', email: 'carol@example.com', invite: true },
    ])
    const carol = await connect(database, 'carol')
    const accepted = { $t: 'Date', v: '2029-12-31T23:00:00.000Z' }
    const pushed = await carol.push(inTable('members', change('mmb-carol', { accepted })))
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'members', 'mmb-carol')).toMatchObject({ userId: 'carol' })
    expect(pushed.named.get('members')?.get('mmb-carol')?.isAsSent).toBe(false)
  })

  countingTest('mails follow the state of an invitation, not the number of requests', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    let mails = 0
    const rulesByTable = rowRulesWith(() => void (mails += 1))
    const row = { id: 'mmb-dan', realmId: 'rlm-team', email: 'dan@example.com', owner: 'alice' }
    const invite = inTable('members', insert({ ...row, invite: true } as { id: string }))
    await alice.send([[invite]], { rulesByTable, txids: ['one'] })
    await alice.send([[invite]], { rulesByTable, txids: ['one'] })
    await alice.send([[inTable('members', upsert({ ...row, invite: true } as { id: string }))]], {
      rulesByTable,
    })
    expect(mails).toBe(1)
  })
})

const KEYS = ['a', 'b', 'c', 'd', 'e']

describe('rows that clients have otherwise than they say', () => {
  test('get the last change of an update that names them twice', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { n: 0 }), card('b')])
    const alice = await connect(database, 'alice')
    const pushed = await alice.push({
      type: 'update',
      keys: ['a', 'b', 'a'],
      changeSpecs: [{ n: 1, first: 1 }, { n: 2 }, { last: 1 }],
    })
    expect(await read(database, 'cards', 'a')).toEqual(card('a', { n: 0, last: 1 }))
    expect(await read(database, 'cards', 'b')).toEqual(card('b', { n: 2 }))
    expect(pushed.named.get('cards')?.get('a')).toMatchObject({
      isAsSent: true,
      properties: new Set(['last']),
    })
  })

  test('are told that they have no owner where they are changed, and not where they are replaced', async () => {
    await using database = await setupPush()
    const ownerless = (id: string) => ({ ...card(id, { list: id }), owner: null })
    await put(database, 'cards', KEYS.map(ownerless))
    const alice = await connect(database, 'alice')
    const criteria = { index: 'list', range: { type: 1, lower: 'c', upper: 'c' } }
    const pushes = [
      change('a', { n: 1 }),
      {
        ...upsert({ ...ownerless('b'), owner: 'alice' } as { id: string }),
        changeSpecs: [{ n: 1 }],
      },
      { type: 'modify', keys: ['c'], criteria, changeSpec: { n: 1 } },
      upsert(ownerless('d')),
      change('e', { owner: 'alice' }),
    ]
    const txids = ['one']
    const told = (pushed: Awaited<ReturnType<typeof alice.push>>) =>
      KEYS.map((key) => {
        const named = pushed.named.get('cards')?.get(key)
        return named?.isAsSent === false && named.properties?.has('owner') === true
      })
    expect(told(await alice.send([pushes], { txids }))).toEqual([true, true, true, false, false])
    // The answer was lost: the client sends it again.
    expect(told(await alice.send([pushes], { txids })).slice(0, 3)).toEqual([true, true, true])
  })
})
