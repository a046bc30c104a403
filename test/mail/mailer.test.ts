import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { createVault } from '../../src/auth/key/seal'
import { DAY, HOUR, MINUTE, refusalOf, SECOND } from '../auth/setup'
import { turns, until } from '../timing'
import { ALICE, otpLetter, setupMailer } from './setup'
import { startSmtp } from './smtp-server'

describe('a mail', () => {
  test('goes after the unit that made it necessary', async () => {
    await using smtp = await startSmtp()
    await using server = await setupMailer({ address: `smtp://127.0.0.1:${smtp.port}` })
    await server.post()
    const mail = await smtp.next()
    expect(mail.from).toBe('test@example.com')
    expect(mail.to).toEqual([ALICE])
    expect(mail.headers.get('subject')).toBe('K7QM2XWD is your code for app.example.com')
    expect(mail.text).toContain('    K7QM2XWD\n')
    expect(mail.html).toContain('>K7QM2XWD</p>')
    await server.mailer.idle()
    expect(await server.waiting()).toBe(0)
    expect(server.failures).toEqual([])
  })

  test('does not go when its unit fails', async () => {
    await using server = await setupMailer({ isPrinting: () => true })
    const failing = server.database.write((tx) => {
      server.mailer.post(tx, otpLetter(server.clock))
      throw new Error('changed my mind')
    })
    expect(failing).rejects.toThrow('changed my mind')
    await server.post()
    await server.mailer.idle()
    expect(server.printed).toHaveLength(1)
  })

  test('lies in the database file so that only the secret key opens it', async () => {
    await using server = await setupMailer({ address: 'smtp://127.0.0.1:1' })
    await server.post()
    const [mail] = await server.database.read((tx) => tx.mails.due(server.clock.now(), 1))
    expect(JSON.stringify(mail)).not.toMatch(/K7QM2XWD|alice/)
  })

  test('is tried again, less and less often, until it goes', async () => {
    await using smtp = await startSmtp()
    const { port } = smtp
    await smtp[Symbol.asyncDispose]()
    await using server = await setupMailer({ address: `smtp://127.0.0.1:${port}` })
    await server.post(otpLetter(server.clock, { expires: server.clock.now() + DAY }))
    const pauses: number[] = []
    for (let tries = 0; tries < 7; tries++) {
      await server.mailer.idle()
      const due = await server.database.read((tx) => tx.mails.due(Infinity, 1)[0]?.due)
      pauses.push((due ?? 0) - server.clock.now())
      server.clock.advance(due! - server.clock.now())
      if (tries < 6) await lookAgain(server)
    }
    expect(pauses).toEqual([
      2 * SECOND,
      10 * SECOND,
      30 * SECOND,
      2 * MINUTE,
      5 * MINUTE,
      15 * MINUTE,
      15 * MINUTE,
    ])
    expect(server.failures.every(({ isFinal, to }) => !isFinal && to === ALICE)).toBe(true)
  })

  test('does not come back when it was removed while it was on its way', async () => {
    const [arrived, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using smtp = await startSmtp({
      async onRcptTo(_address, _session, done) {
        arrived.resolve()
        await answer.promise
        done(Object.assign(new Error('Come again later'), { responseCode: 451 }))
      },
    })
    await using server = await setupMailer({ address: `smtp://127.0.0.1:${smtp.port}` })
    await server.post()
    await arrived.promise
    await server.database.write((tx) => tx.forgetAddress(ALICE))
    answer.resolve()
    await server.mailer.idle()
    expect(server.failures).toMatchObject([{ isFinal: false }])
    expect(await server.waiting()).toBe(0)
  })

  test('is given up when the mail server will not have it', async () => {
    await using smtp = await startSmtp({
      onRcptTo: (_address, _session, done) =>
        done(Object.assign(new Error('No such mailbox'), { responseCode: 550 })),
    })
    await using server = await setupMailer({ address: `smtp://127.0.0.1:${smtp.port}` })
    await server.post()
    await server.mailer.idle()
    expect(server.failures).toEqual([
      { to: ALICE, message: expect.stringContaining('No such mailbox'), isFinal: true },
    ])
    expect(await server.waiting()).toBe(0)
  })

  test('goes at the second try to a mail server that wants to see that we come again', async () => {
    let calls = 0
    await using smtp = await startSmtp({
      onRcptTo(_address, _session, done) {
        calls += 1
        const greylisted = Object.assign(new Error('Come again later'), { responseCode: 451 })
        done(calls === 1 ? greylisted : null)
      },
    })
    await using server = await setupMailer({ address: `smtp://127.0.0.1:${smtp.port}` })
    await server.post()
    await server.mailer.idle()
    expect(server.failures).toEqual([
      { to: ALICE, message: expect.stringContaining('Come again later'), isFinal: false },
    ])
    server.clock.advance(2 * SECOND)
    await lookAgain(server)
    expect((await smtp.next()).to).toEqual([ALICE])
    expect(await server.waiting()).toBe(0)
    expect(server.failures).toHaveLength(1)
  })

  test('waits while its templates cannot be filled in', async () => {
    await using server = await setupMailer({ isPrinting: () => true })
    const setting = { id: 'mail templates', value: { 'otp-subject': '{{#if otp}}' } }
    await server.database.write((tx) => tx.settings.put(setting))
    await server.post()
    await server.mailer.idle()
    expect(server.failures).toEqual([
      {
        to: ALICE,
        message: expect.stringContaining('otp-subject cannot be filled in: Parse error on line 1'),
        isFinal: false,
      },
    ])
    expect(await server.waiting()).toBe(1)
  })

  test('is given up when it is too late for it', async () => {
    await using server = await setupMailer({ address: 'smtp://127.0.0.1:1' })
    await server.post()
    await server.mailer.idle()
    server.clock.advance(10 * MINUTE)
    await lookAgain(server)
    expect(server.failures.at(-1)).toEqual({
      to: ALICE,
      message: 'The mail expired before it could be sent',
      isFinal: true,
    })
    expect(await server.waiting()).toBe(0)
  })

  test('is not lost when the process ends before it went', async () => {
    await using server = await setupMailer({ address: 'smtp://127.0.0.1:1' })
    await server.post()
    await server.mailer[Symbol.asyncDispose]()
    server.clock.advance(MINUTE)
    await using smtp = await startSmtp()
    await using _ = server.open({ server: serverAt(smtp.port) })
    expect((await smtp.next()).to).toEqual([ALICE])
  })

  test('goes although the clock was set back a year', async () => {
    await using server = await setupMailer({ address: 'smtp://127.0.0.1:1' })
    await server.post()
    await server.mailer[Symbol.asyncDispose]()
    server.clock.advance(-365 * DAY)
    await using smtp = await startSmtp()
    await using _ = server.open({ server: serverAt(smtp.port) })
    expect((await smtp.next()).to).toEqual([ALICE])
  })

  test('that another key sealed is given up', async () => {
    await using server = await setupMailer({ address: 'smtp://127.0.0.1:1' })
    await server.post()
    await server.mailer[Symbol.asyncDispose]()
    server.clock.advance(MINUTE)
    await using other = server.open({ vault: createVault(randomBytes(32)) })
    await other.idle()
    expect(server.failures.at(-1)).toMatchObject({ to: undefined, isFinal: true })
  })

  test('waits for no slow mail beyond four at a time, and holds up no end', async () => {
    let connections = 0
    await using smtp = await startSmtp({
      onConnect(_session, done) {
        connections += 1
        if (connections > 4) done()
      },
    })
    await using server = await setupMailer({ address: `smtp://127.0.0.1:${smtp.port}` })
    for (let i = 0; i < 6; i++) await server.post()
    await until(() => connections === 4)
    await turns()
    expect(connections).toBe(4)
    await server.mailer[Symbol.asyncDispose]()
    // Waiting for the mail server would have ended with four failures.
    expect(server.failures).toEqual([])
    expect(await server.waiting()).toBe(6)
  })

  test('is left to the server by a command', async () => {
    await using server = await setupMailer({ isPrinting: () => true })
    await server.mailer[Symbol.asyncDispose]()
    await using command = server.open({ isSending: false })
    await server.database.write((tx) => command.post(tx, otpLetter(server.clock)))
    await command.idle()
    expect(await server.waiting()).toBe(1)
  })
})

describe('where mails go', () => {
  test('is the terminal in development, and nowhere elsewhere', async () => {
    let isDevelopment = true
    await using server = await setupMailer({ isPrinting: () => isDevelopment, sender: null })
    expect(await server.database.read((tx) => server.mailer.isReady(tx))).toBe(true)
    expect(await server.mailer.route()).toEqual({
      to: 'the terminal of the server',
      from: 'Satchel <noreply@localhost>',
      isOwn: false,
    })
    await server.post()
    await server.mailer.idle()
    expect(server.printed).toMatchObject([{ letter: { to: ALICE } }])
    isDevelopment = false
    expect(await server.database.read((tx) => server.mailer.isReady(tx))).toBe(false)
    expect(await server.mailer.route()).toBeUndefined()
    expect(await refusalOf(() => server.post())).toMatchObject({
      code: 'MAIL_NOT_CONFIGURED',
      message: expect.stringContaining('satchel mail set'),
    })
  })

  test('is what the database says, before what the server says', async () => {
    await using ours = await startSmtp()
    await using theirs = await startSmtp()
    await using server = await setupMailer({ address: `smtp://127.0.0.1:${theirs.port}` })
    await server.mailer.configure({
      address: `smtp://127.0.0.1:${ours.port}`,
      sender: 'Ours <ours@example.com>',
    })
    await server.post()
    expect((await ours.next()).from).toBe('ours@example.com')
    expect(await server.mailer.route()).toMatchObject({ isOwn: true })
    await server.mailer.configure({ address: null })
    await server.post()
    expect((await theirs.next()).from).toBe('ours@example.com')
    await server.mailer.configure({ sender: null })
    expect(await server.mailer.route()).toEqual({
      to: `smtp://127.0.0.1:${theirs.port}`,
      from: 'Test <test@example.com>',
      isOwn: false,
    })
  })

  test('is kept sealed, and shown without a password', async () => {
    await using server = await setupMailer()
    await server.mailer.configure({ address: 'smtp://me:secret@relay.example.com' })
    const kept = await server.database.read((tx) => tx.settings.find('mail'))
    expect(JSON.stringify(kept)).not.toContain('secret')
    expect(await server.mailer.route()).toMatchObject({ to: 'smtp://me@relay.example.com:587' })
  })
})

function serverAt(port: number) {
  return {
    address: `smtp://127.0.0.1:${port}`,
    sender: 'test@example.com',
    hookSecret: null,
    call: () => Promise.reject(new Error('no hook here')),
    isPrinting: () => false,
    print: () => undefined,
  }
}

/** The alarm clock of the outbox runs on real time: another mail wakes it. */
async function lookAgain(server: Awaited<ReturnType<typeof setupMailer>>): Promise<void> {
  const { clock, database } = server
  await database.write((tx) =>
    tx.mails.put({
      id: 'alarm',
      recipient: 'hash of nobody',
      sealed: '',
      attempts: 0,
      created: clock.now(),
      due: clock.now() + HOUR,
      expires: clock.now() + DAY,
    }),
  )
  await database.write((tx) => tx.mails.remove('alarm'))
  await server.mailer.idle()
}
