import { describe, expect, test } from 'bun:test'
import type { Database } from '../../../src/domain/store/store'
import type { Pushed } from '../../../src/domain/sync/push'
import { NOW } from '../../contract/fixture'
import {
  card,
  change,
  connect,
  drop,
  insert,
  only,
  put,
  read,
  removeAs,
  revisionOf,
  setupPush,
  upsert,
} from './push-setup'

/** Later than the set-up. */
const T = NOW + 1_000
const TEAM = ['alice', 'rlm-team'] as const

function said(pushed: Pushed, key: string, table = 'cards') {
  const named = pushed.named.get(table)?.get(key)
  return named && { isAsSent: named.isAsSent, isRejected: named.isRejected }
}

const AS_SENT = { isAsSent: true, isRejected: false }
const DIFFERENT = { isAsSent: false, isRejected: false }

describe('rule 1: time', () => {
  test('different properties merge, and of one property the later write wins (conformance 95)', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { title: 't', n: 1, x: 0 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { title: 'late', n: 2 })]], { now: T + 50 })
    const pushed = await bob.send([[change('a', { title: 'early', x: 5 })]], { now: T + 10 })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'late', n: 2, x: 5 })
    expect(said(pushed, 'a')).toEqual(DIFFERENT)
    expect(pushed.named.get('cards')?.get('a')?.names).toEqual(new Set(['title', 'x']))
  })

  test('a write that has seen the other one wins although its clock is slow', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { title: 't' }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { title: 'one' })]], { now: T + 50_000 })
    await bob.pull()
    const pushed = await bob.send([[change('a', { title: 'two' })]], { now: T })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'two' })
    expect(said(pushed, 'a')).toEqual(AS_SENT)
    // Its floor: the next write of the slow clock is not before what it has seen.
    const carol = await connect(database, 'alice')
    const base = await revisionOf(database)
    await bob.send([[change('a', { n: 'bob' })]], { now: T + 1, base: base - 1 })
    await carol.send([[change('a', { n: 'carol' })]], { now: T + 40_000, base: base - 1 })
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 'bob' })
  })

  test('the clock of a client that is ahead is set back by its lead', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { title: 't' }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const hour = 3_600_000
    const fast = (title: string, ts: number) => ({ ...change('a', { title }), ts: ts + hour })
    await alice.send([[fast('first', T - 5)], [fast('second', T)]], { now: T })
    await bob.send([[change('a', { title: 'bob' })]], { now: T + 1 })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'bob' })
    await alice.send([[fast('third', T + 1)]], { now: T + 2, base: 1 })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'third' })
  })

  test('newer changes inside a property survive in what replaces it', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { deep: { x: 1, y: 1 } }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { 'deep.x': 5 })]], { now: T + 50 })
    await bob.send([[change('a', { deep: { x: 2, y: 2 } })]], { now: T })
    expect(await read(database, 'cards', 'a')).toMatchObject({ deep: { x: 5, y: 2 } })
  })

  test('callers of REST always win', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { title: 't', n: 1 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    await alice.send([[change('a', { title: 'sync' })]], { now: T + 500 })
    await put(database, 'cards', [card('a', { title: 'rest', n: 1 }, ...TEAM)], T)
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'rest' })
  })
})

describe('rule 2: whole objects', () => {
  test('an insert or upsert creates what is absent', async () => {
    await using world = await setupPush()
    const { database } = world
    const alice = await connect(database, 'alice')
    const pushed = await alice.push(insert(card('a', { n: 1 })), upsert(card('b', { n: 2 })))
    expect(await read(database, 'cards', 'a')).toEqual(card('a', { n: 1 }))
    expect(await read(database, 'cards', 'b')).toEqual(card('b', { n: 2 }))
    expect([said(pushed, 'a'), said(pushed, 'b')]).toEqual([AS_SENT, AS_SENT])
  })

  test('every property of either object is a write: what an upsert leaves out is removed', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { title: 't', n: 1, old: 1 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { n: 2 })]], { now: T + 50 })
    const pushed = await bob.send([[upsert(card('a', { title: 'put' }, ...TEAM))]], { now: T })
    expect(await read(database, 'cards', 'a')).toEqual(card('a', { title: 'put', n: 2 }, ...TEAM))
    expect(said(pushed, 'a')).toEqual(DIFFERENT)
  })

  test('an upsert does not bring back an object that was moved or given away', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { n: 1 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    await put(database, 'cards', [card('a', { n: 1 }, 'alice', 'alice')], T)
    await alice.send([[upsert(card('a', { n: 2 }, ...TEAM))]], { now: T + 9, base: 1_000_000 })
    expect((await read(database, 'cards', 'a'))?.['realmId']).toBe('rlm-team')
    await put(database, 'cards', [card('a', { n: 1 }, 'alice', 'alice')], T + 10)
    const base = (await revisionOf(database)) - 1
    await alice.send([[upsert(card('a', { n: 3 }, ...TEAM))]], { now: T + 90, base })
    expect(await read(database, 'cards', 'a')).toEqual(card('a', { n: 3 }))
  })

  test('of several moves in one request the last one counts', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('b', {}, ...TEAM)])
    const alice = await connect(database, 'alice')
    const pushed = await alice.send([
      [insert(card('a'))],
      [upsert(card('a', {}, ...TEAM)), upsert(card('b'))],
      [upsert(card('b', {}, ...TEAM))],
      [upsert(card('b', { n: 1 }))],
    ])
    expect(await read(database, 'cards', 'a')).toEqual(card('a', {}, ...TEAM))
    expect(await read(database, 'cards', 'b')).toEqual(card('b', { n: 1 }))
    expect([said(pushed, 'a'), said(pushed, 'b')]).toEqual([AS_SENT, AS_SENT])
  })

  test('an upsert with changeSpecs updates what is there, and creates from its values', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { n: 1, kept: true }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const both = upsert(card('a', { n: 2 }, ...TEAM), card('b', { n: 2, whole: 1 }))
    await alice.push({ ...both, changeSpecs: [{ n: 2 }, { n: 2 }] })
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 2, kept: true })
    expect(await read(database, 'cards', 'b')).toMatchObject({ n: 2, whole: 1 })
  })
})

describe('rule 3: updates', () => {
  test('of an object that is absent do nothing', async () => {
    await using world = await setupPush()
    const { database } = world
    const alice = await connect(database, 'alice')
    const pushed = await alice.push(change('a', { n: 1 }), {
      type: 'update',
      keys: [],
      changeSpecs: [{ n: 1 }],
    })
    expect(pushed.rejections).toEqual([])
    expect(said(pushed, 'a')).toEqual(AS_SENT)
    expect(await read(database, 'cards', 'a')).toBeUndefined()
  })

  test('with one changeSpec for several keys apply it to all of them (conformance 87)', async () => {
    await using world = await setupPush()
    const { database } = world
    const alice = await connect(database, 'alice')
    await alice.push(insert(card('a'), card('b')))
    await alice.push({ type: 'update', keys: ['a', 'b', 'c'], changeSpecs: [{ n: 1, 'd.e': 2 }] })
    for (const key of ['a', 'b']) {
      expect(await read(database, 'cards', key)).toMatchObject({ n: 1, d: { e: 2 } })
    }
  })

  test('with one changeSpec that modifies what it sets do so in each of its objects', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a'), card('b'), card('c')])
    const alice = await connect(database, 'alice')
    const spec = { deep: { n: 1 }, 'deep.n': { '@@propmod': { add: 1 } } }
    await alice.push({ type: 'update', keys: ['a', 'b', 'c'], changeSpecs: [spec] })
    for (const key of ['a', 'b', 'c']) {
      expect(await read(database, 'cards', key)).toMatchObject({ deep: { n: 2 } })
    }
  })

  test('property modifications apply to the current value, whatever their time', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { n: 1 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    const add = (n: number) => change('a', { n: { '@@propmod': { add: n } } })
    await alice.send([[add(10)]], { now: T + 90 })
    const pushed = await bob.send([[add(100)]], { now: T })
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 111 })
    expect(said(pushed, 'a')).toEqual(DIFFERENT)
  })
})

describe('rule 4: deletes', () => {
  test('win by key, over a change that is later', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', {}, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { n: 1 })]], { now: T + 90 })
    await bob.send([[drop('a')]], { now: T })
    expect(await read(database, 'cards', 'a')).toBeUndefined()
  })

  test('are not undone by an update or upsert of a client that has not seen them', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', {}, ...TEAM), card('b', {}, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.push(drop('a', 'b'))
    const pushed = await bob.send([[change('a', { n: 1 })], [upsert(card('b', {}, ...TEAM))]], {
      now: T,
    })
    expect([said(pushed, 'a'), said(pushed, 'b')]).toEqual([DIFFERENT, DIFFERENT])
    for (const key of ['a', 'b']) expect(await read(database, 'cards', key)).toBeUndefined()
    await bob.push(upsert(card('b', { again: 1 }, 'bob', 'rlm-team')))
    expect(await read(database, 'cards', 'b')).toMatchObject({ again: 1 })
  })

  test('are undone by an insert, and by an upsert of a row that was younger than its base', async () => {
    await using world = await setupPush()
    const { database } = world
    const bob = await connect(database, 'bob')
    const base = await revisionOf(database)
    await put(database, 'cards', [card('a', {}, ...TEAM), card('b', {}, ...TEAM)])
    await removeAs(database, 'cards', 'a')
    await removeAs(database, 'cards', 'b')
    const bobs = (id: string) => card(id, { n: 1 }, 'bob', 'rlm-team')
    const operations = [insert(bobs('a')), upsert(bobs('b'))]
    const pushed = await bob.send([operations], { base })
    for (const key of ['a', 'b']) {
      expect(await read(database, 'cards', key)).toMatchObject({ n: 1 })
      // A tombstone is newer than its base.
      expect(said(pushed, key)).toEqual(DIFFERENT)
    }
  })

  test('are undone by the client that deleted', async () => {
    await using world = await setupPush()
    const { database } = world
    const alice = await connect(database, 'alice')
    await alice.push(insert(card('a', { n: 1 })))
    const base = await revisionOf(database)
    await alice.push(drop('a'))
    await alice.send([[upsert(card('a', { n: 2 }))]], { base })
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 2 })
    await alice.push(drop('a'), insert(card('a', { n: 3 })))
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 3 })
  })
})

const inList = (list: string) => ({ index: 'list', range: only(list) })

describe('rule 6: criteria', () => {
  test('are executed on the rows of the server, those that the client does not know too (conformance 90)', async () => {
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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

  test('of a primary key only inform about the keys', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a'), card('b'), card('c')])
    const alice = await connect(database, 'alice')
    const range = { type: 3 }
    await alice.push({ type: 'delete', keys: ['a', 'b'], criteria: { index: null, range } })
    expect(await read(database, 'cards', 'a')).toBeUndefined()
    expect(await read(database, 'cards', 'b')).toBeUndefined()
    expect(await read(database, 'cards', 'c')).toBeDefined()
    const kept = await database.read(async (tx) => {
      const table = await tx.tables.find('cards')
      const realm = await tx.realms.find('alice')
      return tx.criteriaOps.since(table!.number, realm!.ref, 0)
    })
    expect(kept).toEqual([])
  })

  test.each([false, true])('find rows through every kind of index (ready: %p)', async (isReady) => {
    await using world = await setupPush('@id, title, list, *tags, d.e, [list+title]', isReady)
    const { database } = world
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

describe('rule 7: replay', () => {
  test('an object that is added late to a deleted list is deleted too', async () => {
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
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
    await using world = await setupPush()
    const { database } = world
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.push({ type: 'delete', keys: [], criteria: inList('x') })
    const options = { base: undefined }
    await bob.send([[insert(card('a', { list: 'x' }, 'bob', 'rlm-team'))]], options)
    expect(await read(database, 'cards', 'a')).toBeDefined()
  })
})

describe('rule 8: what the answer has to tell', () => {
  test('a row that another client has changed since the base is not as sent', async () => {
    await using world = await setupPush()
    const { database } = world
    await put(database, 'cards', [card('a', { n: 1 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.push(change('a', { title: 'new' }))
    const pushed = await bob.send([[change('a', { n: 2 })]], { now: T })
    expect(said(pushed, 'a')).toEqual(DIFFERENT)
    const again = await bob.push(change('a', { n: 3 }), change('a', { n: 4 }))
    expect(said(again, 'a')).toEqual(AS_SENT)
    const named = again.named.get('cards')?.get('a')
    expect(named?.revision).toBe(await revisionOf(database))
  })

  test('rows of one request that follow each other are as sent', async () => {
    await using world = await setupPush()
    const { database } = world
    const alice = await connect(database, 'alice')
    const pushed = await alice.send([
      [insert(card('a', { n: 1 }))],
      [change('a', { n: 2 })],
      [drop('a')],
      [insert(card('a', { n: 3 }))],
    ])
    expect(said(pushed, 'a')).toEqual(AS_SENT)
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 3 })
  })

  test('a base before an earlier rejection needs the whole row', async () => {
    await using world = await setupPush()
    const { database } = world
    const alice = await connect(database, 'alice')
    const base = await revisionOf(database)
    const refused = await alice.push(insert(card('a', {}, 'alice', 'rlm-nowhere')))
    expect(said(refused, 'a')).toEqual({ isAsSent: false, isRejected: true })
    const late = await alice.send([[insert(card('b'))]], { base })
    expect(said(late, 'b')).toEqual({ isAsSent: false, isRejected: true })
    const next = await alice.push(insert(card('c')))
    expect(said(next, 'c')).toEqual(AS_SENT)
  })
})
