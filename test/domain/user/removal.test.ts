import { describe, expect, test } from 'bun:test'
import { admitUser } from '../../../src/domain/user/policy'
import { startJob } from '../../../src/domain/job/job'
import { auditLine } from '../../contract/audit'
import { code } from '../../contract/codes'
import { refreshToken } from '../../contract/fixture'
import { mail } from '../../contract/mails'
import {
  ALICE,
  BOB,
  CAROL,
  member,
  note,
  NOW,
  permissionsIn,
  setupWorld,
  titles,
} from './removal-setup'
import { recipientOf } from '../../../src/domain/store/mails'

const INVITED = { realm: 1, accepted: false, rejected: false, permissions: {}, roles: [] }

describe('a deleted user (spec.md §3)', () => {
  test('leaves lines about operations under a random id, without an address', async () => {
    await using world = await setupWorld()
    await world.database.write((tx) => {
      tx.audit.put(auditLine('a', { user: ALICE, address: '192.0.2.1' }))
      tx.audit.put(auditLine('b', { user: BOB, address: '192.0.2.2' }))
    })
    await world.remove(ALICE)
    const lines = await world.database.read((tx) => tx.audit.list({ at: 0, seq: 0 }, 10))
    expect(lines.map(({ id, user, address }) => [id, user, address])).toEqual([
      ['a', expect.stringMatching(/^[\w-]{16}$/), null],
      ['b', BOB, '192.0.2.2'],
    ])
  })

  test('removes the refresh tokens, codes and mails of that user only', async () => {
    await using world = await setupWorld()
    const { database } = world
    const [hers, his] = ['alice@example.com', 'bob@example.com']
    const [carol, dora] = ['carol', 'dora@example.com']
    const incarnations = await database.write((tx) => {
      const admit = (id: string, email: string) =>
        admitUser(tx, { id, email, name: null }, { action: 'prod' }, NOW).incarnation
      // Carol's data says Bob's address.
      const users = [admit(hers, hers), admit('auth0|dora', dora), admit(his, his)]
      const known = tx.users.find(carol)
      if (known !== undefined) tx.users.put({ ...known, data: { email: his } })
      for (const subject of [hers, 'auth0|dora', dora, his, carol]) {
        tx.codes.put(code(`code of ${subject}`, { subject }))
        tx.mails.put(mail(`mail to ${subject}`, { recipient: recipientOf(subject) }))
      }
      for (const user of users) {
        tx.refreshTokens.put(refreshToken(`token ${user}`, { user }))
      }
      return users
    })
    const left = () =>
      database.read((tx) => {
        const found: string[] = []
        for (const subject of [hers, 'auth0|dora', dora, his, carol]) {
          if (tx.codes.find(`code of ${subject}`) !== undefined) found.push(subject)
        }
        const mails = tx.mails.due(Number.MAX_SAFE_INTEGER, 100)
        expect(mails.map(({ id }) => id).toSorted()).toEqual(
          found.map((subject) => `mail to ${subject}`).toSorted(),
        )
        const tokens: (number | null)[] = []
        for (const user of incarnations) {
          const token = tx.refreshTokens.find(`token ${user}`)
          if (token !== undefined) tokens.push(token.user)
        }
        return { found, tokens }
      })
    const [, doras = null, bobs = null] = incarnations
    await world.remove(hers)
    const others = ['auth0|dora', dora, his, carol]
    expect(await left()).toEqual({ found: others, tokens: [doras, bobs] })
    await world.remove('auth0|dora')
    expect(await left()).toEqual({ found: [his, carol], tokens: [bobs] })
    await world.remove(carol)
    expect(await left()).toEqual({ found: [his], tokens: [bobs] })
  })

  test('leaves tombstones that know since when a row was there, before it was moved', async () => {
    await using world = await setupWorld()
    await world.put('realms', [
      { realmId: 'rlm-one', owner: BOB },
      { realmId: 'rlm-two', owner: BOB },
    ])
    const row = { ...member('rlm-one', ALICE), id: 'mmb1' }
    await world.put('members', [row])
    const { database } = world
    const born = await database.read((tx) => tx.revision())
    await world.put('members', [{ ...row, realmId: 'rlm-two' }])
    await world.remove(ALICE)
    const tombstone = await database.write((tx) => {
      const two = tx.realms.find('rlm-two')?.ref
      return tx.objects.findTombstone(tx.tables.find('members')!, 'mmb1', (ref) => ref === two)
    })
    expect(tombstone?.entered).toBe(born)
  })

  test('leaves no trace of the rows of members that were theirs', async () => {
    await using world = await setupWorld()
    const { database } = world
    const email = 'al@example.com'
    const keys = Array.from({ length: 60 }, (_, at) => `mmb${at}`)
    await database.write((tx) => {
      const alice = tx.users.find(ALICE)
      if (alice !== undefined) tx.users.put({ ...alice, data: { email } })
      for (const key of keys) {
        const own = { ...INVITED, source: `members:${key}`, userId: ALICE, email }
        tx.memberships.put({ ...own, userId: null })
        tx.memberships.put({ ...own, userId: BOB })
        tx.memberships.put(own)
        tx.memberships.remove(own.source)
      }
    })
    const known = (id: string, address: string | null) =>
      database.read((tx) => {
        let count = 0
        for (const key of keys) if (tx.memberships.hadMemberRow(id, address, key)) count += 1
        return count
      })
    expect([await known(ALICE, null), await known('', email)]).toEqual([60, 60])
    await world.remove(ALICE)
    await using jobs = world.runJobs()
    await jobs.idle()
    expect([await known(ALICE, null), await known('', email)]).toEqual([0, 0])
    expect(await known(BOB, null)).toBe(60)
  })

  test('has lost rows forgotten by a job when one unit is not enough', async () => {
    await using world = await setupWorld()
    const { database } = world
    const addresses = [ALICE, 'al@example.com']
    await database.write((tx) => {
      for (const email of addresses) {
        const source = `members:of ${email}`
        tx.memberships.put({ ...INVITED, source, userId: null, email })
        tx.memberships.remove(source)
      }
      startJob(tx, 'leave', { user: ALICE, addresses }, NOW)
    })
    await using jobs = world.runJobs()
    await jobs.idle()
    await database.read((tx) => {
      expect(tx.jobs.list()).toEqual([])
      for (const email of addresses) {
        expect(tx.memberships.hadMemberRow(email, null, `of ${email}`)).toBe(false)
      }
    })
  })

  test('hands realms without another manager to all remaining members', async () => {
    await using world = await setupWorld()
    await world.put('realms', [{ realmId: 'rlm-team', owner: ALICE }])
    await world.put('members', [
      member('rlm-team', BOB, { permissions: { add: ['notes'], update: { notes: ['title'] } } }),
      member('rlm-team', CAROL),
      { id: 'mmb-invited', realmId: 'rlm-team', email: 'dave@example.com' },
      {
        ...member('rlm-team', 'eve'),
        rejected: { $t: 'Date', v: '2029-01-01T00:00:00.000Z' },
      },
    ])
    await world.put('notes', [note('rlm-team', 'shared')])
    await world.remove(ALICE)
    expect(await permissionsIn(world, 'rlm-team')).toEqual({
      [BOB]: { add: ['notes'], update: { notes: ['title'] }, manage: '*' },
      [CAROL]: { manage: '*' },
      // Not in, or not any more.
      undefined: undefined,
      eve: undefined,
    })
    // And they have them.
    await world.put('realms', [{ realmId: 'rlm-team', name: 'Ours' }], BOB)
    await world.put('members', [{ realmId: 'rlm-team', email: 'new@example.com' }], CAROL)
  })

  test.each([
    ['a member who has full rights', { permissions: { manage: '*' } }, true],
    ['a member who has them by a role', { roles: ['chief'] }, true],
    ['a member whose role only sounds like it', { roles: ['helper'] }, false],
  ])('looks for %s', async (_name, rights, isManaged) => {
    await using world = await setupWorld()
    await world.put('realms', [{ realmId: 'rlm-team', owner: ALICE }])
    await world.put('roles', [
      { realmId: 'rlm-public', name: 'chief', permissions: { manage: '*' } },
      { realmId: 'rlm-team', name: 'helper', permissions: { manage: ['notes'] } },
    ])
    await world.put('members', [member('rlm-team', BOB, rights), member('rlm-team', CAROL)])
    await world.remove(ALICE)
    const { [CAROL]: carol } = await permissionsIn(world, 'rlm-team')
    expect(carol).toEqual(isManaged ? undefined : { manage: '*' })
  })

  test('hands nothing over that they did not have themselves', async () => {
    await using world = await setupWorld()
    await world.put('realms', [{ realmId: 'rlm-served', owner: null }])
    await world.put('members', [
      member('rlm-served', ALICE, { permissions: { add: ['notes'] } }),
      member('rlm-served', BOB, { permissions: { add: ['notes'] } }),
    ])
    await world.remove(ALICE)
    expect(await permissionsIn(world, 'rlm-served')).toEqual({ [BOB]: { add: ['notes'] } })
  })

  test('leaves the public realm to those who may write everything', async () => {
    await using world = await setupWorld()
    await world.put('members', [
      member('rlm-public', ALICE, { permissions: { manage: '*' } }),
      member('rlm-public', BOB, { permissions: { add: ['notes'] } }),
    ])
    await world.put('notes', [note('rlm-public', 'of all')])
    await world.remove(ALICE)
    expect(await permissionsIn(world, 'rlm-public')).toEqual({ [BOB]: { add: ['notes'] } })
    expect(titles(await world.list('notes', CAROL))).toEqual(['of all'])
  })

  test('leaves a realm to its invitees, and keeps a realm of another owner', async () => {
    await using world = await setupWorld()
    await world.put('realms', [
      { realmId: 'rlm-party', owner: ALICE },
      { realmId: 'rlm-served', owner: null },
    ])
    await world.put('members', [
      { id: 'mmb-invited', realmId: 'rlm-party', email: 'bob@example.com' },
      member('rlm-served', ALICE, { permissions: { manage: '*' } }),
    ])
    await world.put('notes', [note('rlm-party', 'cake'), note('rlm-served', 'dish')])
    await world.remove(ALICE)
    expect(titles(await world.list('notes'))).toEqual(['cake', 'dish'])
    const accepted = { $t: 'Date', v: '2030-01-01T00:00:00.000Z' }
    await world.put(
      'members',
      [{ id: 'mmb-invited', realmId: 'rlm-party', email: 'bob@example.com', accepted }],
      BOB,
    )
    expect(titles(await world.list('notes', BOB))).toEqual(['cake'])
  })
})
