import { describe, expect, test } from 'bun:test'
import type { Database } from '../../../src/domain/store/store'
import {
  card,
  change,
  connect,
  drop,
  insert,
  isRejected,
  put,
  read,
  removeAs,
  revisionOf,
  setupPush,
  type WireOperation,
} from './push-setup'

const ROWS = 1_500
const keys = Array.from({ length: ROWS }, (_, n) => `c${String(n).padStart(5, '0')}`)
const TEAM = { realmId: 'rlm-team', owner: null }
const NEXT = { $t: '@@propmod', '@@propmod': { add: 1 } }

/** Cards of the team with `n: 0`. */
async function setupCards() {
  const database = await setupPush('@id, title, list, *tags, [list+title]', true)
  await put(
    database,
    'cards',
    keys.map((id) => ({ id, ...TEAM, title: 't', n: 0 })),
  )
  return database
}

const updates = keys.map((key) => change(key, { n: NEXT }))

/** The database, with a call before each of its units. */
function watched(database: Database, before: () => unknown): Database {
  return {
    ...database,
    async write(work, options) {
      await before()
      return database.write(work, options)
    },
    async writeSteps(work, options) {
      await before()
      return database.writeSteps(work, options)
    },
  }
}

/** How many units a transaction takes; the last one writes it. */
async function unitsOf(operations: readonly WireOperation[]): Promise<number> {
  await using database = await setupCards()
  let count = 0
  const alice = await connect(
    watched(database, () => (count += 1)),
    'alice',
  )
  count = 0
  await alice.push(...operations)
  return count
}

/** A client whose next transaction, of these operations, meets `interrupt` whenever it is about to be written. */
async function interrupted(
  database: Database,
  operations: readonly WireOperation[],
  interrupt: (time: number) => Promise<unknown>,
) {
  const units = await unitsOf(operations)
  let count = -Infinity
  const spied = watched(database, () => {
    count += 1
    return count % units === 0 ? interrupt(count / units) : undefined
  })
  const client = await connect(spied, 'alice')
  count = 0
  return client
}

describe('a transaction of several operations on more than 1,000 rows', () => {
  test('lets others write until its rows are ready', async () => {
    await using database = await setupCards()
    const alice = await connect(database, 'alice')
    let isDone = false
    const pushed = alice.push(...updates).finally(() => (isDone = true))
    let writes = 0
    while (!isDone) {
      await put(database, 'lists', [{ id: 'probe', ...TEAM, writes }])
      writes += 1
    }
    expect((await pushed).rejections).toEqual([])
    // Two units for each 250 rows, of which another write may share each.
    expect(writes).toBeGreaterThan(6)
  })

  test('is one change, as others and its stamps say', async () => {
    await using database = await setupCards()
    const alice = await connect(database, 'alice')
    const since = await revisionOf(database)
    const pushed = await alice.push(...updates, change(keys[0]!, { title: 'new' }), drop(keys[1]!))
    const changed = await database.read((tx) => {
      const team = tx.realms.find('rlm-team')
      const size = { rows: 10_000, bytes: Infinity }
      return tx.objects.changes(new Set([team!.ref]), since, Infinity, size)
    })
    const revisions = new Set(changed.changes.map(({ revision }) => revision))
    expect([changed.changes.length, revisions.size]).toEqual([ROWS, 1])
    const [revision] = revisions
    const named = [...pushed.named.get('cards')!.values()]
    expect(named.filter((one) => one.revision !== revision)).toEqual([])
    expect(pushed.ownRevisions).toEqual(revisions)
    for (const { object, key } of changed.changes) {
      expect(object === null).toBe(key === keys[1])
      if (object === null) continue
      const { p, r } = JSON.parse(object.stamps!) as { p: [string, number[]][]; r: number[] }
      expect(p.map(([, [, its]]) => its)).toEqual(p.map(() => revision))
      expect(r[1]).toBeLessThan(revision!)
    }
    expect(await read(database, 'cards', keys[0]!)).toMatchObject({ n: 1, title: 'new' })
  })

  test('keeps what others change while it is prepared', async () => {
    await using database = await setupCards()
    const alice = await interrupted(database, updates, async (time) => {
      if (time > 1) return
      await put(database, 'cards', [{ id: keys[7], ...TEAM, title: 'theirs', n: 10 }])
      await removeAs(database, 'cards', keys[8]!)
    })
    const pushed = await alice.push(...updates)
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'cards', keys[6]!)).toMatchObject({ n: 1 })
    expect(await read(database, 'cards', keys[7]!)).toMatchObject({ title: 'theirs', n: 11 })
    expect(await read(database, 'cards', keys[8]!)).toBeUndefined()
  })

  test('is refused as a whole when its actor loses rights while it is prepared', async () => {
    await using database = await setupCards()
    const operations = keys.map((id) => insert(card(`new-${id}`, {}, 'alice', 'rlm-team')))
    const alice = await interrupted(database, operations, async (time) => {
      if (time > 1) return
      await put(database, 'realms', [{ realmId: 'rlm-team', owner: 'bob' }])
      await removeAs(database, 'members', await ownMember(database))
    })
    const pushed = await alice.push(...operations)
    expect(pushed.rejections).toHaveLength(1)
    expect(isRejected(pushed, `new-${keys[0]}`)).toBe(true)
    expect(await read(database, 'cards', `new-${keys[0]}`)).toBeUndefined()
  })

  test('does not tell of a key that somebody else takes while it is prepared', async () => {
    await using database = await setupCards()
    const operations = keys.map((id) => insert(card(`new-${id}`)))
    const hidden = card(`new-${keys[3]}`, { secret: 1 }, 'bob')
    const alice = await interrupted(database, operations, async (time) => {
      if (time === 1) await put(database, 'cards', [hidden])
    })
    const pushed = await alice.push(...operations)
    expect(pushed.rejections.map(({ name }) => name)).toEqual(['NOT_AUTHORIZED'])
    expect(await read(database, 'cards', `new-${keys[0]}`)).toBeUndefined()
    expect(await read(database, 'cards', `new-${keys[3]}`)).toEqual(hidden)
  })

  test('is answered with BUSY when others change its rows again and again, and stores nothing', async () => {
    await using database = await setupCards()
    const alice = await interrupted(database, updates, (time) =>
      put(database, 'cards', [{ id: keys[7], ...TEAM, title: 'theirs', n: time }]),
    )
    const failed = alice.push(...updates)
    expect(await failed.catch((error: unknown) => error)).toMatchObject({ code: 'BUSY' })
    expect(await read(database, 'cards', keys[6]!)).toMatchObject({ n: 0 })
  })

  test('is executed once, and rejected once', async () => {
    await using database = await setupCards()
    const alice = await connect(database, 'alice')
    const twice = { txids: ['large'] }
    await alice.send([updates], twice)
    await alice.send([updates], twice)
    expect(await read(database, 'cards', keys[9]!)).toMatchObject({ n: 1 })
    const wrong = [...updates, insert(card('wrong', {}, 'alice', 'rlm-none'))]
    const first = await alice.send([wrong], { txids: ['wrong'] })
    const second = await alice.send([wrong], { txids: ['wrong'] })
    expect(first.rejections).toHaveLength(1)
    expect(second.rejections).toEqual(first.rejections)
    expect(await read(database, 'cards', keys[9]!)).toMatchObject({ n: 1 })
  })
})

async function ownMember(database: Database): Promise<string> {
  return database.read((tx) => {
    const table = tx.tables.find('members')
    const team = tx.realms.find('rlm-team')
    const size = { rows: 100, bytes: Infinity }
    const { changes } = tx.objects.changes(new Set([team!.ref]), 0, Infinity, size)
    return changes.find(
      ({ table: name, object }) =>
        name === table!.name &&
        object !== null &&
        (JSON.parse(object.value) as { userId?: string }).userId === 'alice',
    )!.key
  })
}
