import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { readConfig } from '../../src/config/config'
import { findOperation } from '../../src/control/operations'
import { perform } from '../../src/control/perform'
import { takeDataFolder } from '../../src/host/data-folder'
import { createTestClock } from '../auth/setup'
import { setupServer, temporaryFolder } from '../setup'
import { runSatchel } from './setup'

const [OLD, NEW, OTHER] = ['old', 'new', 'other'].map((word) =>
  Buffer.alloc(32, word).toString('base64'),
) as [string, string, string]

/** The data folder as a process with this key, or with none, has it. */
async function open(data: string, secretKey?: string) {
  const environment = secretKey === undefined ? {} : { SATCHEL_SECRET_KEY: secretKey }
  const config = readConfig({ environment, flags: { data } })
  const folder = await takeDataFolder(config, createTestClock())
  if (folder === undefined) throw new Error(`${data} is locked`)
  return folder
}

const SECRET = 'the secret of the provider'
const ALICE = '{"userId":"alice","type":"prod"}'
const HOOK = 'https://hook.example.com'

/** A folder with databases that have a secret of each kind, sealed with this key, or with keys of their own. */
async function setup(secretKey?: string, names: readonly string[] = ['main', 'other']) {
  await using stack = new AsyncDisposableStack()
  const { path } = stack.use(temporaryFolder())
  const data = join(path, 'data')
  {
    await using folder = await open(data, secretKey)
    const run = (name: string, input: object, upload?: string) => {
      const operation = findOperation(name)!
      const streams = upload === undefined ? {} : { upload: new Blob([upload]).stream() }
      return perform(folder, operation, operation.read(input), streams)
    }
    for (const database of names) {
      await run('db.create', { name: database })
      await run('user.write', { database, user: ALICE, isNew: true })
      await run('provider.add', { database, type: 'google', clientId: 'todo' }, SECRET)
      await run('policy.set', { database, newUsers: 'webhook', hookUrl: HOOK })
      await run('policy.rotate-secret', { database })
      await run('mail.set', { database }, 'https://mail.example.com/hook')
      const { mailer, database: store } = await folder.hosts.open(database)
      await store.write((tx) =>
        mailer.post(tx, {
          kind: 'otp',
          to: 'alice@example.com',
          variables: { otp: 'CODE' },
          expires: Date.parse('2030-02-01'),
        } as never),
      )
    }
  }
  const files = { old: join(path, 'old.key'), new: join(path, 'new.key') }
  writeFileSync(files.old, `${OLD}\n`)
  writeFileSync(files.new, `${NEW}\n`)
  const owned = stack.move()
  return {
    data,
    files,
    reseal: (...args: readonly string[]) =>
      runSatchel(['key', 'reseal', '--data', data, '--json', ...args]),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** All sealed texts in the file of a database. */
function sealedTexts(data: string, name: string): string[] {
  using db = new Database(join(data, 'databases', name, 'database.sqlite'))
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  return (tables as { name: string }[]).flatMap((table) => {
    const rows = db.prepare(`SELECT * FROM "${table.name}"`).all()
    return JSON.stringify(rows).match(/v1\.[\w-]{40,}/g) ?? []
  })
}

/** Opens every kind of secret of a database. */
async function useSecrets(data: string, name: string, secretKey: string | undefined) {
  await using folder = await open(data, secretKey)
  const host = await folder.hosts.open(name)
  const route = await host.mailer.route()
  const { keys } = await host.authority.keys()
  const operation = findOperation('token.issue')!
  const input = operation.read({ database: name, subject: 'alice', scopes: ['ACCESS_DB'] })
  await perform(folder, operation, input, {})
  return { to: route?.to, keys: keys.map(({ kid }) => kid) }
}

describe('satchel key reseal', () => {
  test.each([
    ['changes SATCHEL_SECRET_KEY', OLD],
    ['brings a folder under SATCHEL_SECRET_KEY', undefined],
  ])('%s', async (_, old) => {
    await using at = await setup(old)
    const before = await useSecrets(at.data, 'main', old)
    const texts = ['main', 'other'].map((name) => sealedTexts(at.data, name))
    const args = old === undefined ? [] : ['--old-key-file', at.files.old]
    const { exitCode, stdout, stderr } = await at.reseal('--new-key-file', at.files.new, ...args)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    // Two signing keys, a provider, two secrets of a web hook, an address and a secret of mails, a mail.
    expect(JSON.parse(stdout)).toEqual({
      data: [
        { database: 'main', secrets: 8 },
        { database: 'other', secrets: 8 },
      ],
    })
    for (const [n, name] of ['main', 'other'].entries()) {
      const kept = sealedTexts(at.data, name).filter((text) => texts[n]?.includes(text))
      expect([name, kept]).toEqual([name, []])
      expect(existsSync(join(at.data, 'databases', name, 'secret.key'))).toBe(false)
    }
    expect(await useSecrets(at.data, 'main', NEW)).toEqual(before)
    expect(await useSecrets(at.data, 'main', old).catch((error: Error) => error.message)).toMatch(
      old === undefined ? /secret\.key is missing/ : /sealed with another key/,
    )
  })

  test('completes what was interrupted, also between a database and its file', async () => {
    await using at = await setup(undefined, ['main', 'other', 'third'])
    const away = join(at.data, '..', 'third')
    renameSync(join(at.data, 'databases', 'third'), away)
    const key = join(at.data, 'databases', 'main', 'secret.key')
    const text = await Bun.file(key).text()
    expect((await at.reseal('--new-key-file', at.files.new)).exitCode).toBe(0)
    // As after a kill before the file was removed, and before the third database.
    writeFileSync(key, text)
    renameSync(away, join(at.data, 'databases', 'third'))
    const { stdout } = await at.reseal('--new-key-file', at.files.new)
    expect(JSON.parse(stdout)).toEqual({
      data: [
        { database: 'main', secrets: 0 },
        { database: 'other', secrets: 0 },
        { database: 'third', secrets: 8 },
      ],
    })
    expect(existsSync(key)).toBe(false)
    for (const name of ['main', 'third']) await useSecrets(at.data, name, NEW)
  })

  test('leaves a line in each database and in the file of the server', async () => {
    await using at = await setup(OLD)
    await at.reseal('--new-key-file', at.files.new, '--old-key-file', at.files.old)
    await using folder = await open(at.data, NEW)
    const { database } = await folder.hosts.open('other')
    const start = { at: 0, seq: 0 }
    const lists = [
      folder.audit.list(start, 100),
      await database.read((tx) => tx.audit.list(start, 100)),
    ]
    for (const lines of lists) {
      expect(lines.filter(({ operation }) => operation === 'key.reseal')).toMatchObject([
        { result: 'done', door: 'command', uid: process.getuid?.() },
      ])
    }
  })

  test('changes nothing when the secrets of one database are under neither key', async () => {
    await using at = await setup(OLD)
    writeFileSync(at.files.old, OTHER)
    const before = sealedTexts(at.data, 'main')
    const refused = await at.reseal('--new-key-file', at.files.new, '--old-key-file', at.files.old)
    expect(refused.exitCode).toBe(1)
    expect(refused.stderr).toContain('database main are sealed with another key, so nothing')
    expect(sealedTexts(at.data, 'main')).toEqual(before)
    const withoutOld = await at.reseal('--new-key-file', at.files.new)
    expect(withoutOld.stderr).toContain('set SATCHEL_SECRET_KEY or --old-key-file')
  })

  test('is refused beside a running server, and without a new key that can be used', async () => {
    await using server = await setupServer()
    await using at = await setup(OLD)
    const there = ['--data', server.folder, '--new-key-file', at.files.new]
    const running = await runSatchel(['key', 'reseal', ...there])
    expect(running).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('stop the server'),
    })
    const missing = await at.reseal()
    expect(missing.exitCode).toBe(2)
    expect(missing.stderr).toContain('The new key is missing')
    writeFileSync(at.files.new, 'short-key')
    const short = await at.reseal('--new-key-file', at.files.new)
    expect(short.exitCode).toBe(2)
    expect(short.stderr).toContain('must hold 32 random bytes in base64')
    expect(short.stderr).not.toContain('short-key')
    const nowhere = await at.reseal('--new-key-file', join(at.data, 'none'))
    expect(nowhere.stderr).toContain('cannot be read: it does not exist')
    const same = ['--new-key-file', at.files.old, '--old-key-file', at.files.old]
    expect((await at.reseal(...same)).stderr).toContain('The new key is the old one')
    const unnamed = await runSatchel(['key', 'reseal', '--new-key-file', at.files.old])
    expect(unnamed.stderr).toContain('There is no data folder')
  })
})
