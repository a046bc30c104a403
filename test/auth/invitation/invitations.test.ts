import { describe, expect, test } from 'bun:test'
import { createClient } from '../../../src/domain/database/client'
import { MAILS_PER_DAY } from '../../../src/domain/rows/invitation'
import { SCOPES } from '../../../src/domain/value/scope'
import { codeOf, DAY, HOUR, refusalOf } from '../setup'
import {
  ALICE,
  BOB,
  INVITATION,
  personOf,
  REALM,
  type Row,
  setupInvitations,
} from '../invitation-setup'

const DATE = { $t: 'Date', v: '2030-01-01T12:00:00.000Z' }

describe('a row that invites', () => {
  test('is sent once, even if other properties change later', async () => {
    await using server = await setupInvitations()
    await server.invite()
    const stored = await server.row()
    server.clock.advance(HOUR)
    const withoutStamp = { ...INVITATION, owner: ALICE }
    for (const [actor, row] of [
      [server.alice, { ...stored }],
      [server.alice, INVITATION],
      [server.alice, { ...INVITATION, email: ' Bob@Example.com ', roles: ['doer'], name: 'Bobby' }],
      [server.admin, withoutStamp],
      [server.admin, { ...withoutStamp, permissions: { add: '*' } }],
    ] as const) {
      const [written] = await server.put(actor, 'members', row)
      expect(written).toMatchObject({
        invitedDate: stored?.['invitedDate'],
        invitedBy: stored?.['invitedBy'],
      })
    }
    expect(await server.mails()).toEqual([])
  })

  test('is sent again to another address, and for another realm', async () => {
    await using server = await setupInvitations()
    await server.invite()
    server.clock.advance(HOUR)
    const later = { invitedDate: { $t: 'Date', v: '2030-01-01T13:00:00.000Z' } }
    const carol = { ...INVITATION, email: 'carol@example.com' }
    expect(await server.put(server.alice, 'members', carol)).toMatchObject([later])
    expect(await server.mails()).toMatchObject([{ to: 'carol@example.com' }])
    await server.put(server.alice, 'realms', { realmId: 'rlmBoats', name: 'Boats' })
    await server.put(server.alice, 'members', { ...carol, realmId: 'rlmBoats' })
    expect(await server.mails()).toMatchObject([{ to: 'carol@example.com', realmName: 'Boats' }])
  })

  test('is sent again when it did not want to be in between', async () => {
    await using server = await setupInvitations()
    await server.put(server.alice, 'members', { ...INVITATION, invite: false })
    expect(await server.mails()).toEqual([])
    for (let round = 0; round < 2; round += 1) {
      await server.put(server.alice, 'members', INVITATION)
      expect(await server.mails()).toHaveLength(1)
      await server.put(server.alice, 'members', { ...INVITATION, invite: false })
    }
    expect(await server.mails()).toEqual([])
  })

  test.each<[string, Row]>([
    ['wants no mail', { invite: undefined }],
    ['says so otherwise', { invite: 1 }],
    ['has no address', { email: undefined }],
    ['has an empty one', { email: ' ' }],
    ['has its user', { userId: BOB }],
    ['was accepted', { accepted: DATE }],
    ['was rejected', { rejected: DATE }],
  ])('stays as it is when it %s', async (_, changes) => {
    await using server = await setupInvitations()
    const row = { ...INVITATION, owner: null, ...changes }
    const [written] = await server.put(server.admin, 'members', row)
    expect(written).toEqual(JSON.parse(JSON.stringify(row)) as Row)
    expect(await server.mails()).toEqual([])
  })

  test('is never sent again after an answer', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    await server.invitations.answer(secret, 'reject')
    const rejected = await server.row()
    expect(rejected).not.toHaveProperty('userId')
    await server.put(server.alice, 'members', { ...rejected, invite: false })
    await server.put(server.alice, 'members', { ...rejected, invite: true })
    expect(await server.mails()).toEqual([])
  })

  test('names demo users without a mail: they have no mailbox', async () => {
    await using server = await setupInvitations()
    const demo = { ...INVITATION, email: 'foo@demo.local' }
    const [row] = await server.put(server.alice, 'members', demo)
    expect(row).toMatchObject({ invitedDate: DATE, invitedBy: { name: 'Alice' } })
    expect(await server.mails()).toEqual([])
  })

  test('by a demo user sends no mail: anybody may be one', async () => {
    await using server = await setupInvitations()
    const foo = personOf('foo@demo.local')
    await server.put(foo, 'realms', { realmId: 'rlmFoo', name: 'Foo' })
    const [row] = await server.put(foo, 'members', { ...INVITATION, realmId: 'rlmFoo' })
    expect(row).toMatchObject({ invitedDate: DATE, invitedBy: { userId: 'foo@demo.local' } })
    expect(await server.mails()).toEqual([])
    expect(await server.list(personOf(BOB), 'members')).toMatchObject([{ realmId: 'rlmFoo' }])
  })

  test.each(['bob', 'bob@', 'bob@example.com\r\nBcc: eve@example.com', '"Bob" <bob@example.com>'])(
    'is refused with an address that no mail can go to: %p',
    async (email) => {
      await using server = await setupInvitations()
      const refusal = await refusalOf(() =>
        server.put(server.alice, 'members', { ...INVITATION, email }),
      )
      expect(refusal).toMatchObject({ code: 'UNPROCESSABLE', reason: 'email' })
      expect(await server.row()).toBeUndefined()
      expect(await server.mails()).toEqual([])
    },
  )

  test('is sent with all others of its request, or none of them', async () => {
    await using server = await setupInvitations()
    const rows = [INVITATION, { ...INVITATION, id: 'mmbEve', email: 'no address' }]
    expect(await codeOf(() => server.put(server.alice, 'members', rows))).toBe('UNPROCESSABLE')
    expect(await server.mails()).toEqual([])
    expect(await server.row()).toBeUndefined()
  })

  test('is no way to write what is the server’s', async () => {
    await using server = await setupInvitations()
    for (const forged of [{ invitedDate: DATE }, { invitedBy: { name: 'The Queen' } }]) {
      const row = { ...INVITATION, ...forged }
      expect(await codeOf(() => server.put(server.alice, 'members', row))).toBe('NOT_AUTHORIZED')
      const [written] = await server.put(server.admin, 'members', {
        ...row,
        id: `mmb${Object.keys(forged)[0]}`,
      })
      expect(written).toMatchObject({ invitedDate: DATE, invitedBy: { userId: 'admin' } })
    }
  })

  test('is not sent without the permission to invite', async () => {
    await using server = await setupInvitations()
    const mallory = personOf('mallory@example.com')
    expect(await codeOf(() => server.put(mallory, 'members', INVITATION))).toBe('NOT_AUTHORIZED')
    expect(await server.mails()).toEqual([])
  })
})

describe('the mail', () => {
  test('names the inviter by their token, else by their user row', async () => {
    await using server = await setupInvitations()
    await server.addUser('zoe', { data: { displayName: 'Zoë', email: 'zoe@example.com' } })
    const client = await server.database.write((tx) =>
      createClient(tx, server.clock, { scopes: SCOPES, name: 'The shop' }),
    )
    const nameless = await server.database.write((tx) =>
      createClient(tx, server.clock, { scopes: SCOPES }),
    )
    const all = { email: null, scopes: new Set(SCOPES) }
    for (const [actor, invitedBy, said] of [
      [
        personOf('zoe', { ...all, name: 'Zoë Z.', email: 'z@example.com' }),
        { name: 'Zoë Z.', email: 'z@example.com', userId: 'zoe' },
        'Zoë Z. (z@example.com) invites you',
      ],
      [
        personOf('zoe', { ...all, name: '', email: '' }),
        { name: 'Zoë', email: 'zoe@example.com', userId: 'zoe' },
        'Zoë (zoe@example.com) invites you',
      ],
      [
        personOf('u1', { ...all, email: 'u1@example.com' }),
        { name: 'u1@example.com', email: 'u1@example.com', userId: 'u1' },
        'u1@example.com invites you',
      ],
      [personOf('u2', all), { name: 'u2', email: '', userId: 'u2' }, 'u2 invites you'],
      [
        personOf(client.clientId, all),
        { name: 'The shop', email: '', userId: client.clientId },
        'The shop invites you',
      ],
      [
        personOf(nameless.clientId, all),
        { name: '', email: '', userId: nameless.clientId },
        'main invites you',
      ],
    ] as const) {
      const row = { ...INVITATION, id: `mmb${server.printed.length}` }
      expect(await server.put(actor, 'members', row)).toMatchObject([{ invitedBy }])
      const [mail] = await server.mails()
      expect(mail?.text).toContain(`\n${said} to share Groceries in main.\n`)
    }
  })

  test('names the page that asks, or the only one there is', async () => {
    await using server = await setupInvitations()
    let count = 0
    const pageOf = async (origin: string | null) => {
      await server.put(server.alice, 'members', { ...INVITATION, id: `mmb${count++}` }, origin)
      const [mail] = await server.mails()
      return [mail?.originName, mail?.origin]
    }
    expect(await pageOf(null)).toEqual(['main', ''])
    expect(await pageOf('http://localhost:5173')).toEqual([
      'localhost:5173',
      'http://localhost:5173',
    ])
    for (const origin of ['http://localhost:1', 'myapp:', 'https://app.example.com/login']) {
      await server.addOrigin(origin)
    }
    expect(await pageOf(null)).toEqual(['main', ''])
    await server.addOrigin('https://app.example.com')
    expect(await pageOf(null)).toEqual(['app.example.com', 'https://app.example.com'])
    await server.addOrigin('https://staging.example.com')
    expect(await pageOf(null)).toEqual(['main', ''])
  })

  test('speaks of the application where the realm has no name', async () => {
    await using server = await setupInvitations()
    await server.put(server.alice, 'realms', { realmId: REALM })
    await server.put(server.alice, 'members', INVITATION, 'https://app.example.com')
    const [mail] = await server.mails()
    expect(mail?.subject).toBe('Alice invites you to app.example.com')
    expect(mail?.text).toContain('Alice (alice@example.com) invites you to app.example.com.\n')
    expect(mail?.html).toContain('<title>An invitation to app.example.com</title>')
  })

  test('has names as text, on one line, and no addresses in them', async () => {
    await using server = await setupInvitations()
    const evil = '<img src=x onerror=alert(1)>"\'&{{link}}\r\nBcc: eve@example.com\r\n\r\nHi'
    await server.put(server.alice, 'realms', { realmId: REALM, name: evil })
    const mallory = { ...server.alice, name: 'Mallory\u202e\nX-Evil: 1' }
    await server.put(mallory, 'members', { ...INVITATION, name: 'Win at https://evil.example' })
    const [mail] = await server.mails()
    expect(mail?.subject).toStartWith('Mallory X-Evil: 1 invites you to <img src=x')
    expect(mail?.subject).not.toMatch(/[\r\n\u202e]/)
    expect(mail?.text).toStartWith('Hello,\n')
    expect(mail?.text).toContain('{{link}} Bcc: eve@example.com Hi')
    expect(mail?.html).not.toContain('<img')
    expect(mail?.html).not.toContain('evil.example')
    expect(mail?.html).toContain('&lt;img src&#x3D;x onerror&#x3D;alert(1)&gt;')
  })

  test('cannot be guessed: the database stores its secret only as a hash', async () => {
    await using server = await setupInvitations()
    const secret = await server.invite()
    expect(secret).toHaveLength(43)
    expect(await server.database.read((tx) => tx.invitations.find(secret))).toBeUndefined()
    const wrong = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`
    expect(await codeOf(() => server.invitations.show(wrong, false))).toBe('UNKNOWN_INVITATION')
  })
})

describe('so much and no more', () => {
  const rowFor = (n: number, email = `p${n}@example.com`) => ({
    ...INVITATION,
    id: `mmb${n}`,
    email,
  })

  test('is sent by one person in a day', async () => {
    await using server = await setupInvitations()
    const most = MAILS_PER_DAY.inviter
    const rows = Array.from({ length: most }, (_, n) => rowFor(n))
    await server.put(server.alice, 'members', rows.slice(1))
    server.clock.advance(HOUR)
    await server.put(server.alice, 'members', rows.slice(0, 1))
    const refusal = await refusalOf(() => server.put(server.alice, 'members', rowFor(most)))
    expect(refusal).toMatchObject({ code: 'TOO_MANY_REQUESTS', retryAfter: 23 * 3600 })
    expect(refusal.message).toBe(
      `You have sent ${most} invitations today: try again in 23 hours, or write the row without "invite", which sends no mail`,
    )
    // Her own row is among them.
    expect(await server.list(server.alice, 'members')).toHaveLength(most + 1)
    await server.put(server.alice, 'members', { ...rowFor(most), invite: false })
    await server.put(server.admin, 'members', rowFor(most + 1))
    server.clock.advance(23 * HOUR)
    await server.put(server.alice, 'members', rowFor(most + 2))
    expect(await server.mails()).toHaveLength(most + 2)
  })

  test('goes to one address in a day, from all senders together', async () => {
    await using server = await setupInvitations()
    const most = MAILS_PER_DAY.address
    for (let n = 0; n < most; n += 1) {
      await server.put(n % 2 === 0 ? server.alice : server.admin, 'members', rowFor(n, BOB))
    }
    for (const actor of [server.alice, server.admin]) {
      const refusal = await refusalOf(() =>
        server.put(actor, 'members', rowFor(most, ' BOB@example.com')),
      )
      expect(refusal).toMatchObject({
        code: 'TOO_MANY_REQUESTS',
        reason: 'invite',
        retryAfter: 24 * 3600,
      })
    }
    // Taking an invitation back makes no room for another mail.
    await server.remove(server.alice, 'members', 'mmb0')
    expect(await codeOf(() => server.put(server.alice, 'members', rowFor(0, BOB)))).toBe(
      'TOO_MANY_REQUESTS',
    )
    server.clock.advance(DAY)
    await server.put(server.alice, 'members', rowFor(most, BOB))
  })

  test('is forgotten when the clock jumps back', async () => {
    await using server = await setupInvitations()
    for (let n = 0; n < MAILS_PER_DAY.address; n += 1) {
      await server.put(server.alice, 'members', rowFor(n, BOB))
    }
    expect(await codeOf(() => server.put(server.alice, 'members', rowFor(98, BOB)))).toBe(
      'TOO_MANY_REQUESTS',
    )
    server.clock.advance(-365 * DAY)
    expect(await server.put(server.alice, 'members', rowFor(99, BOB))).toHaveLength(1)
  })
})
