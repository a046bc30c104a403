import { describe, expect, test } from 'bun:test'
import { readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SMTPServerOptions } from 'smtp-server'
import { startSmtp } from '../mail/smtp-server'
import { CLIENT_ID, CLIENT_SECRET, startOpenIdProvider } from '../oauth/openid'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, satchel, serve } from './setup'

const ROOT = join(import.meta.dir, '..', '..')
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

/** The sections that a reader types from top to bottom, and what they must see. */
const WALK = [
  {
    section: 'First steps',
    seen: ['Created todoLists, todoItems', '"title":"Buy milk"', 'rel="next"', 'scope GLOBAL_READ'],
  },
  {
    section: 'Share a list',
    seen: ['"userId":"bob@example.com"', '"title":"Bread","done":true', 'update todoItems.title'],
  },
  {
    section: 'Invite people',
    seen: [
      'Mails go to the terminal of the server',
      '"invitedBy":{"name":"alice@example.com"',
      '"email":"carol@example.com"',
      '{{{link}}}',
    ],
  },
  {
    section: 'Files and pictures',
    seen: [
      '{"ref":"1:picture-1"}',
      'Bob has the picture',
      'as clients offload',
      '"picture":{"_bt":"Blob","ref":"1:',
      'Exported ',
      ' and 2 blobs to backup.zip',
      'The file is valid: ',
      'by alice@example.com',
      'Would remove 0 blobs (0 bytes)',
      'No problems were found',
      'All blobs       20.0 GB',
    ],
  },
  {
    section: 'Publish 170,000 cities',
    seen: ['Imported 171,075 objects', '"country":"SE"', 'Exported 171,075 objects'],
  },
  { section: 'Tokens', seen: ['"type":"tokens"', '"sub":"alice@example.com"'] },
  {
    section: 'Log people in',
    seen: [
      '"sub":"alice@example.com"',
      'Mails go to smtp://app%40example.com@127.0.0.1:',
      'The sender is My App <app@example.com>',
      'A mail from My App <app@example.com> to you@example.com went to smtp://',
      'otp-body-txt       this database',
      '"sub":"foo@demo.local"',
      'google accepts the client id and secret',
      '"displayName":"Google"',
      'New users       webhook',
      'create another with satchel policy rotate-secret',
      'New users       prod',
    ],
  },
  {
    section: 'Manage people',
    seen: [
      'dora@example.com   eval   active   in 14 days   never        Dora Öberg',
      'Valid until     2031-01-31T00:00:00.000Z',
      'Deactivated',
      '"displayName":"Dora","team":"north"',
      '"hasMore":true,"pagingKey":',
      'The user dora@example.com is deleted',
    ],
  },
  { section: 'Web pages', seen: ['https://app.example.com'] },
]

describe('the README', () => {
  test('is a walk that leads where it says', async () => {
    using folder = temporaryFolder()
    symlinkSync(dirname(EXECUTABLE), join(folder.path, 'dist'))
    symlinkSync(join(ROOT, 'node_modules'), join(folder.path, 'node_modules'))
    // The net may not be there: a provider and a mail server of this machine answer for others.
    const allowed = ['--allow-private-addresses', '127.0.0.0/8']
    await using server = await serve({ cwd: folder.path }, allowed)
    await using smtp = await startSmtp({ allowInsecureAuth: true, onAuth: checkPassword })
    const callback = `${server.ready.url}/main/oauth/callback/google`
    using google = await startOpenIdProvider({ accounts: {}, callback })
    const script = WALK.map(({ section }) => `echo '## ${section}'\n${shellOf(section)}`)
      .join('\n')
      .replaceAll('http://127.0.0.1:7080', server.ready.url)
      .replace(/smtps(:.*@)smtp.example.com/, `smtp$1127.0.0.1:${smtp.port}`)
      .replace('provider add google', `provider add google --issuer ${google.issuer}`)
      .replace('1234.apps.googleusercontent.com', CLIENT_ID)
      .replace('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', CLIENT_SECRET)
    const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
      cwd: folder.path,
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    // The reader looks at the terminal of the server and types the code.
    const mail = await server.logged((line) => isMail(line, 'otp'))
    const { variables } = JSON.parse(mail) as { variables: { otp: string } }
    void child.stdin.write(`${variables.otp}\n`)
    void child.stdin.end()
    const [exitCode, output, problems] = await Promise.all([
      child.exited,
      child.stdout.text(),
      child.stderr.text(),
    ])
    expect({ exitCode, problems: exitCode === 0 ? '' : problems }).toEqual({
      exitCode: 0,
      problems: '',
    })
    for (const { section, seen } of WALK) {
      const shown = output.split(`## ${section}\n`)[1]?.split('\n## ')[0] ?? ''
      for (const text of seen) expect(shown).toContain(text)
    }
    expect(smtp.mails).toMatchObject([{ to: ['you@example.com'], user: 'app@example.com' }])
    await server[Symbol.asyncDispose]()
    await acceptInvitation(folder.path, await server.log)
  }, 120_000)

  test('names the version of Bun that package.json pins', () => {
    const { packageManager } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      packageManager: string
    }
    const named = [...README.matchAll(/bun@(\d+\.\d+\.\d+)|Bun (\d+\.\d+\.\d+)/g)]
    expect(named.length).toBeGreaterThan(2)
    for (const [, spec, prose] of named) expect(`bun@${spec ?? prose}`).toBe(packageManager)
  })
})

/** Opens the link that the server has printed, on the next start, and presses the button. */
async function acceptInvitation(folder: string, log: string): Promise<void> {
  const [mail, ...others] = log.split('\n').filter((line) => isMail(line, 'invite'))
  expect(others).toEqual([])
  const { to, variables } = JSON.parse(mail ?? '{}') as { to: string; variables: { link: string } }
  await using server = await serve({ cwd: folder })
  const link = new URL(variables.link)
  const here = `${server.ready.url}${link.pathname}${link.search}`
  expect(await (await fetch(here)).text()).toContain('invites you to')
  const body = new URLSearchParams({ answer: 'accept' })
  // The answer redirects to the page that confirms it.
  expect(await (await fetch(here, { method: 'POST', body })).text()).toContain('You have joined')
  const { stdout: token } = await satchel(['token', '--sub', to], { cwd: folder })
  const headers = { authorization: `Bearer ${token.trim()}` }
  const items = await fetch(`${server.ready.url}/main/my/todoItems`, { headers })
  expect(await items.text()).toContain('"title":"Bread"')
}

const checkPassword: NonNullable<SMTPServerOptions['onAuth']> = (auth, _session, done) =>
  auth.password === 'PASSWORD'
    ? done(null, { user: auth.username })
    : done(new Error('Wrong password'))

function isMail(line: string, kind: 'otp' | 'invite'): boolean {
  return line.includes('"logger":"mail"') && line.includes(`"kind":"${kind}"`)
}

/** The shell blocks of a section, one after the other. */
function shellOf(section: string): string {
  const text = README.split(`## ${section}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => block).join('\n')
}
