import { describe, expect, test } from 'bun:test'
import type { Database } from '../../../src/domain/store/store'
import { FIXED_LIMITS } from '../../../src/domain/value/fixed-limits'
import {
  AS_SENT,
  DIFFERENT,
  card,
  change,
  connect,
  drop,
  insert,
  only,
  put,
  read,
  revisionOf,
  said,
  setupPush,
  T,
  TEAM,
} from './push-setup'

const inList = (list: string) => ({ index: 'list', range: only(list) })

describe('criteria', () => {
  test('are executed on the rows of the server, those that the client does not know too (conformance 90)', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [
      card('a', { list: 'x' }, ...TEAM),
      card('b', { list: 'x' }, ...TEAM),
      card('c', { list: 'y' }, ...TEAM),
    ])
    const alice = await connect(database, 'alice')
    const pushed = await alice.push({
      type: 'modify',
      keys: ['a', 'c'],
      criteria: inList('x'),
      changeSpec: { done: true },
    })
    const done = async (key: string) => (await read(database, 'cards', key))?.['done']
    expect([await done('a'), await done('b'), await done('c')]).toEqual([true, true, undefined])
    expect(said(pushed, 'a')).toEqual(AS_SENT)
    expect(said(pushed, 'c')).toEqual(DIFFERENT)
    expect(said(pushed, 'b')).toEqual(DIFFERENT)
  })

  test('reach rows that came while the others were looked up, and leave those that went', async () => {
    await using database = await setupPush()
    const rows = [card('a', { list: 'x' }, ...TEAM), card('b', { list: 'x' }, ...TEAM)]
    await put(database, 'cards', rows)
    const late = [card('b', { list: 'y' }, ...TEAM), card('c', { list: 'x' }, ...TEAM)]
    let isRowDue = false
    const busy: Database = {
      ...database,
      async write(work, options) {
        // The rows have been looked up.
        if (isRowDue) await put(database, 'cards', late)
        isRowDue = false
        return await database.write(work, options)
      },
    }
    const alice = await connect(busy, 'alice')
    const criteria = { index: 'list', range: only('x') }
    isRowDue = true
    await alice.push({ type: 'modify', keys: [], criteria, changeSpec: { m: 1 } })
    const marked = await Promise.all(['a', 'b', 'c'].map((key) => read(database, 'cards', key)))
    expect(marked.map((row) => row?.['m'])).toEqual([1, undefined, 1])
  })

  test('are executed once, at the first chunk (conformance 91)', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { list: 'x', n: 0 }), card('b', { list: 'x', n: 0 })])
    const alice = await connect(database, 'alice')
    const common = {
      type: 'modify',
      criteria: inList('x'),
      changeSpec: { n: { '@@propmod': { add: 1 } } },
    }
    const pushed = await alice.push(
      { ...common, keys: ['a'] },
      { ...common, keys: ['b'], isAdditionalChunk: true },
    )
    for (const key of ['a', 'b']) {
      expect(await read(database, 'cards', key)).toMatchObject({ n: 1 })
      expect(said(pushed, key)).toEqual(DIFFERENT)
    }
  })

  test('see what earlier operations of their transaction did', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { list: 'x' }), card('b', { list: 'y' })])
    const alice = await connect(database, 'alice')
    await alice.push(
      insert(card('c', { list: 'x' })),
      change('a', { list: 'y' }),
      change('b', { list: 'x' }),
      { type: 'delete', keys: ['c', 'b'], criteria: inList('x') },
    )
    expect(await read(database, 'cards', 'a')).toMatchObject({ list: 'y' })
    expect(await read(database, 'cards', 'b')).toBeUndefined()
    expect(await read(database, 'cards', 'c')).toBeUndefined()
  })

  test('skip rows that the actor does not see, and those that they may not change', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [
      card('mine', { list: 'x' }, 'carol'),
      card('public', { list: 'x' }, 'alice', 'rlm-public'),
      card('hidden', { list: 'x' }, ...TEAM),
    ])
    const carol = await connect(database, 'carol')
    const pushed = await carol.push({
      type: 'delete',
      keys: ['mine', 'public'],
      criteria: { index: { $t: 'undefined' }, range: { type: 3 } },
    })
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'cards', 'mine')).toBeUndefined()
    expect(await read(database, 'cards', 'public')).toBeDefined()
    expect(await read(database, 'cards', 'hidden')).toBeDefined()
    expect([said(pushed, 'mine'), said(pushed, 'public')]).toEqual([AS_SENT, DIFFERENT])
  })

  test('write the same into each row: what survives in one shows in no other, nor in later ones', async () => {
    await using database = await setupPush()
    const rows = (deep: object) => [card('a', { deep }), card('m', { deep }, ...TEAM), card('z')]
    await put(database, 'cards', rows({ x: 0, y: 0 }))
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await bob.send([[change('m', { 'deep.x': 'newer' })]], { now: T + 50 })
    const pushed = await alice.send(
      [
        [
          {
            type: 'modify',
            keys: ['a', 'm', 'z'],
            criteria: { index: { $t: 'undefined' }, range: { type: 3 } },
            changeSpec: { deep: { x: 1, y: 1 } },
          },
        ],
      ],
      { now: T },
    )
    const base = (await revisionOf(database)) - 1
    await bob.send([[insert(card('late', {}, 'bob', 'rlm-team'))]], { now: T + 60, base })
    const deep = async (key: string) => (await read(database, 'cards', key))?.['deep']
    expect(await deep('m')).toEqual({ x: 'newer', y: 1 })
    for (const key of ['a', 'z', 'late']) expect(await deep(key)).toEqual({ x: 1, y: 1 })
    expect(['a', 'm', 'z'].map((key) => said(pushed, key))).toEqual([AS_SENT, DIFFERENT, AS_SENT])
  })

  test('add the same to the list of each row: a later change inside one shows in no other', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a'), card('b'), card('c')])
    const alice = await connect(database, 'alice')
    const tags = { '@@propmod': { add: [{ n: 1 }] } }
    const inside = { 'tags.0.n': { '@@propmod': { add: 1 } } }
    await alice.push(
      {
        type: 'modify',
        keys: ['a', 'b', 'c'],
        criteria: { index: { $t: 'undefined' }, range: { type: 3 } },
        changeSpec: { tags, ...inside },
      },
      change('a', { 'tags.0.n': 5 }),
    )
    const tagsOf = async (key: string) => (await read(database, 'cards', key))?.['tags']
    expect(await tagsOf('a')).toEqual([{ n: 5 }])
    expect(await tagsOf('b')).toEqual([{ n: 2 }])
    expect(await tagsOf('c')).toEqual([{ n: 2 }])
  })

  test('of a primary key only inform about the keys', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a'), card('b'), card('c')])
    const alice = await connect(database, 'alice')
    const range = { type: 3 }
    await alice.push({ type: 'delete', keys: ['a', 'b'], criteria: { index: null, range } })
    expect(await read(database, 'cards', 'a')).toBeUndefined()
    expect(await read(database, 'cards', 'b')).toBeUndefined()
    expect(await read(database, 'cards', 'c')).toBeDefined()
    const kept = await database.read((tx) => {
      const table = tx.tables.find('cards')
      return tx.criteriaOps.list(table!.number, { subject: 'alice' }, 0, 10)
    })
    expect(kept).toEqual([])
  })

  test.each([false, true])('find rows through every kind of index (ready: %p)', async (isReady) => {
    await using database = await setupPush('@id, title, list, *tags, d.e, [list+title]', isReady)
    const alice = await connect(database, 'alice')
    const date = (v: string) => ({ $t: 'Date', v })
    const when = date('2029-05-01T00:00:00.000Z')
    const values = { list: 'x', title: 't', tags: ['red', 'blue'], d: { e: 7 } }
    const others = { list: 'y', title: 'u', tags: ['green'], d: { e: 4 } }
    await alice.push(
      insert(card('a', values), card('b', others), card('c', { d: { e: when } }), card('d')),
    )
    const queries = [
      { index: 'tags', range: only('blue') },
      { index: 'd.e', range: { type: 2, lower: 5, upper: { $t: 'undefined' } } },
      { index: 'd.e', range: { type: 2, lower: 5, upper: 7 } },
      { index: 'd.e', range: { type: 2, lower: 4, lowerOpen: true, upper: 7.5, upperOpen: true } },
      { index: '[list+title]', range: only(['x', 't']) },
      { index: 'title', range: { type: 2, lower: 't', upper: 't\uffff' } },
      { index: 'title', range: only('t') },
      { index: { $t: 'undefined' }, range: { type: 3 } },
    ]
    const changeSpec = { n: { '@@propmod': { add: 1 } } }
    for (const criteria of queries) {
      await alice.push({ type: 'modify', keys: ['a'], criteria, changeSpec })
    }
    const range = { type: 2, lower: when, upper: date('2029-05-02T00:00:00.000Z') }
    await alice.push({ type: 'modify', keys: [], criteria: { index: 'd.e', range }, changeSpec })
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: queries.length })
    // Date follows number: c is in the second and the last range, and in the one of all rows.
    const counts = await Promise.all(['b', 'c', 'd'].map((key) => read(database, 'cards', key)))
    expect(counts.map((row) => row?.['n'])).toEqual([1, 3, 1])
    const hidden = card('hidden', values, ...TEAM)
    await put(database, 'cards', [hidden])
    const carol = await connect(database, 'carol')
    await carol.push({ type: 'delete', keys: [], criteria: { index: 'list', range: only('x') } })
    expect(await read(database, 'cards', 'hidden')).toEqual(hidden)
  })
})

describe('kept operations are replayed on rows that come later', () => {
  test('an object that is added late to a deleted list is deleted too', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.push({ type: 'delete', keys: [], criteria: inList('x') })
    const pushed = await bob.send([
      [insert(card('a', { list: 'x' }, 'bob', 'rlm-team'))],
      [insert(card('b', { list: 'y' }, 'bob', 'rlm-team'))],
    ])
    expect(await read(database, 'cards', 'a')).toBeUndefined()
    expect(await read(database, 'cards', 'b')).toBeDefined()
    expect([said(pushed, 'a'), said(pushed, 'b')]).toEqual([DIFFERENT, AS_SENT])
  })

  test('an object that moves late under a changed path changes, once and whatever the times', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { list: 'y', n: 0 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const add = { n: { '@@propmod': { add: 1 } } }
    await alice.send([[{ type: 'modify', keys: [], criteria: inList('x'), changeSpec: add }]], {
      now: T,
    })
    const base = (await revisionOf(database)) - 1
    await bob.send([[change('a', { list: 'x' })]], { now: T + 50, base })
    expect(await read(database, 'cards', 'a')).toMatchObject({ list: 'x', n: 1 })
    await bob.send([[change('a', { title: 'late' })]], { now: T + 60, base })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'late', n: 1 })
  })

  test('rows that are made after the operation was seen, or by its own client, stay', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const base = await revisionOf(database)
    const clear = { type: 'delete', keys: [], criteria: inList('x') }
    await alice.push(clear)
    await bob.pull()
    await bob.push(insert(card('a', { list: 'x' }, 'bob', 'rlm-team')))
    await alice.send([[insert(card('b', { list: 'x' }))]], { base })
    expect(await read(database, 'cards', 'a')).toBeDefined()
    expect(await read(database, 'cards', 'b')).toBeDefined()
  })

  test('needs the rights of the actor of the operation, not of the late one', async () => {
    await using database = await setupPush()
    await put(database, 'members', [
      { id: 'mmb-carol', realmId: 'rlm-team', userId: 'carol', permissions: { add: ['cards'] } },
    ])
    const carol = await connect(database, 'carol')
    const bob = await connect(database, 'bob')
    const alice = await connect(database, 'alice')
    const changeSpec = { locked: true }
    await carol.push({ type: 'delete', keys: [], criteria: inList('x') })
    await bob.push({ type: 'modify', keys: [], criteria: inList('x'), changeSpec })
    const base = (await revisionOf(database)) - 2
    await alice.send([[insert(card('a', { list: 'x' }, ...TEAM))]], { base })
    expect(await read(database, 'cards', 'a')).toMatchObject({ locked: true })
    // Carol may add cards and not change them: those of others change hers.
    await carol.send([[insert(card('c', { list: 'x' }, 'carol', 'rlm-team'))]], { base })
    expect(await read(database, 'cards', 'c')).toMatchObject({ locked: true })
  })

  test('changes nothing that the actor of the operation may not change', async () => {
    await using database = await setupPush()
    await put(database, 'members', [
      { id: 'mmb-carol', realmId: 'rlm-team', userId: 'carol', permissions: { add: ['cards'] } },
    ])
    const carol = await connect(database, 'carol')
    const bob = await connect(database, 'bob')
    const changeSpec = { locked: true }
    await carol.push({ type: 'modify', keys: [], criteria: inList('x'), changeSpec })
    const base = (await revisionOf(database)) - 1
    await bob.send([[insert(card('a', { list: 'x' }, 'bob', 'rlm-team'))]], { base })
    expect((await read(database, 'cards', 'a'))?.['locked']).toBeUndefined()
  })

  test('is not done for an operation whose base is unknown', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.push({ type: 'delete', keys: [], criteria: inList('x') })
    const options = { base: undefined }
    await bob.send([[insert(card('a', { list: 'x' }, 'bob', 'rlm-team'))]], options)
    expect(await read(database, 'cards', 'a')).toBeDefined()
  })
})

describe('a realm that a transaction makes', () => {
  const everything = { index: { $t: 'undefined' }, range: { type: 3 } }
  const NEW = 'rlm~list'
  const made = { realmId: NEW, owner: 'alice', name: 'New' }
  const make = { table: 'realms', type: 'upsert', keys: [NEW], values: [made] }
  const move = (keys: readonly string[], realmId = NEW) => ({
    type: 'modify',
    keys,
    criteria: inList('x'),
    changeSpec: { realmId },
  })
  const end = { table: 'realms', type: 'delete', keys: [NEW], criteria: { $t: 'undefined' } }
  const cards = [card('a', { list: 'x' }), card('b', { list: 'x' })]
  const realmOf = async (database: Database, key: string) =>
    (await read(database, 'cards', key))?.['realmId']

  test.each([
    ['before', [make, move(['a'])]],
    ['after', [move(['a']), make]],
  ])('gets the rows of criteria that come %s it', async (_, operations) => {
    await using database = await setupPush()
    await put(database, 'cards', cards)
    const alice = await connect(database, 'alice')
    const pushed = await alice.push(...operations)
    expect(pushed.rejections).toEqual([])
    expect([await realmOf(database, 'a'), await realmOf(database, 'b')]).toEqual([NEW, NEW])
    expect([said(pushed, 'a'), said(pushed, 'b')]).toEqual([AS_SENT, DIFFERENT])
  })

  test('lets criteria reach its rows of members', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const dan = { id: 'mmb-dan', realmId: NEW, owner: 'alice', email: 'dan@example.com' }
    const criteria = { index: 'realmId', range: only(NEW) }
    const changeSpec = { permissions: { manage: '*' } }
    const pushed = await alice.push(
      make,
      { table: 'members', type: 'insert', keys: ['mmb-dan'], values: [dan] },
      { table: 'members', type: 'modify', keys: ['mmb-dan'], criteria, changeSpec },
    )
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'members', 'mmb-dan')).toMatchObject(changeSpec)
  })

  test('is made again where it was tied to an own object, and not by others', async () => {
    await using database = await setupPush()
    await put(database, 'lists', [card('list')])
    await put(database, 'cards', cards)
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const unmake = [move(['a', 'b'], 'alice'), end]
    for (const operations of [[make, move(['a', 'b'])], unmake]) {
      expect((await alice.push(...operations)).rejections).toEqual([])
    }
    const his = { ...make, values: [{ ...made, owner: 'bob' }] }
    expect((await bob.push(his)).rejections.map(({ name }) => name)).toEqual(['CONFLICT'])
    expect((await alice.push(make, move(['a', 'b']))).rejections).toEqual([])
    expect([await realmOf(database, 'a'), await realmOf(database, 'b')]).toEqual([NEW, NEW])
    expect(await read(database, 'members', 'mmb~list')).toMatchObject({ userId: 'alice' })
    expect((await alice.push(...unmake)).rejections).toEqual([])
    // Without the object nobody can say whose it was.
    await alice.push({ table: 'lists', type: 'delete', keys: ['list'] })
    expect((await alice.push(make)).rejections.map(({ name }) => name)).toEqual(['CONFLICT'])
  })

  test('gives nobody rights where it is not made: the transaction is rejected as a whole', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('list', {}, 'bob'), ...cards])
    const alice = await connect(database, 'alice')
    for (const taken of [NEW, 'bob', 'rlm-public', 'rlm-team~']) {
      const row = { ...make, keys: [taken], values: [{ ...made, realmId: taken, owner: 'bob' }] }
      const pushed = await alice.push(row, move(['a', 'b'], taken))
      expect(pushed.rejections).toHaveLength(1)
    }
    expect([await realmOf(database, 'a'), await realmOf(database, 'b')]).toEqual(['alice', 'alice'])
    const found = (id: string) => database.read((tx) => tx.realms.find(id))
    expect(await found(NEW)).toBeUndefined()
    expect(await found('rlm-team~')).toBeUndefined()
  })

  test('is gone when the transaction ends it, unless rows would stay behind in it', async () => {
    await using database = await setupPush()
    await put(database, 'cards', cards)
    const alice = await connect(database, 'alice')
    const left = await alice.push(make, move(['a', 'b']), end)
    expect(left.rejections.map(({ name }) => name)).toEqual(['NOT_AUTHORIZED'])
    const pushed = await alice.push(make, move(['a', 'b']), end, move(['a', 'b'], 'alice'))
    expect(pushed.rejections).toEqual([])
    expect([await realmOf(database, 'a'), await realmOf(database, 'b')]).toEqual(['alice', 'alice'])
    expect(await database.read((tx) => tx.realms.find(NEW))).toBeUndefined()
    expect(await read(database, 'realms', NEW)).toBeUndefined()
  })

  test('shows its maker no rows of others that have its id as their realm', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('hidden', { list: 'x' }, ...TEAM), ...cards])
    const carol = await connect(database, 'carol')
    const own = { ...made, realmId: 'rlm-carol', owner: 'carol' }
    const pushed = await carol.push(
      { ...make, keys: ['rlm-carol'], values: [own] },
      {
        type: 'modify',
        keys: ['hidden'],
        criteria: everything,
        changeSpec: { realmId: 'rlm-carol' },
      },
    )
    expect(pushed.rejections).toEqual([])
    expect(await realmOf(database, 'hidden')).toBe('rlm-team')
  })
})

describe('replay in either order', () => {
  test('compares with the time and the base of the operation, and later changes of the row stand', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const base = await revisionOf(database)
    const changeSpec = { title: 'alice', done: true }
    const modify = { type: 'modify', keys: [], criteria: inList('x'), changeSpec }
    const bobs = (id: string) => card(id, { list: 'x', title: 'made' }, 'bob', 'rlm-team')
    const work = (id: string) => [
      [{ ...insert(bobs(id)), ts: T + 20 }],
      [{ ...change(id, { title: 'bob' }), ts: T + 21 }],
    ]
    const at = { now: T + 100, base }
    // Made later than the operation, and changed later still.
    await bob.send(work('early'), at)
    await alice.send([[{ ...modify, ts: T + 10 }]], at)
    await bob.send(work('late'), at)
    // What a replay wrote is unseen by what the same request brings then.
    await alice.send([[{ ...modify, ts: T + 30 }]], at)
    await bob.send(work('last'), at)
    const titles = await Promise.all(
      ['early', 'late', 'last'].map(async (key) => await read(database, 'cards', key)),
    )
    expect(titles.map((row) => [row?.['title'], row?.['done']])).toEqual([
      ['alice', true],
      ['alice', true],
      ['alice', true],
    ])
    await bob.send([[{ ...change('last', { title: 'later' }), ts: T + 40 }]], at)
    expect(await read(database, 'cards', 'last')).toMatchObject({ title: 'later' })
  })

  test('an operation that reaches a row last does not undo a later one of its client that came first', async () => {
    for (const isLate of [false, true]) {
      await using database = await setupPush()
      const phone = await connect(database, 'alice')
      const laptop = await connect(database, 'alice')
      const at = { base: await revisionOf(database), now: T + 100 }
      const modify = { type: 'modify', keys: [] }
      const upToY = { index: 'list', range: { type: 2, upper: 'y' } }
      const modifying = [
        [{ ...modify, criteria: inList('x'), changeSpec: { note: 'first' }, ts: T + 1 }],
        [{ ...modify, criteria: upToY, changeSpec: { note: 'second' }, ts: T + 2 }],
      ]
      if (isLate) await laptop.send(modifying, at)
      // The first operation finds the row only where the second transaction moves it.
      await phone.send([[insert(card('a', { list: 'y' }))], [change('a', { list: 'x' })]], at)
      if (!isLate) await laptop.send(modifying, at)
      expect(await read(database, 'cards', 'a')).toMatchObject({ list: 'x', note: 'second' })
    }
  })

  test('an operation sets what an earlier one of its client has added to, in whichever order they arrive', async () => {
    for (const isLate of [false, true]) {
      await using database = await setupPush()
      const phone = await connect(database, 'alice')
      const laptop = await connect(database, 'alice')
      const at = { base: await revisionOf(database), now: T + 100 }
      const modify = { type: 'modify', keys: [], criteria: inList('x') }
      const modifying = [
        [{ ...modify, changeSpec: { n: { '@@propmod': { add: 1 } } }, ts: T + 1 }],
        [{ ...modify, changeSpec: { n: 7 }, ts: T + 2 }],
      ]
      if (isLate) await laptop.send(modifying, at)
      await phone.send([[{ ...insert(card('a', { list: 'x', n: 0 })), ts: T + 3 }]], at)
      if (!isLate) await laptop.send(modifying, at)
      expect(await read(database, 'cards', 'a')).toMatchObject({ n: 7 })
    }
  })

  test('leaves values that are later than the operation, in whichever order they arrive', async () => {
    for (const isLate of [false, true]) {
      await using database = await setupPush()
      const alice = await connect(database, 'alice')
      const bob = await connect(database, 'bob')
      const base = await revisionOf(database)
      const changeSpec = { title: 'alice', note: 'alice', realmId: 'alice', owner: null }
      const modify = { type: 'modify', keys: [], criteria: inList('x'), changeSpec, ts: T + 10 }
      const made = card('a', { list: 'x', title: 'made', note: 'made' }, 'bob', 'rlm-team')
      const work = [
        [{ ...insert(made), ts: T + 20 }],
        [{ ...change('a', { title: 'bob' }), ts: T + 21 }],
      ]
      const at = { now: T + 100, base }
      if (!isLate) await bob.send([[...work[0]!, ...work[1]!]], at)
      await alice.send([[modify]], at)
      if (isLate) await bob.send([[...work[0]!, ...work[1]!]], at)
      // The creation never resists, whatever its time.
      const rest = { list: 'x', note: 'alice', owner: null, realmId: 'alice' }
      expect(await read(database, 'cards', 'a')).toEqual({ id: 'a', title: 'bob', ...rest })
    }
  })

  test('a deletion that reaches an own object by what another did is not undone by a later change of it', async () => {
    for (const isLate of [false, true]) {
      await using database = await setupPush()
      const phone = await connect(database, 'alice')
      const laptop = await connect(database, 'alice')
      const at = { base: await revisionOf(database), now: T + 100 }
      const moving = { type: 'modify', keys: [], criteria: inList('x'), changeSpec: { list: 'y' } }
      const made = card('a', { list: 'x', note: 'made' })
      const work = [
        [insert(made), { type: 'delete', keys: [], criteria: inList('y') }],
        [{ ...change('a', { note: 'changed' }), type: 'upsert', values: [made] }],
      ]
      if (isLate) await laptop.send([[moving]], at)
      const { named } = await phone.send(work, at)
      if (!isLate) await laptop.send([[moving]], at)
      expect(await read(database, 'cards', 'a')).toBeUndefined()
      expect(named.get('cards')?.get('a')?.isAsSent).toBe(!isLate)
    }
  })

  test('an object that its client has deleted, too, can be made again there', async () => {
    await using database = await setupPush()
    const phone = await connect(database, 'alice')
    const laptop = await connect(database, 'alice')
    const at = { base: await revisionOf(database), now: T + 100 }
    const moving = { type: 'modify', keys: [], criteria: inList('x'), changeSpec: { list: 'y' } }
    await laptop.send([[moving]], at)
    for (const [key, criteria] of [
      ['a', undefined],
      ['b', inList('x')],
    ] as const) {
      const made = card(key, { list: 'x' })
      await phone.send(
        [
          [insert(made), { type: 'delete', keys: [], criteria: inList('y') }],
          [{ type: 'delete', keys: [key], criteria }],
          [{ type: 'upsert', keys: [key], values: [{ ...made, list: 'z' }] }],
        ],
        at,
      )
      expect(await read(database, 'cards', key)).toMatchObject({ list: 'z' })
    }
  })

  test('reaches an object that comes from where the author could not read it', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await bob.push(insert(card('a', { list: 'x' }, 'bob')))
    const base = await revisionOf(database)
    await alice.push({ type: 'delete', keys: [], criteria: inList('x') })
    await bob.send([[change('a', { realmId: 'rlm-team' })]], { base })
    expect(await read(database, 'cards', 'a')).toBeUndefined()
  })

  test('follows the object into its new realm, in the order of the operations', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const phone = await connect(database, 'bob')
    const laptop = await connect(database, 'bob')
    const base = await revisionOf(database)
    const modify = (changeSpec: object) => {
      return { type: 'modify', keys: [], criteria: inList('x'), changeSpec }
    }
    await alice.push(modify({ before: 1 }))
    await phone.push(modify({ realmId: 'rlm-team' }))
    await alice.push(modify({ after: 1 }))
    await laptop.send([[insert(card('a', { list: 'x' }, 'bob'))]], { base })
    const moved = card('a', { list: 'x', after: 1 }, 'bob', 'rlm-team')
    expect(await read(database, 'cards', 'a')).toEqual(moved)
  })

  test('moves an object that was added to a realm which was made private meanwhile', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('first', { list: 'x' }, ...TEAM)])
    const phone = await connect(database, 'alice')
    const laptop = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const base = await revisionOf(database)
    const members = { index: 'realmId', range: only('rlm-team') }
    await phone.push(
      { type: 'modify', keys: ['first'], criteria: inList('x'), changeSpec: { realmId: 'alice' } },
      { table: 'members', type: 'delete', keys: [], criteria: members },
      { ...drop('rlm-team'), table: 'realms' },
    )
    await laptop.send([[insert(card('late', { list: 'x' }, ...TEAM))]], { base })
    const pushed = await bob.send([[insert(card('bobs', { list: 'x' }, 'bob', 'rlm-team'))]], {
      base,
    })
    for (const key of ['first', 'late']) {
      expect(await read(database, 'cards', key)).toEqual(card(key, { list: 'x' }))
    }
    // Bob has no rights where the list is now.
    expect(pushed.rejections).toHaveLength(1)
    expect(await read(database, 'cards', 'bobs')).toBeUndefined()
  })

  test('never counts twice in an object', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { list: 'x', n: 0 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const carol = await connect(database, 'bob')
    const base = await revisionOf(database)
    const changeSpec = { n: { '@@propmod': { add: 1 } }, done: true }
    await alice.push({ type: 'modify', keys: ['a'], criteria: inList('x'), changeSpec })
    await bob.pull()
    await bob.push(change('a', { list: 'y', n: 10 }))
    for (const list of ['x', 'y', 'x']) await carol.send([[change('a', { list })]], { base })
    expect(await read(database, 'cards', 'a')).toMatchObject({ list: 'x', n: 10, done: true })
  })

  test('reaches the first private object of a user', async () => {
    await using database = await setupPush()
    const phone = await connect(database, 'dave')
    const laptop = await connect(database, 'dave')
    const base = await revisionOf(database)
    await phone.push({ type: 'delete', keys: [], criteria: inList('x') })
    await laptop.send([[insert(card('a', { list: 'x' }, 'dave'))]], { base })
    expect(await read(database, 'cards', 'a')).toBeUndefined()
  })

  test('reaches nothing in realms that the author has entered since', async () => {
    await using database = await setupPush()
    const dave = await connect(database, 'dave')
    const bob = await connect(database, 'bob')
    const base = await revisionOf(database)
    await dave.push({ type: 'delete', keys: [], criteria: inList('x') })
    const permissions = { manage: '*' }
    const row = { id: 'mmb-dave', realmId: 'rlm-team', userId: 'dave', permissions }
    await put(database, 'members', [row])
    await bob.send([[insert(card('a', { list: 'x' }, 'bob', 'rlm-team'))]], { base })
    expect(await read(database, 'cards', 'a')).toBeDefined()
    await dave.push({ type: 'delete', keys: [], criteria: inList('z') })
    await bob.send([[insert(card('b', { list: 'z' }, 'bob', 'rlm-team'))]], { base })
    expect(await read(database, 'cards', 'b')).toBeUndefined()
  })
})

const MOST_KEPT = FIXED_LIMITS.keptOperations.most

describe('kept operations', () => {
  const keptOf = (database: Database, subject: string) =>
    database.read((tx) => {
      const table = tx.tables.find('cards')
      return tx.criteriaOps.list(table!.number, { subject }, 0, 10_000)
    })

  test('are kept once, however many realms their author is in', async () => {
    await using database = await setupPush()
    const realms = Array.from({ length: 30 }, (_, n) => `rlm-${n}`)
    await put(
      database,
      'realms',
      realms.map((realmId) => ({ realmId, owner: 'alice' })),
    )
    const alice = await connect(database, 'alice')
    const other = await connect(database, 'alice')
    const base = await revisionOf(database)
    await alice.push({ type: 'delete', keys: [], criteria: inList('x') })
    expect(await keptOf(database, 'alice')).toHaveLength(1)
    const late = realms.map((realmId) => card(`in-${realmId}`, { list: 'x' }, 'alice', realmId))
    await other.send([[insert(...late)]], { base })
    for (const { id } of late) expect(await read(database, 'cards', id)).toBeUndefined()
  })

  test('end with the oldest when there are more than a thousand of a user', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const count = MOST_KEPT + 3
    const each = (n: number) => ({ type: 'delete', keys: [], criteria: inList(`x${n}`) })
    await alice.push(...Array.from({ length: count }, (_, n) => each(n)))
    const kept = (await keptOf(database, 'alice')).map(({ criteria }) => criteria)
    expect(kept).toHaveLength(MOST_KEPT)
    expect([kept[0], kept.at(-1)]).toEqual([
      JSON.stringify(inList('x3')),
      JSON.stringify(inList(`x${count - 1}`)),
    ])
  })

  test('are few of those that are too long to be replayed', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { list: 'x' })])
    const alice = await connect(database, 'alice')
    const changeSpec = { title: 'x'.repeat(FIXED_LIMITS.keptCharacters.most) }
    await alice.push({ type: 'modify', keys: ['a'], criteria: inList('x'), changeSpec })
    expect(await read(database, 'cards', 'a')).toMatchObject(changeSpec)
    expect(await keptOf(database, 'alice')).toEqual([])
  })

  test('are replayed at a cost that one unit can bear: others wait for it', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const base = await revisionOf(database)
    const changeSpec = { n: { '@@propmod': { add: 1 } } }
    const modify = { type: 'modify', keys: [], criteria: inList('x'), changeSpec }
    await alice.push(...Array.from({ length: 30 }, () => modify))
    const late = Array.from({ length: 300 }, (_, n) => {
      return card(`c${n}`, { list: 'x', n: 0 }, 'bob', 'rlm-team')
    })
    await bob.send([[insert(...late)]], { base })
    const rows = await Promise.all(late.map(({ id }) => read(database, 'cards', id)))
    const applied = rows.map((row) => Number(row?.['n']))
    expect([applied[0], applied.at(-1)]).toEqual([30, 0])
    const sum = applied.reduce((all, count) => all + count, 0)
    expect(sum * 150).toBeLessThan(FIXED_LIMITS.replaySteps.most)
    // Another unit has as much again.
    await bob.send([[insert({ ...late[0]!, id: 'next' })]], { base })
    expect(await read(database, 'cards', 'next')).toMatchObject({ n: 30 })
  })

  test('count by the length of their criteria and changes, and by the size of the late row', async () => {
    const long = Array.from({ length: 31 }, () => 'a').join('.')
    const index = `[${Array.from({ length: 16 }, () => long).join('+')}]`
    const bound = (text: string) => Array.from({ length: 16 }, () => text)
    const deep = long.split('.').reduce<unknown>((value) => ({ a: value }), 'w')
    const heavy = { index, range: { type: 2, lower: bound(''), upper: bound('x') } }
    const change = { n: { '@@propmod': { add: 1 } } }
    const paths = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`p${n}`, 0]))
    const large = { many: Array.from({ length: 20_000 }, () => 0) }
    const applied = async (
      rows: number,
      criteria: object,
      changeSpec: object,
      values: object = {},
    ) => {
      await using database = await setupPush()
      const alice = await connect(database, 'alice')
      const bob = await connect(database, 'bob')
      const base = await revisionOf(database)
      const modify = { type: 'modify', keys: [], criteria, changeSpec }
      await alice.push(...Array.from({ length: 30 }, () => modify))
      const late = Array.from({ length: rows }, (_, n) =>
        card(`c${n}`, { list: 'x', n: 0, ...values }, 'bob', 'rlm-team'),
      )
      await bob.send([[insert(...late)]], { base })
      const found = await Promise.all(late.map(({ id }) => read(database, 'cards', id)))
      return found.reduce((all, row) => all + Number(row?.['n']), 0)
    }
    expect(await applied(10, inList('x'), change)).toBe(300)
    expect(await applied(10, heavy, change, deep as object)).toBe(300)
    // Half a million steps are enough for some of these.
    for (const [changeSpec, row] of [
      [{ ...change, ...paths }, {}],
      [change, large],
    ] as const) {
      const count = await applied(10, inList('x'), changeSpec, row)
      expect(count).toBeGreaterThan(0)
      expect(count).toBeLessThan(300)
    }
  })
})
