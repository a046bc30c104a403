import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import type { MailVariables } from '../../src/domain/mailer'
import { openSession } from '../../src/control/session'
import { HOUR } from '../auth/setup'
import { wrongCode } from '../auth/otp-setup'
import { startSmtp } from '../mail/smtp-server'
import { setupServer, type TestServer } from '../setup'

const ALICE = 'alice@example.com'
const APP = 'http://localhost:5173'
const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const public_key = publicKey.export({ type: 'spki', format: 'pem' }).toString()

interface Body {
  readonly [name: string]: unknown
  readonly otp_id: string
  readonly accessToken: string
}

async function setupLogin(flags: Readonly<Record<string, unknown>> = {}) {
  const server = await setupServer(flags)
  const send = (parameters: object, headers: Record<string, string> = {}) =>
    fetch(`${server.main}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(parameters),
    })
  const ask = (changes: object = {}, headers: Record<string, string> = {}) =>
    send({ grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], ...changes }, headers)
  return {
    ...server,
    send,
    ask,
    give: (otp_id: string, otp: string, changes: object = {}) => ask({ otp_id, otp, ...changes }),
    mail: () => printedMail(server),
    commands: await openSession(server.folder, () => undefined),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const bodyOf = async (answer: Response) => (await answer.json()) as Body

interface PrintedMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly variables: MailVariables['otp']
}

/** The newest mail on the terminal; mails are printed soon after the answer. */
async function printedMail({ lines }: TestServer): Promise<PrintedMail> {
  for (let tries = 0; tries < 100; tries++) {
    const line = lines.findLast((line) => line.includes('"logger":"mail"'))
    if (line !== undefined) return JSON.parse(line) as PrintedMail
    await Bun.sleep(10)
  }
  throw new Error('no mail was printed')
}

describe('a login by e-mail over HTTP', () => {
  test('conformance 68, 69, 76: step 1 sends a code, step 2 gives tokens for it', async () => {
    await using server = await setupLogin()
    const first = await server.ask()
    expect(first.status).toBe(200)
    expect(first.headers.get('cache-control')).toBe('no-store')
    const sent = await bodyOf(first)
    expect(Object.keys(sent)).toEqual(['type', 'otp_id'])
    expect(sent['type']).toBe('otp-sent')
    const { to, variables } = await server.mail()
    expect(to).toBe(ALICE)
    const second = await server.give(sent.otp_id, variables.otp, { public_key })
    expect(second.status).toBe(200)
    const tokens = await bodyOf(second)
    expect(tokens).toMatchObject({
      type: 'tokens',
      claims: { sub: ALICE, email: ALICE, license: 'ok' },
      accessTokenExpiration: server.clock.now() + HOUR,
      refreshToken: expect.any(String),
      userType: 'prod',
    })
    const headers = { authorization: `Bearer ${tokens.accessToken}` }
    expect((await fetch(`${server.main}/my/members`, { headers })).status).toBe(200)
    expect((await fetch(`${server.main}/all/members`, { headers })).status).toBe(403)
  })

  test('conformance 69, 14: a wrong code is 401 with a sentence to show, while it may be tried again', async () => {
    await using server = await setupLogin()
    const { otp_id } = await bodyOf(await server.ask())
    const { otp } = (await server.mail()).variables
    const answer = await server.give(otp_id, wrongCode(otp))
    expect(answer.status).toBe(401)
    expect(answer.headers.get('content-type')).toStartWith('text/plain')
    expect(await answer.text()).toBe('This code is not right: you can try 4 more times')
    for (let tries = 0; tries < 3; tries++) await server.give(otp_id, wrongCode(otp))
    const over = await server.give(otp_id, wrongCode(otp))
    expect(over.status).toBe(403)
    expect(await bodyOf(over)).toMatchObject({
      code: 'OTP_EXPIRED',
      message: 'This code is no longer valid: ask for a new one',
    })
    expect((await server.give(otp_id, otp)).status).toBe(403)
  })

  test('conformance 72: the policy is told in JSON with a code, at step 2', async () => {
    await using server = await setupLogin()
    const { otp_id } = await bodyOf(await server.ask({ intent: 'login' }))
    const { otp } = (await server.mail()).variables
    const answer = await server.give(otp_id, otp, { intent: 'login' })
    expect(answer.status).toBe(403)
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    expect(await bodyOf(answer)).toMatchObject({
      code: 'USER_NOT_REGISTERED',
      message: expect.any(String),
    })
  })

  test.each([
    [{ email: 'alice' }, 400, 'That is no e-mail address'],
    [{ scopes: ['ROOT'] }, 400, 'These scopes cannot be granted: "ROOT"'],
    [{ intent: 'steal' }, 400, '"intent" must be "login" or "register"'],
    [{ otp: 'K7QM2XWD' }, 400, '"otp_id" is missing or not a string'],
  ])('says of %p one sentence of text', async (changes, status, sentence) => {
    await using server = await setupLogin()
    const answer = await server.ask(changes)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toStartWith('text/plain')
    expect(await answer.text()).toBe(sentence)
  })

  test('says in text when to try again', async () => {
    await using server = await setupLogin()
    for (let asked = 0; asked < 10; asked++) await server.ask()
    const answer = await server.ask()
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('3600')
    expect(await answer.text()).toBe('Too many login attempts: try again in 60 minutes')
  })

  test('conformance 71: demo users need no code, and others are refused in JSON', async () => {
    await using server = await setupLogin()
    const upload = new Blob([JSON.stringify({ demoUsers: { 'foo@demo.local': {} } })]).stream()
    const nothing = { table: null, realm: null, atomic: false, dryRun: false, size: null }
    await server.commands.run('import', { database: 'main', ...nothing }, { upload })
    const demo = (demo_user: string) =>
      server.send({ grant_type: 'demo', demo_user, scopes: ['ACCESS_DB'], public_key })
    expect(await bodyOf(await demo('foo@demo.local'))).toMatchObject({
      claims: { sub: 'foo@demo.local', email: 'foo@demo.local' },
      userType: 'demo',
    })
    const refused = await demo('bar@demo.local')
    expect(refused.status).toBe(403)
    expect(await bodyOf(refused)).toMatchObject({ code: 'USER_NOT_REGISTERED' })
  })

  test('conformance 38: the SDK logs in with its own words', async () => {
    await using server = await setupLogin()
    expect((await server.send({ grant_type: 'otp-email', email: ALICE })).status).toBe(200)
    const { otp } = (await server.mail()).variables
    const answer = await server.send({ grant_type: 'otp-token', email: ALICE, otp })
    expect(await bodyOf(answer)).toMatchObject({ userId: ALICE, accessToken: expect.any(String) })
  })

  test('conformance 78: the owner of a client that may do everything logs in as another', async () => {
    await using server = await setupLogin()
    await server.token({ sub: 'bob@example.com' })
    const scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
    const owned = { database: 'main', scopes, name: null, email: ALICE }
    await server.commands.run('client.create', owned)
    const email = `${ALICE} as bob@example.com`
    const { otp_id } = await bodyOf(await server.ask({ email }))
    const { to, variables } = await server.mail()
    expect(to).toBe(ALICE)
    const answer = await bodyOf(await server.give(otp_id, variables.otp, { email }))
    expect(answer).toMatchObject({ userId: 'bob@example.com' })
  })

  test('names the page in the mail, and links to it', async () => {
    await using server = await setupLogin()
    const answer = await server.ask({}, { origin: APP })
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP)
    const { subject, text, variables } = await server.mail()
    expect(subject).toBe(`${variables.otp} is your code for localhost:5173`)
    expect(text).toContain(`\n${APP}/?otpId=${variables.otp_id}&otp=${variables.otp}\n`)
  })

  test('sends nothing for a page that is not listed', async () => {
    await using server = await setupLogin()
    const answer = await server.ask({}, { origin: 'https://evil.example' })
    expect(answer.status).toBe(403)
    expect(server.lines.join('')).not.toContain('"logger":"mail"')
  })
})

describe('mail that is not configured', () => {
  test('is printed in development, and said to be missing once a proxy was seen', async () => {
    await using server = await setupLogin()
    expect((await server.ask()).status).toBe(200)
    expect((await server.mail()).text).toContain('This is the code')
    const answer = await server.ask({}, { 'x-forwarded-for': '203.0.113.9' })
    expect(answer.status).toBe(503)
    expect(answer.headers.get('content-type')).toStartWith('text/plain')
    expect(await answer.text()).toStartWith('Mail is not configured here')
  })

  test('is missing from the start with a public address', async () => {
    await using server = await setupLogin({ publicUrl: 'https://data.example.com' })
    expect((await server.ask()).status).toBe(503)
  })

  test('does not keep demo users out', async () => {
    await using server = await setupLogin({ publicUrl: 'https://data.example.com' })
    const answer = await server.send({
      grant_type: 'demo',
      demo_user: 'foo@demo.local',
      scopes: ['ACCESS_DB'],
    })
    expect(answer.status).toBe(403)
  })
})

test('a mail server that is slow or down keeps nobody waiting', async () => {
  await using smtp = await startSmtp({ onConnect: () => undefined })
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
  await using server = await setupLogin({ smtpUrl, mailFrom: 'app@example.com' })
  const begin = performance.now()
  const answer = await server.ask()
  expect(answer.status).toBe(200)
  expect(performance.now() - begin).toBeLessThan(500)
})

test('no code, address of a mail server or password is in the log when mails are sent', async () => {
  await using smtp = await startSmtp({
    allowInsecureAuth: true,
    onAuth: (_auth, _session, done) => done(null, { user: 'me' }),
    onRcptTo: (_address, _session, done) =>
      done(Object.assign(new Error('No such mailbox'), { responseCode: 550 })),
  })
  await using server = await setupLogin({ publicUrl: 'https://data.example.com' })
  const address = `smtp://me:pa55word@127.0.0.1:${smtp.port}`
  const upload = new Blob([address]).stream()
  await server.commands.run('mail.set', { database: 'main', sender: 'app@example.com' }, { upload })
  const { otp_id } = await bodyOf(await server.ask())
  for (let tries = 0; tries < 100 && !server.lines.join('').includes('given up'); tries++) {
    await Bun.sleep(10)
  }
  const log = server.lines.join('\n')
  expect(log).toContain('A mail was given up')
  expect(log).toContain('No such mailbox')
  for (const secret of ['pa55word', otp_id, 'is your code']) expect(log).not.toContain(secret)
})
