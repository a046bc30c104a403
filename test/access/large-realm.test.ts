import { expect, test } from 'bun:test'
import type { SubjectMemberships } from '../../src/domain/store/memberships'
import type { Database, ReadTx, WriteTx } from '../../src/domain/store/store'
import { accessOf, followRealm, unitAccess } from '../../src/domain/access/access'
import { createDevice } from '../domain/sync/setup'
import { connect, inTable, upsert } from '../domain/sync/push-setup'
import { actorFor, as } from './setup'
import { BOB, CAROL, DATE, expectDone, FULL, openTeam } from './team'
import { countingTest } from '../missing'

const COUNT = 1_000

/** A database that counts the memberships that its units read, and those that its reads do. */
function counting(database: Database) {
  const counted = { database: { ...database }, rows: 0, shown: 0 }
  const wrap = <T extends object>(noun: T, counter: 'rows' | 'shown'): T =>
    new Proxy(noun, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...parameters: unknown[]) => {
          const result: unknown = Reflect.apply(member, target, parameters)
          counted[counter] += countIn(result)
          return result
        }
      },
    })
  const wrapTx = <Tx extends ReadTx>(tx: Tx, counter: 'rows' | 'shown'): Tx => {
    const memberships = wrap(tx.memberships, counter)
    return new Proxy(tx, {
      get(target, name) {
        if (name === 'memberships') return memberships
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }
  counted.database.read = (work) => database.read((tx) => work(wrapTx(tx, 'shown')))
  counted.database.write = (work, options) =>
    database.write((tx) => work(wrapTx(tx, 'rows')), options)
  counted.database.writeSteps = (work, options) =>
    database.writeSteps((step) => {
      const wrapped = <T>(one: (tx: WriteTx) => T) => step((tx) => one(wrapTx(tx, 'rows')))
      const attempt = <T>(some: () => Promise<T>) => step.attempt(some)
      return work(Object.assign(wrapped, { attempt }))
    }, options)
  return counted
}

function countIn(result: unknown): number {
  if (Array.isArray(result)) return result.length
  if (typeof result === 'object' && result !== null && 'open' in result) {
    const { accepted, open } = result as SubjectMemberships
    return accepted.length + open.length
  }
  return result === undefined ? 0 : 1
}

/** The memberships that are read to change a member in a realm of this many others. */
async function rowsReadIn(members: number): Promise<Record<string, number>> {
  await using team = await openTeam()
  const { admin, alice } = team
  const others = Array.from({ length: members }, (_, place) => ({
    id: `mmbOther${place}`,
    realmId: 'rlmTeam',
    userId: `user${place}`,
    permissions: { add: ['todoItems'] },
  }))
  expectDone(await admin.put('members', ...others))
  const counted = counting(team.database)
  const [owner, bob, carol] = [
    as(counted.database, { id: 'alice', email: 'alice@example.com' }),
    as(counted.database, BOB),
    as(counted.database, CAROL),
  ]
  const read: Record<string, number> = {}
  const measure = async (name: string, change: () => ReturnType<typeof alice.put>) => {
    counted.rows = 0
    expectDone(await change())
    read[name] = counted.rows
  }
  const invitation = { id: 'mmbCarol', realmId: 'rlmTeam', email: CAROL.email, owner: 'alice' }
  await measure('invite', () => owner.put('members', invitation))
  await measure('accept', () => carol.put('members', { ...invitation, accepted: DATE }))
  await measure('leave', () => carol.remove('members', 'mmbCarol'))
  await measure('promote', () => owner.put('members', { ...others[0], permissions: FULL }))
  await measure('demote', () => owner.put('members', others[0]!))
  await measure('rename', () => owner.put('realms', { realmId: 'rlmTeam', name: 'Other' }))
  await measure('role', () => owner.put('roles', { realmId: 'rlmTeam', name: 'boss' }))
  await measure('give', () => owner.put('realms', { realmId: 'rlmTeam', owner: 'bob' }))
  await measure('former owner leaves', () => owner.remove('members', 'mmbTeam'))
  await measure('end', () => bob.remove('realms', 'rlmTeam'))
  return read
}

test('a change of one member reads no more memberships in a large realm than in a small one', async () => {
  expect(await rowsReadIn(COUNT)).toEqual(await rowsReadIn(2))
})

countingTest(
  'a request of many realms reads no more memberships for its last one than for its first',
  async () => {
    await using team = await openTeam()
    const counted = counting(team.database)
    const writer = as(counted.database, { id: 'erin', email: 'erin@example.com' })
    const readFor = async (realms: number): Promise<number> => {
      counted.rows = 0
      expectDone(await writer.put('realms', ...Array.from({ length: realms }, () => ({}))))
      return counted.rows
    }
    // The rights after the last row of a request are not looked up when it is the only one.
    expect(await readFor(1)).toBe(1)
    const one = (await readFor(2)) / 2
    // The first look at what the writer may do finds the realm from before.
    expect(await readFor(200)).toBeLessThanOrEqual(200 * one + 2)
    const invitations = Array.from({ length: COUNT }, (_, place) => ({
      id: `mmbErin${place}`,
      realmId: 'rlmTeam',
      email: 'erin@example.com',
    }))
    expectDone(await team.admin.put('members', ...invitations))
    // Others may have invited the writer any number of times.
    expect(await readFor(200)).toBeLessThanOrEqual(200 * one + 2 + 200 + COUNT)
  },
)

countingTest(
  'an upload of many realms loads the rights of its user in few of its units',
  async () => {
    await using team = await openTeam()
    const counted = counting(team.database)
    const erin = await connect(counted.database, 'erin')
    const readFor = async (name: string, realms: number): Promise<number> => {
      counted.rows = 0
      const ids = Array.from({ length: realms }, (_, place) => `rlm${name}${place}`)
      const values = ids.map((id) => ({ id, realmId: id, owner: 'erin' }))
      const pushed = await erin.send([[inTable('realms', upsert(...values))]], { isUpload: true })
      expect(pushed.rejections).toEqual([])
      return counted.rows
    }
    const one = await readFor('First', 1)
    expect(one).toBeGreaterThan(0)
    // Loading all of them for each row would read several hundred more.
    expect(await readFor('Many', COUNT)).toBeLessThanOrEqual(COUNT * (one + 50))
  },
)

test('a pull after a change of rights reads no more for users who lost many rows of members', async () => {
  const readAfter = async (lost: number): Promise<number> => {
    await using team = await openTeam()
    const { admin, mallory } = team
    const counted = counting(team.database)
    const bob = createDevice(counted.database, actorFor(BOB, 'my'))
    expectDone(await mallory.put('realms', { realmId: 'rlmMallory' }))
    const rows = Array.from({ length: lost }, (_, place) => ({
      id: `mmbLost${place}`,
      realmId: 'rlmMallory',
    }))
    const rowsOf = (email: string) => rows.map((row) => ({ ...row, email }))
    expectDone(await admin.put('members', ...rowsOf(BOB.email)))
    await bob.pull()
    const lostRows = () => bob.table('members').filter(({ realmId }) => realmId === 'rlmMallory')
    expect(lostRows()).toHaveLength(lost)
    expectDone(await admin.put('members', ...rowsOf(CAROL.email)))
    await bob.pull()
    expect(lostRows()).toEqual([])
    const promoted = { id: 'mmbBob', realmId: 'rlmTeam', userId: 'bob', permissions: FULL }
    expectDone(await admin.put('members', promoted))
    counted.shown = 0
    await bob.pull()
    return counted.shown
  }
  const few = await readAfter(2)
  expect(few).toBeGreaterThan(0)
  expect(await readAfter(200)).toBe(few)
})

test('a unit follows the rights of a user in many realms without copying them for each change', async () => {
  await using team = await openTeam()
  await team.database.write((tx) => {
    const known = accessOf(tx, actorFor(BOB, 'my'))
    const access = unitAccess(known)
    const { realms, realmRefs, pending } = access
    const { ref: realm } = tx.realms.ensure('rlmNew')
    const source = 'members:mmbNew'
    const row = { source, realm, userId: 'bob', email: null, rejected: false, roles: [] }
    const steps = [
      [{ ...row, accepted: false, permissions: {} }, [false, true]],
      [{ ...row, accepted: true, permissions: { manage: '*' } }, [true, false]],
      [undefined, [false, false]],
    ] as const
    for (const [membership, expected] of steps) {
      if (membership === undefined) tx.memberships.remove(source)
      else tx.memberships.put(membership)
      followRealm(tx, access, realm)
      expect([realmRefs.has(realm), pending.has(realm)]).toEqual([...expected])
      expect(access.realms).toBe(realms)
      expect(realms.has(realm)).toBe(expected[0])
      expect(known.realms.has(realm)).toBe(false)
    }
  })
})
