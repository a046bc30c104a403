import { postJson } from '../http/setup'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { startSmtp, type TestSmtp } from '../mail/smtp-server'
import { temporaryFolder } from '../setup'
import { satchel, satchelJson, serve } from './setup'

const ALICE = 'alice@example.com'
const FROM = 'My App <app@example.com>'

const asksForPassword = {
  authOptional: false,
  allowInsecureAuth: true,
  onAuth: ({ username = '', password = '' }, _session, done) =>
    password === 'pa55word' ? done(null, { user: username }) : done(new Error('Wrong password')),
} satisfies Parameters<typeof startSmtp>[0]

async function post(main: string, parameters: object) {
  const answer = await postJson(`${main}/token`, {
    grant_type: 'otp',
    scopes: ['ACCESS_DB'],
    ...parameters,
  })
  const body = (await answer.json()) as { otp_id: string; accessToken: string; userId: string }
  return { status: answer.status, body }
}

async function readCode(smtp: TestSmtp): Promise<string> {
  const { text } = await smtp.next()
  return /^ {4}(\S+)$/m.exec(text)?.[1] ?? ''
}

test('the executable logs people in through a mail server with a password', async () => {
  await using smtp = await startSmtp(asksForPassword)
  using folder = temporaryFolder()
  const environment = {
    SATCHEL_SMTP_URL: `smtp://app:pa55word@127.0.0.1:${smtp.port}`,
    SATCHEL_MAIL_FROM: FROM,
  }
  const surroundings = { cwd: folder.path, environment }
  const server = await serve(surroundings)
  const main = `${server.ready.url}/main`
  const { body } = await post(main, { email: 'Alice@Example.com' })
  const otp = await readCode(smtp)
  const given = await post(main, { email: ALICE, otp_id: body.otp_id, otp })
  expect(given).toMatchObject({ status: 200, body: { userId: ALICE } })
  const headers = { authorization: `Bearer ${given.body.accessToken}` }
  expect((await fetch(`${main}/my/realms`, { headers })).status).toBe(200)
  await server[Symbol.asyncDispose]()
  const told = (await server.rest) + (await server.log)
  for (const secret of ['pa55word', otp, body.otp_id]) expect(told).not.toContain(secret)
})

test('a mail that a killed server owes is sent by the next one', async () => {
  let isOpen = false
  await using smtp = await startSmtp({
    onConnect: (_session, done) =>
      done(isOpen ? undefined : Object.assign(new Error('Closed'), { responseCode: 421 })),
  })
  using folder = temporaryFolder()
  const environment = {
    SATCHEL_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    SATCHEL_MAIL_FROM: FROM,
  }
  const surroundings = { cwd: folder.path, environment }
  const killed = await serve(surroundings)
  const { body } = await post(`${killed.ready.url}/main`, { email: ALICE })
  killed.kill('SIGKILL')
  await killed.exited
  isOpen = true
  await using server = await serve(surroundings)
  const otp = await readCode(smtp)
  const { status } = await post(`${server.ready.url}/main`, { otp_id: body.otp_id, otp })
  expect(status).toBe(200)
})

test('a mail that a server was killed over comes again', async () => {
  const taken = Promise.withResolvers<void>()
  await using smtp = await startSmtp({
    // It has the mail, and does not say so.
    onData(stream) {
      stream.on('end', () => taken.resolve()).resume()
    },
  })
  using folder = temporaryFolder()
  const { port } = smtp
  const environment = {
    SATCHEL_SMTP_URL: `smtp://127.0.0.1:${port}`,
    SATCHEL_MAIL_FROM: FROM,
  }
  const surroundings = { cwd: folder.path, environment }
  const killed = await serve(surroundings)
  await post(`${killed.ready.url}/main`, { email: ALICE })
  await taken.promise
  killed.kill('SIGKILL')
  await killed.exited
  await smtp[Symbol.asyncDispose]()
  await using late = await startSmtp({}, port)
  await using _ = await serve(surroundings)
  expect((await late.next()).to).toEqual([ALICE])
})

test('in development the code is a line of JSON for programs', async () => {
  using folder = temporaryFolder()
  const server = await serve({ cwd: folder.path }, ['--memory'])
  const { body } = await post(`${server.ready.url}/main`, { email: ALICE })
  const line = await server.logged((text) => text.includes('"logger":"mail"'))
  await server[Symbol.asyncDispose]()
  expect(JSON.parse(line)).toMatchObject({
    kind: 'otp',
    to: ALICE,
    variables: { otp_id: body.otp_id, otp: expect.stringMatching(/^\w{8}$/) },
  })
})

test.each(['while a server runs', 'while no server runs'])(
  'mail and template do their work %s',
  async (situation) => {
    await using smtp = await startSmtp(asksForPassword)
    using folder = temporaryFolder()
    const surroundings = { cwd: folder.path }
    await using undo = new AsyncDisposableStack()
    const server = await serve(surroundings)
    if (situation === 'while a server runs') undo.use(server)
    else await server[Symbol.asyncDispose]()
    const address = new Blob([`smtp://app:pa55word@127.0.0.1:${smtp.port}\n`])
    const set = ['mail', 'set', '--address-file', '-', '--from', FROM]
    expect((await satchel(set, surroundings, address)).stdout).toBe(
      `Mails go to smtp://app@127.0.0.1:${smtp.port}\nThe sender is ${FROM}\n`,
    )
    const template = join(folder.path, 'own.handlebars')
    await Bun.write(template, 'Kod {{{otp}}} åt {{{email}}}')
    await satchel(['template', 'set', 'otp-subject', template], surroundings)
    const sent = await satchelJson<unknown>(['mail', 'test', '--to', ALICE], surroundings)
    expect(sent).toMatchObject({ from: FROM, isOwn: true })
    const mail = await smtp.next()
    expect(mail.headers.get('subject')).toBe(`Kod ABCD1234 åt ${ALICE}`)
    expect(mail).toMatchObject({ user: 'app', to: [ALICE] })
    await satchel(['template', 'reset', 'otp-subject'], surroundings)
    const shown = await satchel(['template', 'show', 'otp-subject'], surroundings)
    expect(shown.stdout).toContain('is your code for')
  },
)
