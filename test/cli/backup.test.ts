import { postJson } from '../http/setup'
import { Database as SqliteDatabase } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { serveHangingBucket } from '../backups/hanging-bucket'
import { setupServer, temporaryFolder, type TestServer } from '../setup'
import { runJson, runSatchel } from './setup'

interface Made {
  readonly backup: string
  readonly target: string
  readonly sha256: string
  readonly bytes: number
  readonly written: number
}

describe('satchel backup', () => {
  test('refuses an empty target, such as a variable that is not set', async () => {
    for (const args of [
      ['backup', ''],
      ['backup', 'list', ''],
    ]) {
      expect(await runSatchel(args)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('The target is empty'),
      })
    }
  })

  test('of a running server holds every database, its blobs and keys, and the file of the server', async () => {
    await using server = await setupServer()
    await storeObjects(server, 'one', 'two')
    const hash = await storeBlob(server, 'a text')
    using target = temporaryFolder()
    const made = await runJson<Made>(['backup', target.path, '--data', server.folder])
    const folder = join(target.path, made.backup)
    expect(filesBelow(folder)).toEqual([
      'databases/main/blobs.ndjson',
      `databases/main/blobs/${hash}`,
      'databases/main/database.sqlite',
      'databases/main/secret.key',
      'manifest.json',
      'server.sqlite',
    ])
    const main = join(folder, 'databases', 'main')
    expect(readFileSync(join(main, 'blobs', hash), 'utf8')).toBe('a text')
    const key = join(server.folder, 'databases', 'main', 'secret.key')
    expect(readFileSync(join(main, 'secret.key'), 'utf8')).toBe(readFileSync(key, 'utf8'))
    expect(objectsIn(join(main, 'database.sqlite'))).toBe(2)
    for (const path of filesBelow(folder))
      expect(statSync(join(folder, path)).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })

  test('works without a server, on one database, and says what it made', async () => {
    using data = temporaryFolder()
    using target = temporaryFolder()
    for (const name of ['one', 'other']) await runJson(['db', 'create', name, '--data', data.path])
    const args = ['backup', target.path, '--data', data.path, '--db', 'one']
    const { exitCode, stdout } = await runSatchel(args)
    expect(exitCode).toBe(0)
    expect(stdout).toContain('Backed up 1 database with 0 blobs')
    const { data: listed } = await runJson<{ data: { backup: string; databases: string[] }[] }>([
      'backup',
      'list',
      target.path,
    ])
    expect(listed).toMatchObject([{ databases: ['one'] }])
    expect(filesBelow(join(target.path, listed[0]!.backup))).not.toContain('server.sqlite')
    const text = await runSatchel(['backup', 'list', target.path])
    expect(text.stdout).toContain(listed[0]!.backup)
  })

  test('shares unchanged blobs with the backup before, and each is whole without the other', async () => {
    await using server = await setupServer()
    const kept = await storeBlob(server, 'x'.repeat(100_000))
    using target = temporaryFolder()
    const backUp = () => runJson<Made>(['backup', target.path, '--data', server.folder])
    const first = await backUp()
    const added = await storeBlob(server, 'y'.repeat(100_000))
    const second = await backUp()
    expect(first.written).toBe(first.bytes)
    expect(second.bytes - second.written).toBe(100_000)
    const inodeOf = (made: Made, hash: string) =>
      statSync(join(target.path, made.backup, 'databases/main/blobs', hash)).ino
    expect(inodeOf(second, kept)).toBe(inodeOf(first, kept))
    rmSync(join(target.path, first.backup), { recursive: true })
    const { exitCode } = await runSatchel(['backup', 'verify', target.path])
    expect(exitCode).toBe(0)
    expect(inodeOf(second, added)).toBeGreaterThan(0)
  })

  test('does not share a blob that was damaged in the backup before', async () => {
    await using server = await setupServer()
    const hash = await storeBlob(server, 'some bytes')
    using target = temporaryFolder()
    const backUp = () => runJson<Made>(['backup', target.path, '--data', server.folder])
    const first = await backUp()
    const path = join('databases/main/blobs', hash)
    writeFileSync(join(target.path, first.backup, path), 'some bytez')
    const second = await backUp()
    expect(readFileSync(join(target.path, second.backup, path), 'utf8')).toBe('some bytes')
    expect(await runSatchel(['backup', 'verify', target.path])).toMatchObject({ exitCode: 0 })
  })

  test('names blobs that are damaged already, keeps the rest, and ends with 1', async () => {
    await using server = await setupServer()
    const [lost, changed] = [await storeBlob(server, 'lost'), await storeBlob(server, 'changed')]
    const blobs = join(server.folder, 'databases', 'main', 'blobs')
    for (const path of filesBelow(blobs)) {
      const file = join(blobs, path)
      const text = readFileSync(file, 'utf8')
      if (text === 'lost') rmSync(file)
      if (text === 'changed') writeFileSync(file, 'chanced')
    }
    using target = temporaryFolder()
    const { exitCode, stderr } = await runSatchel(['backup', target.path, '--data', server.folder])
    expect(exitCode).toBe(1)
    expect(stderr).toContain('The backup is complete, except for 2 blobs')
    expect(stderr).toContain(`${lost} of main`)
    expect(stderr).toContain(`${changed} of main`)
    expect(await runSatchel(['backup', 'verify', target.path])).toMatchObject({ exitCode: 0 })
  })

  test('is refused beside another one, and of data in memory', async () => {
    await using server = await setupServer()
    using target = temporaryFolder()
    const args = ['backup', target.path, '--data', server.folder]
    const both = await Promise.all([runSatchel(args), runSatchel(args)])
    const refused = both.find(({ exitCode }) => exitCode === 1)
    expect(both.filter(({ exitCode }) => exitCode === 0)).toHaveLength(1)
    expect(refused?.stderr).toMatch(/[Aa]nother backup is being written|is under way/)
    await using memory = await setupServer({ memory: true, data: undefined })
    const { exitCode, stderr } = await runSatchel(['backup', target.path, '--data', memory.folder])
    expect(exitCode).toBe(1)
    expect(stderr).toContain('keeps its data in memory')
    expect(readdirSync(target.path).filter((name) => name.endsWith('.partial'))).toEqual([])
  })

  test('removes what an interrupted one has left, and nothing else', async () => {
    using data = temporaryFolder()
    await runJson(['db', 'create', 'main', '--data', data.path])
    using target = temporaryFolder()
    const left = join(target.path, '2030-01-01T00-00-00Z.partial')
    const foreign = join(target.path, 'holiday.partial')
    for (const folder of [left, foreign]) mkdirSync(folder)
    writeFileSync(join(left, 'database.sqlite'), 'half')
    await runJson(['backup', target.path, '--data', data.path])
    expect(existsSync(left)).toBe(false)
    expect(existsSync(foreign)).toBe(true)
  })

  test('that is interrupted while it is read again ends with 130, and is no backup', async () => {
    using data = temporaryFolder()
    await runJson(['db', 'create', 'main', '--data', data.path])
    using bucket = serveHangingBucket('reads')
    using _ = withEnvironment(bucket.environment)
    const args = ['backup', bucket.address, '--backup-plain', '--data', data.path]
    expect(await runSatchel(args, { interrupt: bucket.hung })).toEqual({
      exitCode: 130,
      stdout: '',
      stderr: 'satchel: The backup was interrupted, and nothing is left of it\n',
    })
    expect(bucket.objects()).toEqual([])
  })

  test('ends with 1 and a sentence when the target cannot be written, and leaves nothing', async () => {
    using data = temporaryFolder()
    await runJson(['db', 'create', 'main', '--data', data.path])
    using folder = temporaryFolder()
    const target = join(folder.path, 'file')
    writeFileSync(target, '')
    const { exitCode, stderr } = await runSatchel(['backup', target, '--data', data.path])
    expect(exitCode).toBe(1)
    expect(stderr).toContain(target)
    expect(readFileSync(target, 'utf8')).toBe('')
  })

  test('warns of a target that others may enter', async () => {
    using data = temporaryFolder()
    await runJson(['db', 'create', 'main', '--data', data.path])
    using folder = temporaryFolder()
    const target = join(folder.path, 'open')
    mkdirSync(target, { mode: 0o755 })
    const { exitCode, stderr } = await runSatchel(['backup', target, '--data', data.path])
    expect(exitCode).toBe(0)
    expect(stderr).toContain(`Other users of this machine may enter ${target}`)
  })
})

describe('satchel backup verify', () => {
  const CHANGES: readonly (readonly [string, (path: string) => void, string])[] = [
    ['flipped', flip, 'damaged'],
    ['cut short', (path) => truncateSync(path, statSync(path).size - 1), 'damaged'],
    ['longer', (path) => appendFileSync(path, 'x'), 'damaged'],
    ['missing', (path) => rmSync(path), 'missing'],
    [
      'a link',
      (path) => {
        rmSync(path)
        symlinkSync('/etc/hostname', path)
      },
      'no file',
    ],
  ]

  test('names every file that is not as it was written', async () => {
    await using server = await setupServer()
    await storeBlob(server, 'a text')
    const of = ['anna@example.com', '--data', server.folder]
    await runJson(['user', 'add', ...of])
    await runJson(['user', 'delete', '--yes', ...of])
    using target = temporaryFolder()
    const made = await runJson<Made>(['backup', target.path, '--data', server.folder])
    const folder = join(target.path, made.backup)
    const paths = filesBelow(folder).filter((path) => path !== 'manifest.json')
    expect(paths).toHaveLength(6)
    for (const path of paths) {
      const file = join(folder, path)
      const bytes = readFileSync(file)
      for (const [name, change, problem] of CHANGES) {
        change(file)
        const { exitCode, stdout } = await runSatchel(['backup', 'verify', target.path, '--json'])
        const { data } = JSON.parse(stdout.split('\n')[0] ?? '') as {
          data: { faults: { path: string; problem: string }[] }[]
        }
        expect([name, exitCode, data[0]?.faults]).toEqual([name, 1, [{ path, problem }]])
        rmSync(file, { force: true })
        writeFileSync(file, bytes)
      }
    }
    writeFileSync(join(folder, 'databases/main/more'), '')
    const { stdout } = await runSatchel(['backup', 'verify', target.path])
    expect(stdout).toContain('added by somebody: databases/main/more')
  })

  test('refuses a damaged manifest, and a folder without one is no backup', async () => {
    using data = temporaryFolder()
    await runJson(['db', 'create', 'main', '--data', data.path])
    using target = temporaryFolder()
    const made = await runJson<Made>(['backup', target.path, '--data', data.path])
    const manifest = join(target.path, made.backup, 'manifest.json')
    flip(manifest)
    const damaged = await runSatchel(['backup', 'verify', target.path])
    expect(damaged.exitCode).toBe(1)
    expect(damaged.stderr).toContain('manifest.json is damaged')
    rmSync(manifest)
    const missing = await runSatchel(['backup', 'verify', target.path])
    expect(missing.exitCode).toBe(2)
    expect(missing.stderr).toContain('There is no complete backup in')
  })
})

describe('satchel backup list, verify and prune, and satchel restore', () => {
  test.each(['backup list', 'backup verify', 'backup prune --keep 7d', 'restore'])(
    'say that a folder is missing: %s',
    async (command) => {
      using folder = temporaryFolder()
      writeFileSync(join(folder.path, 'file'), '')
      for (const name of ['none', 'file']) {
        const target = join(folder.path, name)
        const given = command === 'restore' ? join(target, '2030-01-01T12-00-00Z') : target
        expect(await runSatchel([...command.split(' '), given])).toMatchObject({
          exitCode: 2,
          stderr: expect.stringContaining(`There is no folder ${target}`),
        })
      }
    },
  )
})

describe('satchel backup prune', () => {
  test('keeps one of several backups of a second, the last', async () => {
    using target = temporaryFolder()
    const names = ['2030-01-01T12-00-00Z', '2030-01-01T12-00-00Z-2', '2030-01-01T12-00-00Z-10']
    for (const name of names) {
      mkdirSync(join(target.path, name))
      writeFileSync(join(target.path, name, 'manifest.json'), '')
    }
    const pruned = await runJson(['backup', 'prune', target.path, '--keep', '7d'])
    expect(pruned).toMatchObject({ removed: names.slice(0, 2), kept: names.slice(2) })
  })

  test('keeps the last backups of days, weeks and months', async () => {
    using target = temporaryFolder()
    const nights = ['29', '30', '31'].map((day) => `2030-01-${day}T02-30-00Z`)
    for (const name of nights) {
      mkdirSync(join(target.path, name))
      writeFileSync(join(target.path, name, 'manifest.json'), '')
    }
    mkdirSync(join(target.path, 'mine'))
    const dry = await runJson(['backup', 'prune', target.path, '--keep', '2d', '--dry-run'])
    expect(dry).toEqual({ removed: [nights[0]], kept: nights.slice(1), dryRun: true })
    expect(readdirSync(target.path).toSorted()).toEqual([...nights, 'mine'])
    await runJson(['backup', 'prune', target.path, '--keep', '2d'])
    expect(readdirSync(target.path).toSorted()).toEqual([...nights.slice(1), 'mine'])
    const wrong = await runSatchel(['backup', 'prune', target.path, '--keep', 'all'])
    expect(wrong.exitCode).toBe(2)
  })
})

async function storeObjects(server: TestServer, ...ids: string[]): Promise<void> {
  const answer = await postJson(
    `${server.main}/all/roles`,
    ids.map((name) => ({ realmId: 'rlm-public', name })),
    { authorization: `Bearer ${await server.token()}` },
  )
  expect(answer.status).toBe(200)
}

/** Returns the SHA-256 of the text. */
async function storeBlob(server: TestServer, text: string): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  const answer = await fetch(`${server.main}/blob/${hash.slice(0, 20)}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await server.token()}`, 'content-type': 'text/plain' },
    body: text,
  })
  expect(answer.ok).toBe(true)
  return hash
}

function objectsIn(path: string): number {
  using db = new SqliteDatabase(path, { readonly: true })
  expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  return db.query<{ total: number }, []>('SELECT count(*) AS total FROM o_3').get()?.total ?? 0
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted()
}

function flip(path: string): void {
  const bytes = readFileSync(path)
  if (bytes.length === 0) bytes.write('')
  bytes[Math.floor(bytes.length / 2)]! ^= 1
  writeFileSync(path, bytes)
}

/** Sets variables of the environment of this process until it is disposed. */
function withEnvironment(variables: Readonly<Record<string, string>>): Disposable {
  const before = { ...process.env }
  Object.assign(process.env, variables)
  return {
    [Symbol.dispose]() {
      for (const name of Object.keys(variables)) delete process.env[name]
      Object.assign(process.env, before)
    },
  }
}
