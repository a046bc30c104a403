import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { startSmtp } from '../mail/smtp-server'
import { temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

const ALICE = 'alice@example.com'

async function setup() {
  const folder = temporaryFolder()
  const data = ['--data', folder.path]
  await runJson(['db', 'create', 'main', ...data])
  return {
    folder: folder.path,
    run: (args: readonly string[], input?: string) =>
      runSatchel([...args, ...data], input === undefined ? {} : { input }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

describe('satchel mail', () => {
  test('says what is missing, takes a mail server and sends a test', async () => {
    await using smtp = await startSmtp()
    using satchel = await setup()
    expect((await satchel.run(['mail', 'show'])).stdout).toStartWith(
      'Mail is not configured: satchel mail set',
    )
    const early = await satchel.run(['mail', 'test', '--to', ALICE])
    expect(early.exitCode).toBe(1)
    expect(early.stderr).toContain('satchel mail set')
    const address = `smtp://127.0.0.1:${smtp.port}`
    const set = await satchel.run(['mail', 'set', address, '--from', 'My App <app@example.com>'])
    expect(set).toEqual({
      exitCode: 0,
      stdout: `Mails go to ${address}\nThe sender is My App <app@example.com>\n`,
      stderr: '',
    })
    const sent = await satchel.run(['mail', 'test', '--to', ALICE])
    expect(sent.stdout).toBe(
      `A mail from My App <app@example.com> to alice@example.com went to ${address}\n`,
    )
    const mail = await smtp.next()
    expect(mail).toMatchObject({ from: 'app@example.com', to: [ALICE] })
    expect(mail.text).toStartWith('This is a test: its code cannot be used to log in.')
    await satchel.run(['mail', 'test', '--to', ALICE, '--kind', 'invite'])
    expect((await smtp.next()).headers.get('subject')).toBe('Satchel invites you to a test list')
    expect((await satchel.run(['mail', 'reset'])).stdout).toStartWith(
      'Mail is not configured: satchel mail set',
    )
  })

  test('takes a password from standard input, not from the command line, and never shows it', async () => {
    using satchel = await setup()
    const address = 'smtp://app%40example.com:pa55word@smtp.example.com'
    const told = await satchel.run(['mail', 'set', address])
    expect(told).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--address-file') })
    const set = await satchel.run(['mail', 'set', '--address-file', '-'], `${address}\n`)
    expect(set.stdout).toBe(
      'Mails go to smtp://app%40example.com@smtp.example.com:587\nThe sender is app@example.com\n',
    )
    const shown = await satchel.run(['mail', 'show', '--json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({ isOwn: true })
    expect(`${told.stderr}${set.stdout}${shown.stdout}`).not.toContain('pa55word')
  })

  test.each([
    [['mail', 'set'], 2, 'Give an address or --from'],
    [['mail', 'set', 'smtp.example.com'], 1, 'smtp://user:password@host:port'],
    [['mail', 'set', 'smtp://smtp.example.com'], 1, '--from'],
    [['mail', 'set', '--from', 'nobody'], 1, 'a name and an address'],
    [['mail', 'set', 'smtp://a.example', '--address-file', '-'], 2, 'once'],
    [['mail', 'test', '--to', 'nobody'], 1, 'not an e-mail address'],
    [['mail', 'test', '--to', ALICE, '--kind', 'otter'], 2, 'otp, invite'],
  ])('refuses %p', async (args, exitCode, reason) => {
    using satchel = await setup()
    const outcome = await satchel.run(args)
    expect(outcome.exitCode).toBe(exitCode)
    expect(outcome.stderr).toContain(reason)
    expect((await satchel.run(['mail', 'show'])).stdout).toStartWith(
      'Mail is not configured: satchel mail set',
    )
  })

  test('says what the mail server said', async () => {
    await using smtp = await startSmtp({
      onMailFrom: (_address, _session, done) =>
        done(Object.assign(new Error('We do not know you'), { responseCode: 550 })),
    })
    using satchel = await setup()
    await satchel.run(['mail', 'set', `smtp://127.0.0.1:${smtp.port}`, '--from', 'app@example.com'])
    const outcome = await satchel.run(['mail', 'test', '--to', ALICE])
    expect(outcome.exitCode).toBe(1)
    expect(outcome.stderr).toContain('We do not know you')
  })
})

describe('satchel template', () => {
  test('lists, shows, sets and resets the words', async () => {
    using satchel = await setup()
    const list = async () => (await satchel.run(['template', 'list'])).stdout
    expect(await list()).toMatch(/^NAME +SOURCE\notp-subject +built in\n/)
    const shown = await satchel.run(['template', 'show', 'otp-subject'])
    expect(shown.stdout).toBe('{{{otp}}} is your code for {{{originName}}}\n')
    const file = join(satchel.folder, 'own.handlebars')
    await Bun.write(file, 'Kod {{{otp}}}')
    const set = await satchel.run(['template', 'set', 'otp-subject', file])
    expect(set.stdout).toBe('otp-subject is replaced: satchel mail test sends a sample\n')
    expect(await list()).toMatch(/otp-subject +this database\notp-body-txt +built in\n/)
    expect((await satchel.run(['template', 'show', 'otp-subject'])).stdout).toBe('Kod {{{otp}}}')
    const reset = () => satchel.run(['template', 'reset', 'otp-subject'])
    expect((await reset()).stdout).toBe('otp-subject is the built-in template again\n')
    expect((await reset()).stdout).toBe('otp-subject was the built-in template already\n')
  })

  test('prints a template filled in, also one that is not set', async () => {
    using satchel = await setup()
    const preview = (name: string, ...file: string[]) =>
      satchel.run(['template', 'preview', name, ...file], 'Kod {{{otp}}}')
    expect((await preview('otp-subject')).stdout).toBe('ABCD1234 is your code for main\n')
    expect((await preview('otp-subject', '-')).stdout).toBe('Kod ABCD1234\n')
    expect((await preview('invite-body-html')).stdout).toContain('<html')
    expect((await preview('invite-body-txt')).stdout).toContain(
      'https://example.com/this-is-a-test',
    )
    const wrong = await preview('invite-subject', '-')
    expect(wrong).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('{{otp}}') })
    expect((await preview('otp-subject', 'none.handlebars')).stderr).toContain('There is no file')
  })

  test('refuses a template with a mistake, and says where it is', async () => {
    using satchel = await setup()
    const set = await satchel.run(['template', 'set', 'otp-body-txt', '-'], 'Hello\n{{#if otp}\n')
    expect(set.exitCode).toBe(1)
    expect(set.stderr).toContain('line 2')
    const named = await satchel.run(['template', 'set', 'otp-footer', '-'], 'Hello')
    expect(named.stderr).toContain('otp-subject, otp-body-txt')
  })
})
