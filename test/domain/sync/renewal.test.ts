import { expect, test } from 'bun:test'
import { type Access, accessOf } from '../../../src/domain/access/access'
import type { Database, ReadTx, WriteTx } from '../../../src/domain/store/store'
import { visibilityOf } from '../../../src/domain/sync/visible'
import { card, connect, insert, person, put, setupPush } from './push-setup'

const ALICE = person('alice')
const realm = (id: string) => ({
  ...insert({ id, realmId: id, owner: 'alice' } as { readonly id: string }),
  table: 'realms',
})

/** The database of Alice, who is in so many realms more, with a call for each use of its verbs. */
async function setupRealms(count: number) {
  const database = await setupPush()
  const ids = Array.from({ length: count }, (_, n) => `rlm-${n}`)
  const rows = ids.map((realmId) => ({ realmId, owner: 'alice' }))
  if (count > 0) await put(database, 'realms', rows)
  return database
}

function counting(database: Database, used: () => void): Database {
  const watched = <T extends object>(target: T, depth: number): T =>
    new Proxy(target, {
      get(its, name) {
        const value: unknown = Reflect.get(its, name)
        if (typeof value === 'function') {
          return (...values: unknown[]) => {
            if (depth === 1) used()
            return Reflect.apply(value, its, values) as unknown
          }
        }
        const isNoun = depth === 0 && typeof value === 'object' && value !== null
        return isNoun ? watched(value, 1) : value
      },
    })
  return {
    ...database,
    read: (work) => database.read((tx: ReadTx) => work(watched(tx, 0))),
    write: (work, options) => database.write((tx: WriteTx) => work(watched(tx, 0)), options),
    writeSteps: (work, options) =>
      database.writeSteps((step) => {
        const one = <T>(part: (tx: WriteTx) => T) => step((tx) => part(watched(tx, 0)))
        const attempt = <T>(some: () => Promise<T>) => step.attempt(some)
        return work(Object.assign(one, { attempt }))
      }, options),
  }
}

/** The remembered rights of Alice, or the same loaded anew. */
async function rightsOf(database: Database, isRemembered: boolean) {
  return database.read((tx) => {
    const fresh = new Proxy(tx, {
      get(its, name) {
        if (name === 'remember') {
          return (_: string, load: (...values: unknown[]) => unknown, ...values: unknown[]) =>
            load(...values.map((value) => (value === tx ? fresh : value)))
        }
        return Reflect.get(its, name) as unknown
      },
    })
    const reader = isRemembered ? tx : fresh
    const access: Access = accessOf(reader, ALICE)
    const found = visibilityOf(reader, ALICE)
    expect(found.sees('cards', 1, 'a')).toBe(true)
    // A function is compared by what it gives.
    const visibility = { ...found, sees: undefined }
    // The order of realms, and of the sets that count in one, means nothing.
    const realms = [...access.realms]
      .map(([ref, sets]) => [ref, sets.map((set) => JSON.stringify(set)).toSorted()] as const)
      .toSorted(([one], [other]) => one - other)
    const lists = { realms, refs: [...access.realmRefs].toSorted((one, other) => one - other) }
    return { ...lists, pending: access.pending, own: access.ownRealm, visibility }
  })
}

test('a new realm costs a user in hundreds of realms no more steps than one in few', async () => {
  const steps: number[] = []
  for (const count of [2, 300]) {
    await using base = await setupRealms(count)
    let used = 0
    const database = counting(base, () => (used += 1))
    const alice = await connect(database, 'alice')
    await alice.push(realm('rlm-first'))
    await rightsOf(database, true)
    used = 0
    const { rejections } = await alice.push(realm('rlm-new'))
    expect(rejections).toEqual([])
    await database.read((tx) => visibilityOf(tx, ALICE))
    steps.push(used)
  }
  expect(steps[1]).toBe(steps[0])
})

test('the rights that a transaction with new realms leaves are those that would be loaded', async () => {
  await using database = await setupRealms(3)
  const alice = await connect(database, 'alice')
  const member = (id: string, realmId: string, more: object) => ({
    ...insert({ id, realmId, ...more } as { readonly id: string }),
    table: 'members',
  })
  const transactions = [
    [realm('rlm-a')],
    // The first object of a user makes the private realm.
    [realm('rlm-b'), insert(card('own'))],
    [realm('rlm-c'), member('mmb-c', 'rlm-c', { email: 'bob@example.com' })],
    [realm('rlm-d'), realm('rlm-e'), insert(card('in-d', {}, 'alice', 'rlm-d'))],
    [realm('rlm-f'), member('mmb-f', 'rlm-team', { email: 'bob@example.com' })],
    [realm('rlm-g'), { type: 'delete', keys: ['rlm-g'], table: 'realms' }],
  ]
  for (const transaction of transactions) {
    // Both are remembered before.
    await rightsOf(database, true)
    await alice.push(...transaction)
    expect(await rightsOf(database, true)).toEqual(await rightsOf(database, false))
  }
})

test('rights that a failing unit has renewed are forgotten with it', async () => {
  await using database = await setupRealms(1)
  let isFailing = false
  const breaking: Database = {
    ...database,
    write: (work, options) =>
      database.write((tx) => {
        const result = work(tx)
        if (isFailing) throw new Error('undone')
        return result
      }, options),
  }
  const alice = await connect(breaking, 'alice')
  const before = await rightsOf(database, true)
  isFailing = true
  const outcome = await alice.push(realm('rlm-undone')).then(
    () => 'stored',
    (error: unknown) => String(error),
  )
  expect(outcome).toContain('undone')
  expect(await rightsOf(database, true)).toEqual(before)
  expect(await rightsOf(database, false)).toEqual(before)
})
