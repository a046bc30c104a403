import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SMTPServerOptions } from 'smtp-server'
import { parseMailAddress } from '../../src/mail/address'
import { DeliveryError, type Message } from '../../src/mail/message'
import { smtpTransport } from '../../src/mail/smtp'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { otpLetter } from './setup'
import { startSmtp } from './smtp-server'

const clock = createTestClock()
const message: Message = {
  id: 'msg_1',
  letter: otpLetter(clock),
  from: 'Mein Prüfer <test@example.com>',
  subject: 'Hej på dig',
  text: 'Your code is K7QM2XWD\n',
  html: '<p>Your code is <b>K7QM2XWD</b></p>',
  date: clock.now(),
}

const send = (address: string, signal = AbortSignal.timeout(50_000)) => {
  const target = parseMailAddress(address)
  if (target.kind !== 'smtp') throw new Error('not the address of a mail server')
  return smtpTransport(target)(message, signal)
}

async function refusal(work: Promise<void>): Promise<DeliveryError> {
  try {
    await work
  } catch (error) {
    if (error instanceof DeliveryError) return error
    throw error
  }
  throw new Error('this was taken')
}

describe('a mail server without encryption', () => {
  test('gets text and HTML, under the clock of the server', async () => {
    await using smtp = await startSmtp()
    await send(`smtp://127.0.0.1:${smtp.port}`)
    const mail = await smtp.next()
    expect(mail).toMatchObject({
      from: 'test@example.com',
      to: ['alice@example.com'],
      text: 'Your code is K7QM2XWD',
      html: '<p>Your code is <b>K7QM2XWD</b></p>',
      isEncrypted: false,
    })
    expect(mail.headers.get('subject')).toBe('Hej på dig')
    expect(mail.headers.get('from')).toBe('Mein Prüfer <test@example.com>')
    expect(mail.headers.get('to')).toBe('alice@example.com')
    expect(mail.headers.get('auto-submitted')).toBe('auto-generated')
    expect(Date.parse(mail.headers.get('date') ?? '')).toBe(clock.now())
  })

  test('gets a password on this machine', async () => {
    await using smtp = await startSmtp(withUsers({ allowInsecureAuth: true }))
    await send(`smtp://me:secret@127.0.0.1:${smtp.port}`)
    expect((await smtp.next()).user).toBe('me')
  })

  test('refuses a wrong password, which another try may put right', async () => {
    await using smtp = await startSmtp(withUsers({ allowInsecureAuth: true }))
    const error = await refusal(send(`smtp://me:wrong@127.0.0.1:${smtp.port}`))
    expect(error.isFinal).toBe(false)
  })

  test('has the last word about a recipient', async () => {
    const refusing = (code: number): SMTPServerOptions => ({
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error('No such mailbox'), { responseCode: code })),
    })
    await using forEver = await startSmtp(refusing(550))
    expect(await refusal(send(`smtp://127.0.0.1:${forEver.port}`))).toMatchObject({ isFinal: true })
    await using today = await startSmtp(refusing(450))
    expect(await refusal(send(`smtp://127.0.0.1:${today.port}`))).toMatchObject({ isFinal: false })
  })

  test('that is not there is tried again', async () => {
    const gone = await startSmtp()
    await gone[Symbol.asyncDispose]()
    expect(await refusal(send(`smtp://127.0.0.1:${gone.port}`))).toMatchObject({ isFinal: false })
  })

  test('that does not answer is let go when the server stops', async () => {
    await using smtp = await startSmtp({ onConnect: () => undefined })
    const error = await refusal(send(`smtp://127.0.0.1:${smtp.port}`, AbortSignal.timeout(50)))
    expect(error.message).toBe('Message sending aborted')
    expect(error.isFinal).toBe(false)
  })
})

describe.if(Bun.which('openssl') !== null)('a mail server with encryption', () => {
  const folder = temporaryFolder()
  const file = (name: string) => join(folder.path, name)
  let pair: { key: Buffer; cert: Buffer }

  beforeAll(() => {
    const request = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=smtp'
    const files = '-addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem'
    Bun.spawnSync(['openssl', 'req', '-x509', ...`${request} ${files}`.split(' ')], {
      cwd: folder.path,
      stderr: 'ignore',
    })
    pair = { key: readFileSync(file('key.pem')), cert: readFileSync(file('cert.pem')) }
  })
  afterAll(() => folder[Symbol.dispose]())

  test('is spoken to in STARTTLS, with a name and password', async () => {
    await using smtp = await startSmtp(withUsers({ ...pair, disabledCommands: [] }))
    await send(`smtp://me:secret@127.0.0.1:${smtp.port}?tls=required&ca=${file('cert.pem')}`)
    expect(await smtp.next()).toMatchObject({ isEncrypted: true, user: 'me' })
  })

  test('is spoken to in TLS from the first byte', async () => {
    await using smtp = await startSmtp({ ...pair, secure: true })
    await send(`smtps://127.0.0.1:${smtp.port}?ca=${file('cert.pem')}`)
    expect(await smtp.next()).toMatchObject({ isEncrypted: true })
  })

  test('gets no password without a valid certificate', async () => {
    const logins: string[] = []
    await using smtp = await startSmtp({
      ...withUsers({ ...pair, disabledCommands: [] }),
      onAuth: (auth, _session, done) => {
        logins.push(auth.username ?? '')
        done(null, { user: auth.username })
      },
    })
    expect(
      await refusal(send(`smtp://me:secret@127.0.0.1:${smtp.port}?tls=required`)),
    ).toMatchObject({ isFinal: false })
    await using other = await startSmtp({ ...pair, secure: true })
    expect(await refusal(send(`smtps://127.0.0.1:${other.port}`))).toMatchObject({ isFinal: false })
    expect({ logins, mails: [...smtp.mails, ...other.mails] }).toEqual({ logins: [], mails: [] })
  })

  test('is encrypted to even so when there is no password: better than not', async () => {
    await using smtp = await startSmtp({ ...pair, disabledCommands: [] })
    await send(`smtp://127.0.0.1:${smtp.port}`)
    expect(await smtp.next()).toMatchObject({ isEncrypted: true })
  })

  test('that must encrypt and does not gets nothing', async () => {
    await using smtp = await startSmtp()
    const error = await refusal(send(`smtp://127.0.0.1:${smtp.port}?tls=required`))
    expect(error.isFinal).toBe(false)
    expect(smtp.mails).toEqual([])
  })

  test('whose certificate cannot be read gets nothing', async () => {
    await using smtp = await startSmtp({ ...pair, secure: true })
    const error = await refusal(send(`smtps://127.0.0.1:${smtp.port}?ca=${file('none.pem')}`))
    expect(error.message).toContain('none.pem')
  })
})

function withUsers(options: SMTPServerOptions): SMTPServerOptions {
  return {
    authOptional: false,
    onAuth: ({ username = '', password }, _session, done) =>
      password === 'secret' ? done(null, { user: username }) : done(new Error('Wrong password')),
    ...options,
  }
}
