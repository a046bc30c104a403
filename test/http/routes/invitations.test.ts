import { describe, expect, test } from 'bun:test'
import type { MailVariables } from '../../../src/domain/store/mailer'
import { startSmtp } from '../../mail/smtp-server'
import { PLAIN_IMPORT } from '../../setup'
import { ALICE, BOB, callerOf, objectsOf, setupData } from '../setup'
import { until } from '../../timing'

const APP = 'http://localhost:5173'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const DATE = { $t: 'Date', v: '2030-01-01T12:00:00.000Z' }

interface PrintedMail {
  readonly to: string
  readonly subject: string
  readonly variables: MailVariables['invite']
}

/** A server on which Alice shares a realm with an object in it; its mails are on the terminal. */
async function setupSharing(flags: Readonly<Record<string, unknown>> = {}) {
  const server = await setupData(flags)
  const alice = await server.as(ALICE)
  const founded = await alice.post('/my/realms', { name: 'Groceries <&> "more"' })
  const { realmId } = founded.body as { realmId: string }
  await alice.post('/my/plain', { id: 'bread', realmId })
  const mails = (): PrintedMail[] =>
    server.lines
      .filter((line) => line.includes('"logger":"mail"'))
      .map((line) => JSON.parse(line) as PrintedMail)

  /** The newest mail when there are so many; they are printed soon after the answer. */
  async function mail(count: number): Promise<PrintedMail> {
    await until(() => mails().length >= count)
    expect(mails()).toHaveLength(count)
    return mails().at(-1)!
  }

  return {
    ...server,
    alice,
    realmId,
    mails,
    mail,
    /** Alice's invitation, from a page, and its link. */
    async invite(row: object = {}, headers: Record<string, string> = { origin: APP }) {
      const { length } = mails()
      const invited = { realmId, email: BOB, invite: true, ...row }
      const answer = await alice.post('/my/members', invited, headers)
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
      const { link } = (await mail(length + 1)).variables
      return { link, row: answer.body as Readonly<Record<string, unknown>> }
    },
    /** The member rows of everyone but the owner of the realm. */
    rows: async () =>
      objectsOf(await alice.get('/my/members')).filter(({ userId }) => userId !== ALICE),
  }
}

/** A browser that was given a link, without following where it is sent on. */
const open = (link: string, headers: Record<string, string> = {}) =>
  fetch(link, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } })

const press = (link: string, answer: string, headers: Record<string, string> = {}) =>
  fetch(link, {
    method: 'POST',
    redirect: 'manual',
    // As a browser sends the form of a page without a referrer.
    headers: { ...FORM, origin: 'null', 'sec-fetch-site': 'same-origin', ...headers },
    body: new URLSearchParams({ answer }),
  })

describe('a row of members that invites', () => {
  test('conformance 125: is answered with when and by whom, and a mail goes out', async () => {
    await using server = await setupSharing()
    const { row } = await server.invite()
    const invitedBy = { name: ALICE, email: ALICE, userId: ALICE }
    expect(row).toMatchObject({ email: BOB, invite: true, invitedDate: DATE, invitedBy })
    expect(await server.mail(1)).toMatchObject({
      kind: 'invite',
      to: BOB,
      subject: `${ALICE} invites you to Groceries <&> "more"`,
      variables: { originName: 'localhost:5173', origin: APP },
    })
    expect((await server.alice.post('/my/members', row)).status).toBe(200)
    await server.root.post('/all/members', { ...row, roles: ['doer'] })
    await server.invite({ email: 'carol@example.com' })
    expect(server.mails()).toHaveLength(2)
  })

  test('goes out from /all and /public too, but not for a row that creates a member at once', async () => {
    await using server = await setupSharing()
    const { realmId, root } = server
    await root.post('/all/members', [
      { id: 'mmb1', realmId, email: 'one@example.com', invite: true },
      { id: 'mmb2', realmId, email: 'two@example.com', userId: 'two@example.com', invite: true },
    ])
    await root.post('/public/members', { email: 'three@example.com', invite: true })
    await server.mail(2)
    expect(
      server
        .mails()
        .map(({ to }) => to)
        .toSorted(),
    ).toEqual(['one@example.com', 'three@example.com'])
    expect((await root.get('/all/members/mmb2')).body).not.toHaveProperty('invitedBy')
  })

  test('does not go out from an import', async () => {
    await using server = await setupSharing()
    const { realmId } = server
    const upload = new Blob([
      JSON.stringify({ data: { [realmId]: { members: { mmb1: { email: BOB, invite: true } } } } }),
    ]).stream()
    await server.commands.run('import', PLAIN_IMPORT, { upload })
    await server.invite({ email: 'carol@example.com' })
    expect(server.mails()).toHaveLength(1)
    expect((await server.root.get('/all/members/mmb1')).body).toEqual({
      id: 'mmb1',
      realmId,
      owner: null,
      email: BOB,
      invite: true,
    })
  })

  test('is not stored if no mail can be sent, or if the public address is unknown', async () => {
    for (const [code, flags] of [
      ['MAIL_NOT_CONFIGURED', { publicUrl: 'https://db.example.com' }],
      [
        'NO_PUBLIC_ADDRESS',
        { host: '0.0.0.0', smtpUrl: 'smtp://127.0.0.1:9', mailFrom: 'a@b.example' },
      ],
    ] as const) {
      await using server = await setupSharing(flags)
      const { alice, realmId } = server
      const answer = await alice.post('/my/members', { realmId, email: BOB, invite: true })
      expect(answer).toMatchObject({ status: 503, body: { code } })
      expect(await server.rows()).toEqual([])
      expect((await alice.post('/my/members', { realmId, email: BOB })).status).toBe(200)
    }
  })

  test('beyond the most that one address gets is 429 with when to try again', async () => {
    await using server = await setupSharing()
    for (let n = 0; n < 10; n += 1) await server.invite()
    const { alice, realmId } = server
    const answer = await alice.post('/my/members', { realmId, email: BOB, invite: true })
    expect(answer).toMatchObject({
      status: 429,
      body: { code: 'TOO_MANY_REQUESTS', reason: 'invite' },
    })
    expect(answer.headers.get('retry-after')).toBe('86400')
    expect(await server.rows()).toHaveLength(10)
  })
})

describe('the page of an invitation', () => {
  test('shows who invites whom to what, as text, and runs, loads, frames and keeps nothing', async () => {
    await using server = await setupSharing()
    const { link, row } = await server.invite()
    expect(link).toStartWith(`${server.main}/invitation?token=`)
    const answer = await open(link)
    expect(answer.status).toBe(200)
    const headers = Object.fromEntries(answer.headers)
    expect(headers).toMatchObject({
      'content-type': 'text/html;charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-robots-tag': 'noindex',
    })
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'$/,
    )
    expect(headers['set-cookie']).toBeUndefined()
    const html = await answer.text()
    expect(html).toContain('Groceries &#60;&#38;&#62; &#34;more&#34;')
    for (const text of [ALICE, BOB, 'localhost:5173', 'noindex']) expect(html).toContain(text)
    expect(html).not.toContain('<script')
    expect(html).not.toContain(new URL(link).searchParams.get('token'))
    // Looking, as programs that search mails for harm do, is no answer.
    expect((await fetch(link, { method: 'HEAD' })).status).toBe(200)
    expect(await server.rows()).toEqual([row])
  })

  test('conformance 126: accepts, and the person and the inviter see it', async () => {
    await using server = await setupSharing()
    const { link } = await server.invite()
    const answer = await press(link, 'accept')
    expect(answer.status).toBe(303)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    const next = new URL(answer.headers.get('location') ?? '', link)
    expect(next.href).toBe(link)
    const html = await (await open(next.href)).text()
    expect(html).toContain('You have joined')
    expect(html).toContain(`href="${APP}/"`)
    expect(html).not.toContain('<form')
    const bob = await server.as(BOB)
    expect((await bob.get('/my/plain/bread')).status).toBe(200)
    expect(objectsOf(await bob.get('/my/realms'))).toMatchObject([{ realmId: server.realmId }])
    expect(await server.rows()).toMatchObject([{ userId: BOB, accepted: DATE }])
    const { body } = await server.root.get(`/users/${BOB}`)
    expect(body).toMatchObject({ userId: BOB, type: 'prod' })
  })

  test('conformance 127: declines, and may be asked again', async () => {
    await using server = await setupSharing()
    const { link } = await server.invite({}, {})
    expect((await press(link, 'reject')).status).toBe(303)
    const html = await (await open(link)).text()
    expect(html).toContain('You have declined')
    expect(await server.rows()).toMatchObject([{ rejected: DATE }])
    expect((await press(link, 'accept')).status).toBe(303)
    const page = await (await open(link)).text()
    expect(page).toContain('You have joined')
    // No page asked, so none is led to.
    expect(page).not.toContain('href')
  })

  test.each([
    ['', 400, 'This link is incomplete'],
    ['?token=', 400, 'This link is incomplete'],
    ['?token=abc', 400, 'This link is incomplete'],
    [`?token=${'../'.repeat(14)}x`, 400, 'This link is incomplete'],
    [`?token=${'A'.repeat(43)}`, 404, 'This invitation no longer exists'],
  ])('is kind to a link that leads nowhere: %p', async (query, status, title) => {
    await using server = await setupSharing()
    const link = `${server.main}/invitation${query}`
    for (const answer of [await open(link), await press(link, 'accept')]) {
      expect(answer.status).toBe(status)
      expect(answer.headers.get('content-type')).toStartWith('text/html')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('content-security-policy')).toContain("form-action 'none'")
      expect(await answer.text()).toContain(`<h1>${title}</h1>`)
    }
  })

  test('is kind when the invitation is over, or was taken back', async () => {
    await using server = await setupSharing()
    const { link, row } = await server.invite()
    const { link: other } = await server.invite({ email: 'carol@example.com' })
    expect((await server.alice.remove(`/my/members/${String(row['id'])}`)).status).toBe(204)
    const gone = await open(link)
    expect(gone.status).toBe(404)
    expect(await gone.text()).toContain('ask the sender to invite you again.')
    server.clock.advance(30 * 24 * 3_600_000)
    const late = await open(other)
    expect(late.status).toBe(410)
    expect(await late.text()).toContain('<h1>This link has expired</h1>')
  })

  test.each([
    [
      'policy.set',
      { newUsers: 'reject', evalDays: null, seats: null, hookUrl: null },
      'You cannot join yet',
    ],
    [
      'policy.set',
      { newUsers: null, evalDays: null, seats: 0, hookUrl: null },
      'You cannot join yet',
    ],
  ] as const)('explains a rejection by the policy: %p %p', async (name, input, title) => {
    await using server = await setupSharing()
    const { link } = await server.invite()
    await server.commands.run(name, { database: 'main', ...input })
    const answer = await press(link, 'accept')
    expect(answer.status).toBe(403)
    expect(await answer.text()).toContain(`<h1>${title}</h1>`)
    expect(await server.rows()).not.toMatchObject([{ userId: BOB }])
  })

  test('is kind to a user who is deactivated, or whose licence is over', async () => {
    await using server = await setupSharing()
    const { link } = await server.invite()
    for (const [changes, title] of [
      [{ deactivated: true, type: 'prod' }, 'You cannot join'],
      [{ deactivated: false, validUntil: '2029-01-01T00:00:00.000Z' }, 'You cannot answer now'],
    ] as const) {
      expect((await server.root.post('/users', { userId: BOB, ...changes })).status).toBe(200)
      const answer = await press(link, 'accept')
      expect(answer.status).toBe(403)
      expect(await answer.text()).toContain(`<h1>${title}</h1>`)
    }
  })

  test('takes an answer, and only in a form', async () => {
    await using server = await setupSharing()
    const { link, row } = await server.invite()
    const send = (body: string, headers: Record<string, string>) =>
      fetch(link, { method: 'POST', redirect: 'manual', headers, body })
    expect((await send('answer=accept', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await send('{"answer":"accept"}', { 'content-type': 'application/json' })).status).toBe(
      415,
    )
    for (const body of ['', 'answer=', 'answer=Accept', 'accept=answer']) {
      expect((await send(body, FORM)).status).toBe(400)
    }
    expect((await send(`answer=accept&x=${'x'.repeat(20_000)}`, FORM)).status).toBe(413)
    expect(await server.rows()).toEqual([row])
  })

  test('takes no answer that another site sends', async () => {
    await using server = await setupSharing()
    const { link, row } = await server.invite()
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    ]) {
      expect((await press(link, 'accept', headers)).status).toBe(403)
    }
    expect(await server.rows()).toEqual([row])
    // A browser that says where the page is.
    expect((await press(link, 'accept', { origin: server.url })).status).toBe(303)
  })

  test('lets a page without an origin into nothing else', async () => {
    await using server = await setupSharing()
    for (const [method, path] of [
      ['POST', '/my/members'],
      ['POST', '/invitation/x'],
      ['GET', '/invitation'],
    ] as const) {
      const headers = { origin: 'null' }
      const answer = await callerOf(server.main).send(method, path, { headers })
      expect(answer).toMatchObject({ status: 403, body: { code: 'ORIGIN_NOT_ALLOWED' } })
    }
  })

  test('answers programs that ask for JSON alone in JSON', async () => {
    await using server = await setupSharing()
    const headers = { accept: 'application/json' }
    const answer = await fetch(`${server.main}/invitation?token=${'A'.repeat(43)}`, { headers })
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ code: 'UNKNOWN_INVITATION' })
  })

  test('is at the public address of the database, for any host name of the request', async () => {
    await using smtp = await startSmtp()
    const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, mailFrom: 'app@example.com' }
    const publicUrl = 'https://db.example.com/prefix'
    await using server = await setupData({ ...mail, publicUrl })
    const alice = await server.as(ALICE)
    const { body } = await alice.post('/my/realms', { name: 'Boats' })
    const { realmId } = body as { realmId: string }
    await alice.post('/my/members', { realmId, email: BOB, invite: true }, { host: 'evil.example' })
    const { text } = await smtp.next()
    const [, query] =
      /\n(?:https:\/\/db\.example\.com\/prefix\/main\/invitation)(\?token=\S+)\n/.exec(text) ?? []
    const link = `${server.main}/invitation${query}`
    expect((await open(link)).status).toBe(200)
    const pressed = await press(link, 'accept', { origin: 'https://db.example.com' })
    expect(pressed.status).toBe(303)
    expect(pressed.headers.get('location')).toBe(query ?? '')
  })

  test('has its secret in no log', async () => {
    await using smtp = await startSmtp()
    const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, mailFrom: 'app@example.com' }
    await using server = await setupData(mail)
    const alice = await server.as(ALICE)
    const { body } = await alice.post('/my/realms', { name: 'Boats' })
    const { realmId } = body as { realmId: string }
    await alice.post('/my/members', { realmId, email: BOB, invite: true })
    const [link = ''] = /http\S+/.exec((await smtp.next()).text) ?? []
    await open(link)
    await press(link, 'nonsense')
    await press(link, 'accept')
    const secret = new URL(link).searchParams.get('token') ?? ''
    expect(secret).toHaveLength(43)
    expect(server.lines.join('\n')).toContain('"/main/invitation"')
    expect(server.lines.join('\n')).not.toContain(secret)
  })
})
