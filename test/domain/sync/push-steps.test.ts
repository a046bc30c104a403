import { describe, expect, test } from 'bun:test'
import type { Database } from '../../../src/domain/store/store'
import { card, change, connect, insert, put, read, setupPush } from './push-setup'

const ROWS = 6_000
const keys = Array.from({ length: ROWS }, (_, n) => `c${String(n).padStart(5, '0')}`)
const NEXT = { $t: '@@propmod', '@@propmod': { add: 1 } }
const TEAM = { realmId: 'rlm-team' }

/** Cards of the team with `n: 0` and `list: 1`. */
async function setupCards(rows = ROWS) {
  const database = await setupPush()
  const cards = keys.slice(0, rows).map((id) => ({ id, ...TEAM, owner: null, list: 1, n: 0 }))
  await put(database, 'cards', cards)
  return database
}

const inList = (list: number) => ({ index: 'list', range: { type: 1, lower: list, upper: list } })
const modify = (changeSpec: object, list = 1) => ({
  type: 'modify',
  keys: [],
  criteria: inList(list),
  changeSpec,
})

/** The values of `n`, with how many cards have each; `gone` counts missing cards. */
async function counts(database: Database): Promise<Record<string, number>> {
  const rows = await database.read((tx) => {
    const table = tx.tables.find('cards')
    return tx.objects.findMany(table!, keys)
  })
  const found: Record<string, number> = {}
  for (const key of keys) {
    const text = rows.get(key)?.value
    const { n } = JSON.parse(text ?? '{"n":"gone"}') as { readonly n: number | string }
    found[n] = (found[n] ?? 0) + 1
  }
  return found
}

/** The database, with a call before each write, which may throw or do something else first. */
function watched(database: Database, before: (write: number) => unknown): Database {
  let writes = 0
  return {
    ...database,
    async write(work, options) {
      await before((writes += 1))
      return database.write(work, options)
    },
    async writeSteps(work, options) {
      await before((writes += 1))
      return database.writeSteps(work, options)
    },
  }
}

/** How many cards changed in each revision after one. */
async function changedIn(database: Database, since: number): Promise<number[]> {
  const realm = await database.read((tx) => tx.realms.find('rlm-team'))
  const { changes } = await database.read((tx) =>
    tx.objects.changes(new Set([realm!.ref]), since, Infinity, { rows: 1e6, bytes: Infinity }),
  )
  const sizes = new Map<number, number>()
  for (const { revision } of changes) sizes.set(revision, (sizes.get(revision) ?? 0) + 1)
  return [...sizes.values()]
}

const OPERATIONS = {
  'a modify with criteria': [modify({ n: NEXT })],
  'an update of named rows': [{ type: 'update', keys, changeSpecs: [{ n: NEXT }] }],
  'an update with a change for each row': [
    { type: 'update', keys, changeSpecs: keys.map(() => ({ n: NEXT })) },
  ],
  'a modify whose chunks name its rows': [
    { ...modify({ n: NEXT }), keys: keys.slice(0, 3_000) },
    { ...modify({ n: NEXT }), keys: keys.slice(3_000), isAdditionalChunk: true },
  ],
} as const

describe('one operation on more than 5,000 rows', () => {
  for (const [title, operations] of Object.entries(OPERATIONS)) {
    test(`is written in steps of a thousand rows, once, however often it comes: ${title}`, async () => {
      await using database = await setupCards()
      const since = await database.read((tx) => tx.revision())
      const alice = await connect(database, 'alice', 'device')
      const sent = await alice.send([operations], { txids: ['large'] })
      expect(sent.rejections).toEqual([])
      expect(await counts(database)).toEqual({ 1: ROWS })
      expect(await changedIn(database, since)).toEqual(Array(6).fill(1_000))
      await alice.send([operations], { txids: ['large'] })
      expect(await counts(database)).toEqual({ 1: ROWS })
      const keys = await database.read((tx) => {
        const { client } = tx.applied.findOfUser('alice', 'large')!
        return tx.applied.keysOf(client, 'large', 0)
      })
      expect(keys).toBeUndefined()
    })

    test(`goes on after the last step when it is sent again: ${title}`, async () => {
      await using database = await setupCards()
      const sent = async (failing: number) => {
        const broken = watched(database, (write) => {
          if (write === failing) throw new Error('killed')
        })
        // A client that had no answer yet is another one each time.
        const alice = await connect(broken, 'alice', `device${failing}`)
        await alice.send([operations], { txids: ['large'], base: 0, isFirst: true })
      }
      let failures = 0
      // Each request gets further than the one before.
      for (let failing = 3; ; failing += 3) {
        try {
          await sent(failing)
          break
        } catch (error) {
          expect(String(error)).toContain('killed')
          failures += 1
        }
      }
      expect(failures).toBeGreaterThan(2)
      expect(await counts(database)).toEqual({ 1: ROWS })
    })
  }

  test('deletes rows, named or by criteria', async () => {
    for (const operation of [
      { type: 'delete', keys: [], criteria: inList(1) },
      { type: 'delete', keys },
    ]) {
      await using database = await setupCards()
      const since = await database.read((tx) => tx.revision())
      const alice = await connect(database, 'alice')
      await alice.push(operation)
      expect(await counts(database)).toEqual({ gone: ROWS })
      expect(await changedIn(database, since)).toEqual(Array(6).fill(1_000))
    }
  })

  test('inserts rows', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const cards = keys.map((id) => card(id, { n: 1, ...TEAM }))
    const { rejections, named } = await alice.push(insert(...cards))
    expect(rejections).toEqual([])
    expect(await counts(database)).toEqual({ 1: ROWS })
    expect([...(named.get('cards')?.values() ?? [])].every(({ isAsSent }) => isAsSent)).toBe(true)
  })

  test('is rejected as a whole while nothing is written', async () => {
    await using database = await setupCards()
    await put(database, 'realms', [{ realmId: 'rlm-other', owner: 'carol' }])
    await put(database, 'cards', [{ id: 'foreign', realmId: 'rlm-other', owner: 'carol', n: 0 }])
    const alice = await connect(database, 'alice', 'device')
    const operation = insert(...[...keys, 'foreign'].map((id) => card(id, { n: 1, ...TEAM })))
    const before = await database.read((tx) => tx.revision())
    for (let time = 0; time < 2; time += 1) {
      const { rejections } = await alice.send([[operation]], { txids: ['large'] })
      expect(rejections).toMatchObject([{ txid: 'large', name: 'NOT_AUTHORIZED' }])
    }
    expect(await counts(database)).toEqual({ 0: ROWS })
    expect(await changedIn(database, before)).toEqual([])
  })

  test('leaves rows as they are that may not be written any more, and sends them back', async () => {
    await using database = await setupCards()
    const reader = { id: 'mmb-bob', ...TEAM, userId: 'bob', permissions: {} }
    // Seven units come before the first step: six judge.
    const meddling = watched(database, async (write) => {
      if (write === 10) await put(database, 'members', [reader])
    })
    const bob = await connect(meddling, 'bob')
    const update = { type: 'update', keys, changeSpecs: [{ n: NEXT }] }
    const { named, rejections } = await bob.push(update)
    expect(rejections).toMatchObject([{ name: 'NOT_AUTHORIZED' }])
    const found = await counts(database)
    expect(Object.keys(found)).toEqual(['0', '1'])
    expect(found[1]! % 1_000).toBe(0)
    const pending = [...(named.get('cards')?.values() ?? [])].filter(({ isRejected }) => isRejected)
    expect(pending.length).toBe(found[0]!)
  })

  test('reaches rows that arrive between its steps, and each row once', async () => {
    await using database = await setupCards()
    const late = ['late1', 'late2', 'late3']
    const bob = await connect(database, 'bob')
    const meddling = watched(database, async (write) => {
      const id = late[write - 9]
      if (id !== undefined) {
        await bob.send([[insert(card(id, { ...TEAM, list: 1, n: 0 }, 'bob'))]], { base: 0 })
      }
    })
    const alice = await connect(meddling, 'alice')
    await alice.push(modify({ n: NEXT }))
    expect(await counts(database)).toEqual({ 1: ROWS })
    for (const id of late) expect(await read(database, 'cards', id)).toMatchObject({ n: 1 })
  })

  test('changes no row that others have moved out of its criteria before its step', async () => {
    await using database = await setupCards()
    const bob = await connect(database, 'bob')
    const last = keys.at(-1)!
    const meddling = watched(database, async (write) => {
      if (write === 9) await bob.push(change(last, { list: 2 }))
    })
    const alice = await connect(meddling, 'alice')
    await alice.push(modify({ n: NEXT }))
    expect(await counts(database)).toEqual({ 0: 1, 1: ROWS - 1 })
    expect(await read(database, 'cards', last)).toMatchObject({ list: 2, n: 0 })
  })

  test('is one unit with 5,000 rows', async () => {
    await using database = await setupCards(4_999)
    const since = await database.read((tx) => tx.revision())
    const alice = await connect(database, 'alice')
    await alice.push(modify({ n: NEXT }))
    expect(await changedIn(database, since)).toEqual([4_999])
  })
})

describe('one operation on more than 1,000 rows with rules', () => {
  const ids = Array.from({ length: 1_100 }, (_, n) => `rlm-${n}`)
  const realms = (names: readonly string[]) => ({
    ...insert(...names.map((id) => ({ id, realmId: id, owner: 'alice' }))),
    table: 'realms',
  })

  test('is written in steps of a hundred, and each realm gets its owner', async () => {
    await using database = await setupPush()
    const since = await database.read((tx) => tx.revision())
    const alice = await connect(database, 'alice', 'device')
    for (let time = 0; time < 2; time += 1) {
      const { rejections } = await alice.send([[realms(ids)]], { txids: ['large'] })
      expect(rejections).toEqual([])
    }
    const found = await database.read((tx) => {
      const refs = ids.map((id) => tx.realms.find(id)!.ref)
      const size = { rows: 1e6, bytes: Infinity }
      return tx.objects.changes(new Set(refs), since, Infinity, size)
    })
    const rows = Map.groupBy(found.changes, ({ revision }) => revision)
    expect([...rows.values()].map(({ length }) => length)).toEqual(Array(11).fill(200))
    const members = found.changes.filter(({ table }) => table === 'members')
    expect(members.length).toBe(1_100)
  })

  test('is rejected as a whole while nothing is written', async () => {
    await using database = await setupPush()
    await put(database, 'realms', [{ realmId: 'rlm-taken', owner: 'carol' }])
    const alice = await connect(database, 'alice')
    const { rejections } = await alice.push(realms([...ids, 'rlm-taken']))
    expect(rejections).toMatchObject([{ name: 'NOT_AUTHORIZED' }])
    for (const id of ids.slice(0, 3)) expect(await read(database, 'realms', id)).toBeUndefined()
  })

  test('sends a step back whose rows may not be written any more', async () => {
    await using database = await setupPush()
    const meddling = watched(database, async (write) => {
      // After eleven units that judge, one that begins, and two steps.
      if (write === 14) await put(database, 'realms', [{ realmId: ids[250], owner: 'carol' }])
    })
    const alice = await connect(meddling, 'alice')
    const { rejections, named } = await alice.push(realms(ids))
    expect(rejections).toMatchObject([{ name: 'NOT_AUTHORIZED' }])
    const refused = [...named.get('realms')!].filter(([, { isRejected }]) => isRejected)
    expect(refused.map(([key]) => key)).toEqual(ids.slice(200, 300))
    expect(await read(database, 'realms', ids[299]!)).toBeUndefined()
    expect(await read(database, 'realms', ids[300]!)).toMatchObject({ owner: 'alice' })
  })
})

describe('many transactions of a request', () => {
  test('share a unit while they are few', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const cards = (name: string, count: number) =>
      Array.from({ length: count }, (_, n) => [insert(card(`${name}${n}`, TEAM))])
    let since = await database.read((tx) => tx.revision())
    await alice.send(cards('few', 10))
    expect(await changedIn(database, since)).toEqual([10])
    since = await database.read((tx) => tx.revision())
    await alice.send(cards('many', 200))
    const each = await changedIn(database, since)
    expect(each.length).toBeGreaterThan(2)
    expect(each.reduce((sum, count) => sum + count)).toBe(200)
  })
})

describe('several operations of a transaction', () => {
  test('are one unit with thousands of rows', async () => {
    await using database = await setupCards()
    const since = await database.read((tx) => tx.revision())
    const alice = await connect(database, 'alice')
    await alice.push(modify({ n: NEXT }), insert(card('more', { ...TEAM, list: 1 })))
    expect(await changedIn(database, since)).toEqual([ROWS + 1])
  })

  test('are rejected with more than 5,000 rows of realms, members and roles', async () => {
    await using database = await setupPush()
    const many = Array.from({ length: 5_001 }, (_, n) => `rlm-${n}`)
    const alice = await connect(database, 'alice')
    const removal = { type: 'delete', keys: many, table: 'realms' }
    const { rejections } = await alice.push(removal, insert(card('one')))
    expect(rejections[0]?.message).toContain('at most 5,000 realms, members and roles')
    expect(await read(database, 'cards', 'one')).toBeUndefined()
  })

  test('are rejected with more than 100,000 rows, and the error names the limit', async () => {
    await using database = await setupPush()
    const many = Array.from({ length: 100_000 }, (_, n) => `k${n}`)
    const alice = await connect(database, 'alice')
    const row = card('one')
    const { rejections } = await alice.push({ type: 'delete', keys: many }, insert(row))
    expect(rejections).toMatchObject([{ name: 'UNPROCESSABLE' }])
    expect(rejections[0]?.message).toContain('at most 100,000 objects')
    expect(await read(database, 'cards', 'one')).toBeUndefined()
    await alice.push({ type: 'delete', keys: many.slice(1) }, insert(row))
    expect(await read(database, 'cards', 'one')).toBeDefined()
  })
})
