import { describe, expect, test } from 'bun:test'
import { OTP_LIMITS } from '../../src/auth/limits'
import { openSession } from '../../src/control/session'
import { DAY, MINUTE } from '../../src/domain/value/time'
import { codeOf, createTestClock } from '../auth/setup'
import { ALICE, setupLogin } from '../http/login-setup'
import { otpLetter } from '../mail/setup'
import { startSmtp } from '../mail/smtp-server'
import { until } from '../timing'
import { callerWith, setupOperations } from './setup'

const MAIN = { database: 'main' }

/** A server with a code for Alice on its way. */
async function setup(flags: Readonly<Record<string, unknown>> = {}) {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await setupLogin(flags))
  const session = stack.use(await openSession(server.folder, () => undefined))
  expect((await server.ask()).status).toBe(200)
  const list = () => session.run('mail.list', MAIN)
  const owned = stack.move()
  return {
    server,
    session,
    list,
    /** The newest mail, once it is in this state. */
    async until(state: string) {
      await until(async () => (await list()).mails.some((mail) => mail.state === state))
      return (await list()).mails[0]!
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

describe('mail.list', () => {
  test('shows the code of a printed mail in development', async () => {
    await using scene = await setup()
    const mail = await scene.until('printed')
    expect(mail).toMatchObject({ to: ALICE, kind: 'otp', attempts: 1, failure: null })
    expect(mail.otp).toMatch(/^[A-Z0-9]{8}$/)
    expect(mail.subject).toContain('code')
  })

  test('tells whether a code was used, or has expired', async () => {
    await using scene = await setup()
    const { id, otpState } = await scene.until('printed')
    expect(otpState).toBe('open')
    const { otp_id, otp } = (await scene.server.mail()).variables
    expect((await scene.server.give(otp_id, otp)).status).toBe(200)
    const states = async () => (await scene.list()).mails.map((mail) => mail.otpState)
    expect(await states()).toEqual(['used'])
    const read = await scene.session.run('mail.read', { ...MAIN, id })
    expect(read.otpState).toBe('used')
    scene.server.clock.advance(MINUTE)
    await scene.server.ask()
    await until(async () => (await states()).length === 2)
    expect(await states()).toEqual(['open', 'used'])
    scene.server.clock.advance(DAY)
    expect(await states()).toEqual(['expired', 'used'])
  })

  test('tells that a code was tried too often', async () => {
    await using scene = await setup()
    await scene.until('printed')
    const { otp_id } = (await scene.server.mail()).variables
    for (let tries = 0; tries < OTP_LIMITS.tries; tries += 1) {
      expect((await scene.list()).mails.map(({ otpState }) => otpState)).toEqual(['open'])
      expect((await scene.server.give(otp_id, 'WRONG234')).status).not.toBe(200)
    }
    expect((await scene.list()).mails.map(({ otpState }) => otpState)).toEqual(['expired'])
  })

  test('shows recipient, kind and state alone elsewhere, and keeps no contents', async () => {
    await using smtp = await startSmtp()
    const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
    const publicUrl = 'https://data.example.com'
    await using scene = await setup({ smtpUrl, publicUrl, mailFrom: 'app@example.com' })
    const mail = await scene.until('sent')
    const hidden = { subject: null, otp: null, link: null }
    expect(mail).toMatchObject({ to: ALICE, kind: 'otp', ...hidden })
    const read = await scene.session.run('mail.read', { ...MAIN, id: mail.id })
    expect(read).toMatchObject({ ...hidden, text: null, html: null, raw: null })
  })

  test('hides contents that were kept, once the server is no longer in development', async () => {
    await using scene = await setup()
    const { id } = await scene.until('printed')
    await fetch(scene.server.url, { headers: { 'x-forwarded-for': '203.0.113.9' } })
    const { mails, isShown } = await scene.list()
    expect(isShown).toBe(false)
    expect(mails[0]).toMatchObject({ otp: null, subject: null })
    const read = await scene.session.run('mail.read', { ...MAIN, id })
    expect(read.text).toBeNull()
  })

  test('shows why a mail waits, and lets it be tried again or deleted', async () => {
    let isUp = false
    await using smtp = await startSmtp({
      onRcptTo: (_address, _session, done) =>
        done(isUp ? undefined : Object.assign(new Error('Later <b>'), { responseCode: 450 })),
    })
    await using scene = await setup({
      smtpUrl: `smtp://127.0.0.1:${smtp.port}`,
      mailFrom: 'app@example.com',
    })
    const { session, list } = scene
    await until(async () => (await list()).mails[0]?.failure !== null)
    const [waiting] = (await list()).mails
    expect(waiting).toMatchObject({ state: 'waiting', to: ALICE, attempts: 1 })
    expect(waiting?.failure).toContain('Later <b>')
    expect(waiting?.otp).toMatch(/^[A-Z0-9]{8}$/)
    const { id } = waiting!
    expect(await session.run('mail.read', { ...MAIN, id })).toMatchObject({ id, text: null })
    isUp = true
    await session.run('mail.retry', { ...MAIN, id })
    const sent = await scene.until('sent')
    expect(sent).toMatchObject({ id, otp: waiting?.otp ?? '' })
    await session.run('mail.delete', { ...MAIN, id })
    expect((await list()).mails).toEqual([])
    for (const name of ['mail.read', 'mail.retry', 'mail.delete'] as const) {
      expect(await codeOf(() => session.run(name, { ...MAIN, id }))).toBe('UNKNOWN_OBJECT')
    }
    const { lines } = await session.run('audit.list', { ...MAIN })
    const own = lines.filter(({ operation }) => operation.startsWith('mail.'))
    expect(own.map(({ operation, result }) => `${operation} ${result}`)).toEqual([
      'mail.retry done',
      'mail.delete done',
      'mail.retry UNKNOWN_OBJECT',
      'mail.delete UNKNOWN_OBJECT',
    ])
  })

  test('shows a mail that was given up, with the reason', async () => {
    await using smtp = await startSmtp({
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error('No such mailbox'), { responseCode: 550 })),
    })
    await using scene = await setup({
      smtpUrl: `smtp://127.0.0.1:${smtp.port}`,
      mailFrom: 'app@example.com',
    })
    const mail = await scene.until('failed')
    expect(mail).toMatchObject({ to: ALICE, otp: null })
    expect(mail.failure).toContain('No such mailbox')
  })
})

test('mail.read shows text, HTML and source of a mail', async () => {
  await using scene = await setup()
  const { id, otp } = await scene.until('printed')
  const mail = await scene.session.run('mail.read', { ...MAIN, id })
  expect(mail.text).toContain(otp)
  expect(mail.html).toContain('<')
  expect(mail.raw).toMatch(/\r\nFrom: .*\r\nTo: alice@example\.com\r\nSubject: /)
})

test('each mail that waits is read, also where the list is shorter', async () => {
  await using server = await setupOperations()
  const { mailer, database } = await server.folder.hosts.open('main')
  await mailer.configure({ address: 'smtp://127.0.0.1:1', sender: 'app@example.com' })
  await database.write((tx) => {
    for (let n = 0; n < 150; n += 1) mailer.post(tx, otpLetter(createTestClock()))
  })
  expect((await server.run('mail.list')).mails).toHaveLength(100)
  const waiting = await mailer.waiting(1_000)
  expect(waiting).toHaveLength(150)
  for (const { id } of waiting) {
    expect(await server.run('mail.read', { id })).toMatchObject({ id, state: 'waiting' })
  }
  const unknown = { id: 'msg_unknown' }
  expect(await codeOf(() => server.run('mail.read', unknown))).toBe('UNKNOWN_OBJECT')
})

test('mails of a user who is deleted are forgotten', async () => {
  await using scene = await setup()
  await scene.until('printed')
  await scene.session.run('user.write-all', { ...MAIN, users: { userId: ALICE, type: 'prod' } })
  await scene.session.run('user.delete', { ...MAIN, user: ALICE })
  expect((await scene.list()).mails).toEqual([])
})

test('mails are for callers who manage the database', async () => {
  await using server = await setupOperations()
  const list = () => server.run('mail.list', {}, callerWith('ACCESS_DB', 'GLOBAL_READ'))
  expect(await codeOf(list)).toBe('NOT_AUTHORIZED')
  expect(await server.run('mail.list', {}, callerWith('MANAGE_DB'))).toEqual({
    mails: [],
    isShown: false,
  })
})
