import { describe, expect, test } from 'bun:test'
import { codeOf, DAY, refusalOf } from '../setup'
import { ALICE, BOB, INVITATION, personOf, REALM, setupInvitations } from '../invitation-setup'

const APP = 'https://app.example.com'
const NOW = { $t: 'Date', v: '2030-01-01T12:00:00.000Z' }
const LATER = { $t: 'Date', v: '2030-01-02T12:00:00.000Z' }

describe('a link', () => {
  test('leads on to the page that asked, while it is listed', async () => {
    await using server = await setupInvitations()
    await server.addOrigin(APP)
    const listed = await server.invite({}, APP)
    const local = await server.invite({ id: 'mmb2' }, 'http://localhost:5173')
    const nowhere = await server.invite({ id: 'mmb3' }, 'https://evil.example')
    const application = async (secret: string, isDevelopment: boolean) =>
      (await server.invitations.show(secret, isDevelopment)).application
    expect(await application(listed, false)).toBe(`${APP}/`)
    expect(await application(local, true)).toBe('http://localhost:5173/')
    expect(await application(local, false)).toBeNull()
    expect(await application(nowhere, true)).toBeNull()
    await server.database.write((tx) => tx.origins.remove(APP))
    expect(await application(listed, false)).toBeNull()
  })

  test('is good for thirty days, and then still says who has accepted', async () => {
    await using server = await setupInvitations()
    const accepted = await server.invite({}, APP)
    await server.invitations.answer(accepted, 'accept')
    const open = await server.invite({ id: 'mmb2', email: 'carol@example.com' })
    server.clock.advance(30 * DAY - 1)
    expect(await server.invitations.show(open, false)).toMatchObject({ state: 'open' })
    server.clock.advance(1)
    const refusal = await refusalOf(() => server.invitations.show(open, false))
    expect(refusal).toMatchObject({
      code: 'INVITATION_EXPIRED',
      message:
        'The link in the mail has expired: log in to the application as carol@example.com to answer the invitation, or ask to be invited again',
    })
    for (const answer of ['accept', 'reject'] as const) {
      expect(await codeOf(() => server.invitations.answer(open, answer))).toBe('INVITATION_EXPIRED')
    }
    expect(await server.findUser('carol@example.com')).toBeUndefined()
    expect(await server.invitations.show(accepted, false)).toMatchObject({ state: 'accepted' })
    server.clock.advance(-DAY)
    expect(await codeOf(() => server.invitations.show(open, false))).toBe('INVITATION_EXPIRED')
  })

  test('is forgotten a month after it was over, when the next one goes out', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    server.clock.advance(60 * DAY)
    await server.invite({ id: 'mmb2' })
    expect(await codeOf(() => server.invitations.show(secret, false))).toBe('INVITATION_EXPIRED')
    server.clock.advance(1)
    await server.invite({ id: 'mmb3' })
    expect(await codeOf(() => server.invitations.show(secret, false))).toBe('UNKNOWN_INVITATION')
  })

  test.each<[string, (server: Awaited<ReturnType<typeof setupInvitations>>) => Promise<unknown>]>([
    ['deleted', ({ remove, alice }) => remove(alice, 'members', INVITATION.id)],
    [
      'given to another address',
      ({ put, alice }) => put(alice, 'members', { ...INVITATION, email: 'carol@example.com' }),
    ],
    [
      'moved to another realm',
      async ({ put, alice }) => {
        await put(alice, 'realms', { realmId: 'rlmBoats' })
        await put(alice, 'members', { ...INVITATION, realmId: 'rlmBoats' })
      },
    ],
    ['of a realm that was deleted', ({ remove, alice }) => remove(alice, 'realms', REALM)],
    [
      'of a realm that was deleted and came back',
      async ({ remove, put, alice, admin }) => {
        await remove(alice, 'realms', REALM)
        await put(admin, 'realms', { realmId: REALM, owner: ALICE })
        await put(alice, 'members', { ...INVITATION, id: 'mmbNew' })
      },
    ],
  ])('leads nowhere when the row was %s', async (_, change) => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    await change(server)
    expect(await codeOf(() => server.invitations.show(secret, false))).toBe('UNKNOWN_INVITATION')
    for (const answer of ['accept', 'reject'] as const) {
      expect(await codeOf(() => server.invitations.answer(secret, answer))).toBe(
        'UNKNOWN_INVITATION',
      )
    }
    expect(await server.findUser(BOB)).toBeUndefined()
  })
})

describe('accepting by the link', () => {
  test('again changes nothing, and a late “no” neither', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    await server.invitations.answer(secret, 'accept')
    const row = await server.row()
    server.clock.advance(DAY)
    await server.invitations.answer(secret, 'accept')
    expect(await codeOf(() => server.invitations.answer(secret, 'reject'))).toBe('CONFLICT')
    expect(await server.row()).toEqual(row)
  })

  test('by a hundred at once is accepting once', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    const answers = Array.from({ length: 100 }, () => server.invitations.answer(secret, 'accept'))
    await Promise.all(answers)
    expect(await server.titles(BOB)).toEqual(['Bread'])
    // The owner of the realm has a row as well.
    expect(await server.list(server.alice, 'members')).toHaveLength(2)
    const { length } = await server.database.read((tx) => tx.memberships.ofUser(BOB, 100))
    expect(length).toBe(1)
  })

  test('takes back an earlier “no”', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    await server.invitations.answer(secret, 'reject')
    server.clock.advance(DAY)
    await server.invitations.answer(secret, 'accept')
    const row = await server.row()
    expect(row).toMatchObject({ userId: BOB, accepted: LATER })
    expect(row).not.toHaveProperty('rejected')
    expect(await server.titles(BOB)).toEqual(['Bread'])
  })

  test('grants the permissions of the row, to the addressee of the row at that time', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    await server.put(server.alice, 'members', { ...INVITATION, permissions: { add: ['items'] } })
    await server.invitations.answer(secret, 'accept')
    await server.put(personOf(BOB), 'items', { title: 'Milk', realmId: REALM })
    expect(await server.titles(ALICE)).toEqual(['Bread', 'Milk'])
  })

  test('creates no user that the policy rejects, and says why', async () => {
    await using server = await setupInvitations({
      askWebhook: async () => ({ action: 'reject' }),
    })
    const secret = await server.invite()
    const accept = () => codeOf(() => server.invitations.answer(secret, 'accept'))
    await server.setPolicy({ newUsers: 'reject' })
    expect(await accept()).toBe('USER_NOT_REGISTERED')
    await server.setPolicy({ newUsers: 'webhook', hookUrl: 'https://hook.example' })
    expect(await accept()).toBe('USER_NOT_REGISTERED')
    await server.setPolicy({ newUsers: 'prod', seats: 1 })
    expect(await accept()).toBe('NO_SEATS_AVAILABLE')
    expect(await server.row()).not.toHaveProperty('accepted')
    expect(await server.findUser(BOB)).toBeUndefined()
    await server.addUser(BOB)
    await server.invitations.answer(secret, 'accept')
    expect(await server.titles(BOB)).toEqual(['Bread'])
  })

  test('is for the user with this address, regardless of their id', async () => {
    await using server = await setupInvitations()
    await server.addUser('u-bob', { data: { email: 'Bob@Example.com' } })
    await server.addUser('u-bobby', { data: { email: 'not-bob@example.com' } })
    const secret = await server.invite()
    await server.invitations.answer(secret, 'accept')
    expect(await server.row()).toMatchObject({ userId: 'u-bob' })
    expect(await server.findUser(BOB)).toBeUndefined()
    expect(await server.titles('u-bob')).toEqual(['Bread'])
  })

  test('is left to the application when several users have the address', async () => {
    await using server = await setupInvitations()
    for (const id of ['u1', 'u2']) await server.addUser(id, { data: { email: BOB } })
    const secret = await server.invite()
    const refusal = await refusalOf(() => server.invitations.answer(secret, 'accept'))
    expect(refusal.code).toBe('CONFLICT')
    expect(refusal.message).toContain('Several accounts')
    expect(await server.row()).not.toHaveProperty('userId')
    await server.invitations.answer(secret, 'reject')
    const row = await server.row()
    expect(row).toMatchObject({ rejected: NOW })
    expect(row).not.toHaveProperty('userId')
  })

  test.each(['rlm-public@example.com', '#x@example.com'])(
    'creates no user whose id would be ambiguous: %p',
    async (email) => {
      await using server = await setupInvitations()
      const secret = await server.invite({ email })
      expect(await codeOf(() => server.invitations.answer(secret, 'accept'))).toBe('CONFLICT')
      expect(await server.findUser(email)).toBeUndefined()
      await server.addUser('u1', { data: { email } })
      await server.invitations.answer(secret, 'accept')
      expect(await server.titles('u1')).toEqual(['Bread'])
    },
  )

  test('does not take what another account has answered', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    const other = personOf('u-bob', { email: BOB })
    await server.put(other, 'members', { ...(await server.row()), rejected: NOW })
    expect(await server.invitations.show(secret, false)).toMatchObject({ state: 'rejected' })
    const refusal = await refusalOf(() => server.invitations.answer(secret, 'accept'))
    expect(refusal).toMatchObject({
      code: 'CONFLICT',
      message: 'This invitation was answered with another account',
    })
    expect(await server.row()).toMatchObject({ userId: 'u-bob', rejected: NOW })
  })
})

describe('rejecting by the link', () => {
  test('creates no user, and leaves the realm among those to answer for', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    expect(await server.list(personOf(BOB), 'realms')).toHaveLength(1)
    await server.invitations.answer(secret, 'reject')
    await server.invitations.answer(secret, 'reject')
    const row = await server.row()
    expect(row).toMatchObject({ ...INVITATION, rejected: NOW })
    expect(row).not.toHaveProperty('userId')
    expect(await server.findUser(BOB)).toBeUndefined()
    expect(await server.list(personOf(BOB), 'realms')).toHaveLength(1)
    expect(await server.list(personOf(BOB), 'members')).toMatchObject([{ id: INVITATION.id }])
    expect(await server.invitations.show(secret, false)).toMatchObject({ state: 'rejected' })
  })

  test('of a user is theirs', async () => {
    await using server = await setupInvitations()
    await server.addUser(BOB)
    const secret = await server.invite()
    await server.invitations.answer(secret, 'reject')
    expect(await server.row()).toMatchObject({ userId: BOB, rejected: NOW })
  })

  test('leaves it open to accept in the application', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    await server.invitations.answer(secret, 'reject')
    const bob = personOf(BOB)
    const [row] = await server.list(bob, 'members')
    await server.put(bob, 'members', { ...row, accepted: LATER })
    expect(await server.titles(BOB)).toEqual(['Bread'])
    expect(await server.invitations.show(secret, false)).toMatchObject({ state: 'accepted' })
  })
})

/** The row of `members` that this person sees for their own address. */
async function rowOf(server: Awaited<ReturnType<typeof setupInvitations>>, email: string) {
  const rows = await server.list(personOf(email), 'members')
  return rows.find((row) => row['email'] === email)
}

describe('an answer in the application by a clock that is wrong', () => {
  const date = (time: number) => ({ $t: 'Date', v: new Date(time).toISOString() })

  test.each([-400 * DAY, -1, 0, 1, 400 * DAY])(
    'by %p ms counts after the one before it',
    async (off) => {
      await using server = await setupInvitations()
      const { clock, invitations } = server
      const bob = personOf(BOB)
      const secret = await server.invite()
      const answer = async (name: 'accepted' | 'rejected') => {
        clock.advance(1)
        const row = await rowOf(server, BOB)
        await server.put(bob, 'members', { ...row, [name]: date(clock.now() + off) })
        expect(await invitations.show(secret, false)).toMatchObject({ state: name })
        expect(await server.titles(BOB)).toEqual(name === 'accepted' ? ['Bread'] : [])
      }
      await invitations.answer(secret, 'reject')
      await answer('accepted')
      await answer('rejected')
      await invitations.answer(secret, 'accept')
      await answer('rejected')
      clock.advance(DAY)
      await answer('accepted')
    },
  )

  test('has the date of the server only where it would not count', async () => {
    await using server = await setupInvitations()
    const { clock } = server
    const bob = personOf(BOB)
    const secret = await server.invite()
    const put = async (changes: object) => {
      const row = await rowOf(server, BOB)
      const [stored] = await server.put(bob, 'members', { ...row, ...changes })
      return stored
    }
    const early = date(clock.now() - DAY)
    expect(await put({ accepted: early })).toMatchObject({ accepted: early })
    await server.invitations.answer(secret, 'accept')
    const late = date(clock.now() + DAY)
    expect(await put({ rejected: late })).toMatchObject({ accepted: early, rejected: late })
    const later = date(clock.now() + DAY + 1)
    expect(await put({ accepted: date(clock.now()) })).toMatchObject({ accepted: later })
    expect(await put({ accepted: late, rejected: early })).toMatchObject({
      accepted: late,
      rejected: early,
    })
    expect(await put({ rejected: date(clock.now() - 2 * DAY) })).toMatchObject({ rejected: late })
    clock.advance(2 * DAY)
    expect(await put({ accepted: early })).toMatchObject({ accepted: date(clock.now()) })
  })
})
