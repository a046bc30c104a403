import { describe, expect, test } from 'bun:test'
import { startSmtp } from '../mail/smtp-server'
import { bodyOf, setupLogin } from './login-setup'
import { until } from '../timing'

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

  test('is printed where a setting says so, beyond development too', async () => {
    await using server = await setupLogin({
      publicUrl: 'https://data.example.com',
      printMails: true,
    })
    expect((await server.ask()).status).toBe(200)
    expect((await server.mail()).text).toContain('This is the code')
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

test('a mail server that is slow or down delays no caller', async () => {
  await using smtp = await startSmtp({ onConnect: () => undefined })
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
  await using server = await setupLogin({ smtpUrl, mailFrom: 'app@example.com' })
  const answer = await server.ask()
  expect(answer.status).toBe(200)
  // The mail server has still not answered: that would be a mail that is tried again.
  expect(server.lines.join('\n')).not.toContain('A mail did not go')
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
  await until(() => server.lines.join('').includes('given up'))
  const log = server.lines.join('\n')
  expect(log).toContain('A mail was given up')
  expect(log).toContain('No such mailbox')
  expect(log).not.toContain('stack')
  for (const secret of ['pa55word', otp_id, 'is your code']) expect(log).not.toContain(secret)
})
