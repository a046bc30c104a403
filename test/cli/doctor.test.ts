import { postJson } from '../http/setup'
import { describe, expect, test } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { createTestClock } from '../auth/setup'
import { setupDataFolder } from '../control/setup'
import { readConfig } from '../../src/config/config'
import { openLogs } from '../../src/log/log'
import { type Server, startServer } from '../../src/server'
import { collectLines, setupServer, temporaryFolder } from '../setup'
import { mayMount, mountSmallDisk } from '../small-disk'
import { byHand } from '../sqlite/by-hand'
import { runJson, runSatchel } from './setup'

interface Found {
  readonly data: readonly {
    readonly check: string
    readonly level: string
    readonly problem: string
    readonly mend: string
  }[]
}

/** The findings about a data folder by check, and the exit code. */
async function diagnose(data: string, ...args: readonly string[]) {
  const { exitCode, stdout, stderr } = await runSatchel([
    'doctor',
    '--json',
    '--data',
    data,
    ...args,
  ])
  if (stdout === '') throw new Error(stderr)
  const found = JSON.parse(stdout) as Found
  const problems = new Map(found.data.map(({ check, problem }) => [check, problem]))
  return { exitCode, problems, findings: found.data }
}

/** A server that nobody calls. */
function start(flags: Readonly<Record<string, unknown>>, environment = {}): Promise<Server> {
  const clock = createTestClock()
  const logs = openLogs({ clock, level: 'info', format: 'json', sink: collectLines() })
  return startServer(readConfig({ environment, flags }), { clock, logs })
}

/** A folder that a command has made, in which nothing is wrong. */
async function setupFolder(path: string): Promise<void> {
  await using folder = await setupDataFolder(path)
  await folder.hosts.create('main')
}

test('finds nothing in a new server and in a folder whose server is stopped', async () => {
  using folder = temporaryFolder()
  {
    await using server = await setupServer({ data: folder.path })
    expect(await diagnose(server.folder)).toMatchObject({ exitCode: 0, findings: [] })
    const { stdout } = await runSatchel(['doctor', '--data', server.folder])
    expect(stdout).toMatch(/^No problems were found by \d+ checks\n$/)
  }
  const { findings, exitCode } = await diagnose(folder.path)
  // Another server of this machine may have the usual port.
  expect(findings.filter(({ check }) => check !== 'port')).toEqual([])
  expect(exitCode).toBe(findings.length === 0 ? 0 : 2)
})

test('says what is wrong and the command that mends it, with exit code 1 for warnings', async () => {
  await using server = await setupServer()
  chmodSync(server.folder, 0o755)
  const { stdout, exitCode } = await runSatchel(['doctor', '--data', server.folder])
  expect(exitCode).toBe(1)
  expect(stdout).toBe(
    `warning  folder mode: Other users of this machine may enter the data folder ${server.folder}, which holds keys\n         chmod 700 ${server.folder}\n`,
  )
})

test('finds files of other users, and copies that were left', async () => {
  await using server = await setupServer()
  const database = join(server.folder, 'databases', 'main')
  writeFileSync(join(database, 'database.sqlite.before-0.1.0'), 'old')
  mkdirSync(join(server.folder, 'databases', '.removed-other-1'))
  writeFileSync(join(server.folder, 'databases', '.removed-other-1', 'database.sqlite'), 'old')
  const isRoot = process.geteuid?.() === 0
  if (isRoot) chownSync(join(server.folder, 'server.sqlite'), 4711, 4711)
  const { problems, findings } = await diagnose(server.folder)
  if (isRoot) expect(problems.get('folder owner')).toStartWith('server.sqlite in ')
  expect(problems.get('leftovers')).toContain('2 in')
  expect(findings.find(({ check }) => check === 'leftovers')?.mend).toContain(
    join(database, 'database.sqlite.before-0.1.0'),
  )
})

test('finds a clock behind the newest time of a database that is open or not', async () => {
  using folder = temporaryFolder()
  await setupFolder(folder.path)
  byHand(folder.path, 'UPDATE database SET latest_time = ?', Date.parse('2031-01-01'))
  expect((await diagnose(folder.path)).problems.get('clock')).toContain('364 days behind')
  await using server = await setupServer({}, createTestClock())
  await server.token()
  server.clock.advance(-3_600_000)
  await fetch(`${server.main}/all/todoItems`)
  expect((await diagnose(server.folder)).problems.get('clock')).toContain('1 hour behind')
})

test('finds the program on the port of a server that is stopped', async () => {
  using folder = temporaryFolder()
  await setupFolder(folder.path)
  using other = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const config = join(folder.path, '..', `${Bun.randomUUIDv7()}.json`)
  writeFileSync(config, JSON.stringify({ port: other.port }))
  const { problems, exitCode } = await diagnose(folder.path, '--config', config)
  expect(exitCode).toBe(2)
  expect(problems.get('port')).toMatch(
    new RegExp(
      `^Port ${other.port} of 127\\.0\\.0\\.1 is in use by .+ \\(process ${process.pid}\\)`,
    ),
  )
})

test('finds a backup target that is no folder, and a backup that is damaged or too old', async () => {
  using backups = temporaryFolder()
  using folder = temporaryFolder()
  const clock = createTestClock()
  const flags = {
    data: folder.path,
    backup: backups.path,
    publicUrl: 'https://a.example',
    host: '127.0.0.1',
  }
  await using server = await setupServer(flags, clock)
  const { backup } = await runJson<{ backup: string }>([
    'backup',
    backups.path,
    '--data',
    server.folder,
  ])
  expect([...(await diagnose(folder.path)).problems.keys()]).toEqual(['mails', 'public address'])
  const file = join(backups.path, backup, 'databases', 'main', 'database.sqlite')
  const bytes = readFileSync(file)
  bytes[5000] = bytes[5000]! ^ 1
  writeFileSync(file, bytes)
  clock.advance(8 * 86_400_000)
  const { problems } = await diagnose(folder.path)
  expect(problems.get('newest backup')).toContain('databases/main/database.sqlite is damaged')
  expect(problems.get('backup age')).toBe('No backup was made for 8 days')
})

test('finds a file that is no database, and a job that has stopped', async () => {
  using folder = temporaryFolder()
  await setupFolder(folder.path)
  byHand(
    folder.path,
    "INSERT INTO jobs VALUES ('import-1', 'import', '{}', 0, NULL, 0, 'the file is gone')",
  )
  expect((await diagnose(folder.path)).problems.get('jobs')).toContain('database main')
  writeFileSync(join(folder.path, 'databases', 'main', 'database.sqlite'), 'x'.repeat(4096))
  expect((await diagnose(folder.path)).problems.get('databases')).toContain('is not a database')
})

describe.if(mayMount)('on a small disk', () => {
  test('finds that it is nearly full, or has room for few files', async () => {
    using disk = mountSmallDisk('64m', 500)
    await using server = await setupServer({ data: join(disk.path, 'data') })
    const { problems, findings } = await diagnose(server.folder)
    expect([...problems.keys()]).toEqual(['disk', 'files'])
    expect(findings.map(({ level }) => level)).toEqual(['error', 'error'])
  })

  test('finds backups that the server may not write', async () => {
    using disk = mountSmallDisk('1m')
    const backup = join(disk.path, 'backups')
    disk.makeReadOnly()
    await using server = await setupServer({ backup })
    const { findings } = await diagnose(server.folder)
    expect(findings.find(({ check }) => check === 'backup target')?.mend).toContain(
      `ReadWritePaths=${backup}`,
    )
  })
})

test('finds settings that are for another machine than a public one', async () => {
  const flags = { publicUrl: 'http://db.example.com', rateLimits: 'off' }
  await using server = await setupServer(flags)
  const { problems } = await diagnose(server.folder)
  expect([...problems.keys()]).toEqual(['mails', 'public address', 'rate limits', 'backup age'])
})

test.if(Bun.which('openssl') !== null)('finds a certificate that has expired', async () => {
  using folder = temporaryFolder()
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  const names = '-days 2 -subj /CN=a -addext subjectAltName=IP:127.0.0.1'
  const command = `openssl req -x509 ${key} ${names} -keyout a.key -out a.crt`
  Bun.spawnSync(command.split(' '), { cwd: folder.path, stderr: 'ignore' })
  const [tlsCert, tlsKey] = ['a.crt', 'a.key'].map((name) => join(folder.path, name))
  await using server = await start({ tlsCert, tlsKey, data: join(folder.path, 'data'), port: 0 })
  const { problems } = await diagnose(server.folder)
  expect(problems.get('certificate')).toMatch(/^The certificate has expired \d+ days ago$/)
})

test('sees a proxy that strips headers, and one that is not trusted', async () => {
  await using plain = await setupServer()
  await fetch(`${plain.main}/all/todoItems`, { headers: { 'x-forwarded-for': '192.0.2.1' } })
  expect((await diagnose(plain.folder)).problems.get('proxy')).toContain('Requests from 127.0.0.1')
  await using trusting = await setupServer({ trustProxy: '127.0.0.1/32', printMails: true })
  await fetch(`${trusting.main}/all/todoItems`)
  expect((await diagnose(trusting.folder)).problems.get('proxy')).toContain('lack X-Forwarded-For')
  await fetch(`${trusting.main}/changes`, { headers: { 'sec-websocket-key': 'x' } })
  expect((await diagnose(trusting.folder)).problems.get('proxy')).toContain('strips the header')
})

test('counts answers about damaged rows', async () => {
  await using server = await setupServer()
  const data = ['--data', server.folder]
  await runSatchel(['schema', 'push', '-', ...data], { input: '{"todoItems":"id"}' })
  const headers = { authorization: `Bearer ${await server.token({ sub: 'alice' })}` }
  const body = JSON.stringify([{ id: 'one', title: 'bread' }])
  const type = { 'content-type': 'application/json' }
  const items = `${server.main}/my/todoItems`
  await fetch(items, { method: 'POST', headers: { ...headers, ...type }, body })
  byHand(server.folder, "UPDATE o_4 SET value = replace(value, 'bread', 'brood')")
  expect((await fetch(items, { headers })).status).toBe(500)
  const { problems } = await diagnose(server.folder)
  expect(problems.get('damage')).toBe('Requests met damaged data since the start (1)')
})

test('asks the mail server when it is told to', async () => {
  const flags = { smtpUrl: 'smtp://127.0.0.1:1', mailFrom: 'me@example.com' }
  await using server = await setupServer(flags)
  expect((await diagnose(server.folder)).findings).toEqual([])
  const { problems } = await diagnose(server.folder, '--online')
  expect(problems.get('mail server')).toContain('Nothing listens at 127.0.0.1:1')
})

test('settings and a folder that cannot be read are errors', async () => {
  using folder = temporaryFolder()
  const config = join(folder.path, 'satchel.json')
  writeFileSync(config, '{"prt": 1}')
  const wrong = await diagnose(folder.path, '--config', config)
  expect(wrong).toMatchObject({ exitCode: 2, findings: [{ check: 'settings', level: 'error' }] })
  expect(wrong.findings[0]?.mend).toBe(`satchel config check ${config}`)
  const missing = await diagnose(join(folder.path, 'missing'))
  expect(missing.problems.get('data folder')).toContain('There is no data folder')
})

test('a bundle is for its owner only, and has no secrets and no values', async () => {
  using folder = temporaryFolder()
  using elsewhere = temporaryFolder()
  const secrets = {
    SATCHEL_SMTP_URL: 'smtp://bob:hidden-password@127.0.0.1:1',
    SATCHEL_SECRET_KEY: Buffer.alloc(32, 'hidden-key').toString('base64'),
    SATCHEL_BACKUP_KEY: Buffer.alloc(32, 'hidden-backup').toString('base64'),
  }
  const flags = { data: folder.path, port: 0, durability: 'relaxed', mailFrom: 'me@example.com' }
  await using server = await start(flags, secrets)
  const { clientSecret = '' } = server.client ?? {}
  const { accessToken } = await runJson<{ accessToken: string }>([
    'token',
    '--sub',
    'alice@example.com',
    '--data',
    server.folder,
  ])
  const data = ['--data', server.folder]
  await runSatchel(['schema', 'push', '-', ...data], { input: '{"todoItems":"id"}' })
  const posted = await postJson(
    `${server.url}/main/my/todoItems`,
    [{ id: 'hidden-id', title: 'hidden-value' }],
    { authorization: `Bearer ${accessToken}` },
  )
  expect(posted.status).toBe(200)
  const bundle = join(elsewhere.path, 'bundle.json')
  await runSatchel(['doctor', '--data', server.folder, '--bundle', bundle])
  const text = readFileSync(bundle, 'utf8')
  expect(statSync(bundle).mode & 0o777).toBe(0o600)
  for (const secret of [...Object.values(secrets), 'hidden', 'alice', accessToken, clientSecret]) {
    expect(text).not.toContain(secret)
  }
  expect(JSON.parse(text)).toMatchObject({
    program: { version: expect.any(String) },
    facts: { folder: { path: server.folder } },
    settings: { smtpUrl: 'set', durability: 'relaxed' },
  })
  const again = await runSatchel(['doctor', '--data', server.folder, '--bundle', bundle])
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('exists') })
})
