import { describe, expect, test } from 'bun:test'
import {
  AS_SENT,
  DIFFERENT,
  card,
  change,
  connect,
  drop,
  insert,
  put,
  read,
  removeAs,
  revisionOf,
  said,
  setupPush,
  T,
  TEAM,
  upsert,
} from './push-setup'

const TEAM_PLACE = { realmId: 'rlm-team' }

describe('time', () => {
  test('different properties merge, and of one property the later write wins (conformance 95)', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { title: 't', n: 1, x: 0 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { title: 'late', n: 2 })]], { now: T + 50 })
    const pushed = await bob.send([[change('a', { title: 'early', x: 5 })]], { now: T + 10 })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'late', n: 2, x: 5 })
    expect(said(pushed, 'a')).toEqual(DIFFERENT)
    expect(pushed.named.get('cards')?.get('a')?.properties).toEqual(new Set(['title', 'x']))
  })

  test('an earlier change of the object in the same request makes no other one newer', async () => {
    await using database = await setupPush()
    const [team, mine] = [card('a', { title: 't' }, ...TEAM), card('b', { title: 't' })]
    await put(database, 'cards', [team, mine])
    const alice = await connect(database, 'alice')
    const phone = await connect(database, 'alice')
    await alice.send([[change('a', { title: 'late' }), change('b', TEAM_PLACE)]], { now: T + 50 })
    const pushed = await phone.send(
      [
        [change('a', { n: 2 }), change('b', { n: 2 })],
        [change('a', { title: 'early' }), upsert(card('b', { title: 'put' }))],
        [change('a', { n: 3 }), change('b', { title: 'again' })],
      ],
      { now: T + 10 },
    )
    expect(await read(database, 'cards', 'a')).toEqual({ ...team, title: 'late', n: 3 })
    expect(await read(database, 'cards', 'b')).toEqual({ ...mine, ...TEAM_PLACE, title: 'again' })
    expect([said(pushed, 'a'), said(pushed, 'b')]).toEqual([DIFFERENT, DIFFERENT])
  })

  test('a write that has seen the other one wins although its clock is slow', async () => {
    await using database = await setupPush()
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

  test('a clock is stored once a minute, and at once where it rises above what the client says', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { title: 't' }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob', 'slow')
    const minute = Math.ceil(T / 60_000) * 60_000
    const stored = async () =>
      (await database.read((tx) => tx.syncClients.find('bob', 'slow')))!.floor - minute
    const floors: number[] = []
    for (const now of [minute, minute + 10_000, minute + 61_000, minute + 62_000]) {
      await bob.send([[change('a', { n: now })]], { now })
      floors.push(await stored())
    }
    expect(floors).toEqual([0, 0, 61_000, 61_000])
    await alice.send([[change('a', { title: 'one' })]], { now: minute + 90_000 })
    await bob.pull()
    await bob.send([[change('a', { title: 'two' })]], { now: minute + 63_000 })
    expect(await stored()).toBe(90_000)
  })

  test('the clock of a client that is ahead is set back by its lead', async () => {
    await using database = await setupPush()
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

  test('an operation stamped in the future drags no later one of its client into the past', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { title: 't' }, ...TEAM), card('b')])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await bob.send([[change('a', { title: 'bob' })]], { now: T + 100_000 })
    const future = { ...change('b', { n: 1 }, { rev: 1 }), ts: T + 9_000_000 }
    const right = { ...change('a', { title: 'alice' }, { rev: 2 }), ts: T + 200_000 }
    const pushed = await alice.send([[right], [future]], { now: T + 300_000 })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'alice' })
    expect(said(pushed, 'b')).toEqual(AS_SENT)
    // It was made before the other one, whose time it has now.
    await bob.send([[change('b', { n: 2 })]], { now: T + 200_001, base: 1 })
    expect(await read(database, 'cards', 'b')).toMatchObject({ n: 1 })
  })

  test('a change made after the clock was set right replaces one from before', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { title: 't' })])
    const alice = await connect(database, 'alice')
    const wrong = { ...change('a', { title: 'wrong' }, { rev: 1 }), ts: T + 9_000_000 }
    const right = { ...change('a', { title: 'right' }, { rev: 2 }), ts: T }
    const pushed = await alice.send([[right], [wrong]], { now: T + 1 })
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'right' })
    expect(said(pushed, 'a')).toEqual(AS_SENT)
  })

  test('of two changes at the same time that of the larger client counts, in either order', async () => {
    for (const isReversed of [false, true]) {
      await using database = await setupPush()
      await put(database, 'cards', [card('a', { title: 't' }, ...TEAM)])
      const small = await connect(database, 'alice')
      const large = await connect(database, 'bob')
      const changes = [
        () => small.send([[change('a', { title: 'small' })]], { now: T }),
        () => large.send([[change('a', { title: 'large' })]], { now: T }),
      ]
      for (const send of isReversed ? changes.toReversed() : changes) await send()
      expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'large' })
    }
  })

  test('newer changes inside a property survive in what replaces it', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { deep: { x: 1, y: 1 } }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { 'deep.x': 5 })]], { now: T + 50 })
    await bob.send([[change('a', { deep: { x: 2, y: 2 } })]], { now: T })
    expect(await read(database, 'cards', 'a')).toMatchObject({ deep: { x: 5, y: 2 } })
  })

  test('callers of REST always win', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { title: 't', n: 1 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    await alice.send([[change('a', { title: 'sync' })]], { now: T + 500 })
    await put(database, 'cards', [card('a', { title: 'rest', n: 1 }, ...TEAM)], T)
    expect(await read(database, 'cards', 'a')).toMatchObject({ title: 'rest' })
  })
})

describe('whole objects', () => {
  test('an insert or upsert creates what is absent', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const pushed = await alice.push(insert(card('a', { n: 1 })), upsert(card('b', { n: 2 })))
    expect(await read(database, 'cards', 'a')).toEqual(card('a', { n: 1 }))
    expect(await read(database, 'cards', 'b')).toEqual(card('b', { n: 2 }))
    expect([said(pushed, 'a'), said(pushed, 'b')]).toEqual([AS_SENT, AS_SENT])
  })

  test('every property of either object is a write: what an upsert leaves out is removed', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { title: 't', n: 1, old: 1 }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { n: 2 })]], { now: T + 50 })
    const pushed = await bob.send([[upsert(card('a', { title: 'put' }, ...TEAM))]], { now: T })
    expect(await read(database, 'cards', 'a')).toEqual(card('a', { title: 'put', n: 2 }, ...TEAM))
    expect(said(pushed, 'a')).toEqual(DIFFERENT)
  })

  test('an upsert does not bring back an object that was moved or given away', async () => {
    await using database = await setupPush()
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
    await using database = await setupPush()
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
    await using database = await setupPush()
    await put(database, 'cards', [card('a', { n: 1, kept: true }, ...TEAM)])
    const alice = await connect(database, 'alice')
    const both = upsert(card('a', { n: 2 }, ...TEAM), card('b', { n: 2, whole: 1 }))
    await alice.push({ ...both, changeSpecs: [{ n: 2 }, { n: 2 }] })
    expect(await read(database, 'cards', 'a')).toMatchObject({ n: 2, kept: true })
    expect(await read(database, 'cards', 'b')).toMatchObject({ n: 2, whole: 1 })
  })

  test('an upsert removes only what it had seen, in whichever order they arrive', async () => {
    for (const isLate of [false, true]) {
      await using database = await setupPush()
      await put(database, 'cards', [card('a', { title: 't', old: 1 }, ...TEAM)])
      const alice = await connect(database, 'alice')
      const bob = await connect(database, 'bob')
      const note = () => bob.send([[change('a', { note: 'bob' })]], { now: T })
      if (!isLate) await note()
      await alice.send([[upsert(card('a', { title: 'put' }, ...TEAM))]], { now: T + 50 })
      if (isLate) await note()
      const both = card('a', { title: 'put', note: 'bob' }, ...TEAM)
      expect(await read(database, 'cards', 'a')).toEqual(both)
    }
  })

  test('an upsert that repeats the place leaves it to others, in whichever order they arrive', async () => {
    for (const isLate of [false, true]) {
      await using database = await setupPush()
      await put(database, 'cards', [card('a', { n: 1 }, ...TEAM)])
      const alice = await connect(database, 'alice')
      const phone = await connect(database, 'alice')
      const move = () => phone.send([[change('a', { realmId: 'alice', owner: null })]], { now: T })
      if (!isLate) await move()
      await alice.send([[upsert(card('a', { n: 2 }, ...TEAM))]], { now: T + 50 })
      if (isLate) await move()
      expect(await read(database, 'cards', 'a')).toMatchObject({
        n: 2,
        realmId: 'alice',
        owner: null,
      })
    }
  })
})

describe('updates', () => {
  test('of an object that is absent do nothing', async () => {
    await using database = await setupPush()
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
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    await alice.push(insert(card('a'), card('b')))
    await alice.push({ type: 'update', keys: ['a', 'b', 'c'], changeSpecs: [{ n: 1, 'd.e': 2 }] })
    for (const key of ['a', 'b']) {
      expect(await read(database, 'cards', key)).toMatchObject({ n: 1, d: { e: 2 } })
    }
  })

  test('with one changeSpec that modifies what it sets do so in each of its objects', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a'), card('b'), card('c')])
    const alice = await connect(database, 'alice')
    const spec = { deep: { n: 1 }, 'deep.n': { '@@propmod': { add: 1 } } }
    await alice.push({ type: 'update', keys: ['a', 'b', 'c'], changeSpecs: [spec] })
    for (const key of ['a', 'b', 'c']) {
      expect(await read(database, 'cards', key)).toMatchObject({ deep: { n: 2 } })
    }
  })

  test('property modifications apply to the current value, whatever their time', async () => {
    await using database = await setupPush()
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

describe('deletes', () => {
  test('win by key, over a change that is later', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [card('a', {}, ...TEAM)])
    const alice = await connect(database, 'alice')
    const bob = await connect(database, 'bob')
    await alice.send([[change('a', { n: 1 })]], { now: T + 90 })
    await bob.send([[drop('a')]], { now: T })
    expect(await read(database, 'cards', 'a')).toBeUndefined()
  })

  test('are not undone by an update or upsert of a client that has not seen them', async () => {
    await using database = await setupPush()
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
    await using database = await setupPush()
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
    await using database = await setupPush()
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

describe('what the answer has to tell', () => {
  test('a row that another client has changed since the base is not as sent', async () => {
    await using database = await setupPush()
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
    await using database = await setupPush()
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
    await using database = await setupPush()
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

describe('the order of arrival makes a difference', () => {
  const SLOW = T - 600_000
  const KEY = 'a'

  /** The title of an object of which both have a version, after each order of their requests. */
  async function titles(ada: readonly object[], ben: readonly object[]): Promise<unknown[]> {
    const ends: unknown[] = []
    for (const isBenFirst of [false, true]) {
      await using database = await setupPush()
      await put(database, 'cards', [card(KEY, { title: 't' }, ...TEAM)])
      const [alice, bob] = [await connect(database, 'alice'), await connect(database, 'bob')]
      const sends = [
        () => alice.send([ada as never], { now: SLOW }),
        () => bob.send([ben as never], { now: SLOW + 1 }),
      ]
      for (const send of isBenFirst ? sends.toReversed() : sends) await send()
      ends.push((await read(database, 'cards', KEY))?.['title'])
    }
    return ends
  }

  test('where both overwrote what is later than their clocks: the first one stays', async () => {
    const ends = await titles([change(KEY, { title: 'Ada' })], [change(KEY, { title: 'Ben' })])
    expect(ends).toEqual(['Ada', 'Ben'])
  })

  test('where a device has made another object under the key of one that it deleted', async () => {
    const again = insert(card(KEY, { title: 'new' }, ...TEAM))
    const ends = await titles([drop(KEY), again], [change(KEY, { title: 'Ben' })])
    expect(ends).toEqual(['Ben', 'new'])
  })
})
