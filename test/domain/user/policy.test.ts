import { describe, expect, test } from 'bun:test'
import { startJob } from '../../../src/domain/job/job'
import { admitUser, changePolicy, findPolicy, type Policy } from '../../../src/domain/user/policy'
import { codeOf, refusalOf, setupStore } from '../../auth/setup'
import { DAY } from '../../../src/domain/value/time'

const NOW = 1_000_000
const ALICE = { id: 'alice', email: 'alice@example.com', name: 'Alice' }

async function setup(policy: Partial<Policy> = {}) {
  const base = await setupStore()
  const database = await base.store.create('main')
  await database.write((tx) => changePolicy(tx, policy))
  return {
    database,
    change: (changes: Partial<Policy>) => database.write((tx) => changePolicy(tx, changes)),
    admit: (id: string, action: 'prod' | 'eval') =>
      database.write((tx) => admitUser(tx, { ...ALICE, id }, { action }, NOW)),
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

describe('the policy for new users', () => {
  test('lets everybody in as a user who works, until something else is said', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const expected = { newUsers: 'prod', evalDays: 30, seats: null, hookUrl: null } as const
    expect(await database.read(findPolicy)).toEqual(expected)
  })

  test('keeps what is not changed', async () => {
    await using scene = await setup({ newUsers: 'eval', evalDays: 14 })
    const kept = { newUsers: 'eval', evalDays: 14, hookUrl: null } as const
    expect(await scene.change({ seats: 5 })).toEqual({ ...kept, seats: 5 })
    expect(await scene.database.read(findPolicy)).toMatchObject({ evalDays: 14, seats: 5 })
    expect(await scene.change({ seats: null })).toMatchObject({ seats: null })
  })

  test.each([
    [{ newUsers: 'demo' as 'prod' }],
    [{ evalDays: 0 }],
    [{ evalDays: 1.5 }],
    [{ evalDays: -1 }],
    [{ evalDays: 36_501 }],
    [{ evalDays: Number.NaN }],
    [{ seats: -1 }],
    [{ seats: 0.5 }],
    [{ newUsers: 'webhook' as const }],
    [{ hookUrl: '' }],
    [{ hookUrl: 'app.example.com/hook' }],
    [{ hookUrl: 'ftp://app.example.com/hook' }],
    [{ hookUrl: 'https://user:password@app.example.com/hook' }],
  ])('cannot be %j', async (changes) => {
    await using scene = await setup()
    expect(await codeOf(() => scene.change(changes))).toBe('UNPROCESSABLE')
    expect(await scene.database.read(findPolicy)).toMatchObject({ evalDays: 30, seats: null })
  })

  test('may leave it to a web hook that has an address, and keeps it while it does', async () => {
    await using scene = await setup()
    const hookUrl = 'https://app.example.com/hook?key=value'
    const asking = { newUsers: 'webhook', hookUrl } as const
    expect(await scene.change(asking)).toMatchObject(asking)
    expect(await codeOf(() => scene.change({ hookUrl: null }))).toBe('UNPROCESSABLE')
    expect(await scene.database.read(findPolicy)).toMatchObject(asking)
    expect(await scene.change({ newUsers: 'prod', hookUrl: null })).toMatchObject({ hookUrl: null })
  })
})

describe('a person who appears', () => {
  test('becomes a user once, with their claims as data', async () => {
    await using scene = await setup()
    const first = await scene.admit('alice', 'prod')
    expect(first).toMatchObject({
      id: 'alice',
      type: 'prod',
      created: NOW,
      lastLogin: NOW,
      evalUntil: null,
      deactivated: null,
      data: { displayName: 'Alice', email: 'alice@example.com' },
    })
    expect(await scene.admit('alice', 'eval')).toEqual(first)
  })

  test('has no data when nothing is known of them, or what the decision gives', async () => {
    await using scene = await setup()
    const nobody = { id: 'nobody', email: null, name: null }
    const admit = (id: string, data?: null | { role: string }) =>
      scene.database.write((tx) =>
        admitUser(
          tx,
          { ...nobody, id },
          { action: 'prod', ...(data === undefined ? {} : { data }) },
          NOW,
        ),
      )
    expect((await admit('a')).data).toBeNull()
    expect((await admit('b', { role: 'x' })).data).toEqual({ role: 'x' })
  })

  test('evaluates for as long as the policy says', async () => {
    await using scene = await setup({ evalDays: 14 })
    expect(await scene.admit('alice', 'eval')).toMatchObject({
      type: 'eval',
      evalUntil: NOW + 14 * DAY,
    })
  })

  test('takes a seat, if one is free; evaluating takes none', async () => {
    await using scene = await setup({ seats: 2 })
    const { database, admit } = scene
    const first = await admit('a', 'prod')
    await admit('b', 'prod')
    const refusal = await refusalOf(() => admit('c', 'prod'))
    expect(refusal.code).toBe('NO_SEATS_AVAILABLE')
    expect((await admit('d', 'eval')).type).toBe('eval')
    // Existing users keep their seat.
    expect((await admit('a', 'prod')).id).toBe('a')
    await database.write((tx) => tx.users.put({ ...first, deactivated: NOW }))
    expect((await admit('c', 'prod')).type).toBe('prod')
    expect(await codeOf(() => admit('e', 'prod'))).toBe('NO_SEATS_AVAILABLE')
    await scene.change({ seats: 0 })
    expect(await codeOf(() => admit('e', 'prod'))).toBe('NO_SEATS_AVAILABLE')
  })

  test('waits until an earlier user with this id has left their realms', async () => {
    await using scene = await setup()
    const { database, admit } = scene
    const job = await database.write((tx) => startJob(tx, 'leave', { user: 'alice' }, NOW))
    const refusal = await refusalOf(() => admit('alice', 'prod'))
    expect(refusal).toMatchObject({ code: 'BUSY', retryAfter: 1 })
    expect((await admit('bob', 'prod')).id).toBe('bob')
    await database.write((tx) => tx.jobs.remove(job.id))
    expect((await admit('alice', 'prod')).id).toBe('alice')
  })
})
