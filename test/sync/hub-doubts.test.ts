import { describe, expect, test } from 'bun:test'
import { administrator, as } from '../access/setup'
import { PUBLIC_REALM } from '../../src/domain/store/realms'
import type { User } from '../../src/domain/store/users'
import { realmSetHash } from '../../src/domain/sync/realm-set'
import { user } from '../contract/user-fixture'
import { ALICE, BOB, settled, setupHub, type TestHub } from './setup'

const REALM = { realmId: 'rlmA', name: 'A', owner: ALICE.id }
const MEMBER = { id: 'm', realmId: 'rlmA', email: BOB.email, userId: BOB.id }
const ROLE = { realmId: 'rlmA', name: 'reader', permissions: { manage: ['todoItems'] } }

const CLIENT = { secretHash: '', scopes: [], name: null, created: 1, expires: null, email: null }

/** Sockets of other people that are up to date; their tokens come from clients and logins of their own. */
async function crowd(scene: TestHub, count: number): Promise<void> {
  const users = await scene.database.write((tx) => {
    const put: User[] = []
    for (let n = 0; n < count; n += 1) {
      put.push(tx.users.put(user(`user${n}@example.com`)))
      if (n % 2 === 1) tx.clients.put({ id: `c${n}`, ...CLIENT })
    }
    return put
  })
  const { rev } = await scene.pulled(null)
  for (const [n, { id, incarnation }] of users.entries()) {
    const own = n % 2 === 0 ? { login: `l${n}` } : { clientId: `c${n}` }
    const person = { id, email: id }
    const socket = scene.connect(person, {
      identity: id,
      facts: { subject: id, incarnation, ...own },
    })
    socket.ready({ rev, realmSetHash: realmSetHash([PUBLIC_REALM], []) })
  }
  await rest(scene)
}

/** Resolves when the hub has nothing left to do. */
async function rest(scene: TestHub): Promise<void> {
  for (let before = -1; before !== scene.steps();) {
    before = scene.steps()
    await settled()
  }
}

/** Creates a realm, a member and a role of others, and changes and removes them. */
async function govern(scene: TestHub): Promise<void> {
  const { database } = scene
  const root = administrator(database)
  await root.put('realms', REALM)
  await root.put('members', MEMBER)
  await root.put('roles', ROLE)
  await root.put('members', { ...MEMBER, roles: ['reader'] })
  await root.put('roles', { ...ROLE, permissions: {} })
  await as(database, BOB).remove('members', 'm')
  await root.remove('realms', 'rlmA')
  await database.write((tx) => tx.logins.revoke('of nobody', 1))
  await rest(scene)
}

describe('a change of rights', () => {
  test('takes as many steps beside 5,000 unrelated sockets as beside ten', async () => {
    const steps: number[] = []
    for (const count of [10, 5_000]) {
      await using scene = await setupHub()
      await crowd(scene, count)
      const before = scene.steps()
      await govern(scene)
      steps.push(scene.steps() - before)
      expect(scene.reports).toEqual([])
    }
    expect(steps[1]).toBe(steps[0] ?? -1)
  })

  test('is seen by the sockets of its user', async () => {
    await using scene = await setupHub()
    const { socket } = await scene.follow(BOB)
    await crowd(scene, 10)
    const before = scene.steps()
    await govern(scene)
    expect(scene.steps()).toBeGreaterThan(before)
    expect((await socket.next()).type).toStartWith('realm')
  })
})

describe('a token ends at once', () => {
  test.each([
    ['its login is revoked', { login: 'l1' }],
    ['its client is removed', { clientId: 'c1', login: null }],
  ])('when %s', async (_, facts) => {
    await using scene = await setupHub()
    const { database } = scene
    const { incarnation } = await database.write((tx) => {
      tx.clients.put({ id: 'c1', ...CLIENT })
      return tx.users.put(user(ALICE.id))
    })
    const own = { subject: ALICE.id, incarnation, ...facts }
    const socket = scene.connect(ALICE, { facts: own })
    await settled()
    expect(socket.messages).toEqual([])
    await database.write((tx) => {
      tx.logins.revoke('l2', 1)
      tx.clients.remove('c2')
    })
    await settled()
    expect(socket.messages).toEqual([])
    await database.write((tx) => tx.logins.revoke('l1', 1))
    await database.write((tx) => tx.clients.remove('c1'))
    expect(await socket.next()).toEqual({ type: 'token-expired' })
  })
})
