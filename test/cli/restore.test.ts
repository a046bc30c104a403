import { postJson } from '../http/setup'
import { Database as SqliteDatabase } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readManifest, writeManifest } from '../../src/domain/backup/manifest'
import { setupServer, temporaryFolder, type TestServer } from '../setup'
import { runJson, runSatchel } from './setup'

describe('satchel restore', () => {
  test('makes a data folder that serves what was backed up: objects, blobs, clients', async () => {
    await using place = await setupBackup()
    const data = join(place.path, 'restored')
    const restored = await runJson(['restore', place.backup, '--data', data])
    expect(restored).toMatchObject({ folder: data, databases: ['main'] })
    expect(readdirSync(data).toSorted()).toEqual(['databases', 'lock.sqlite', 'server.sqlite'])
    expect(await rolesIn(data)).toEqual(['one', 'two'])
    const checks = [
      ['verify', '--data', data],
      ['blob', 'verify', '--data', data],
    ]
    for (const check of checks) expect((await runSatchel(check)).stderr).toBe('')
    const { data: clients } = await runJson<{ data: { clientId: string }[] }>([
      'client',
      'list',
      '--data',
      data,
    ])
    expect(clients.map(({ clientId }) => clientId)).toEqual([place.clientId])
  })

  test('goes on with a run, an epoch and a revision of its own, without codes and mails', async () => {
    await using place = await setupBackup()
    const before = stateOf(join(place.backup, 'databases', 'main'))
    const [first, second] = [join(place.path, 'first'), join(place.path, 'second')]
    for (const data of [first, second]) await runJson(['restore', place.backup, '--data', data])
    const states = [first, second].map((data) => stateOf(join(data, 'databases', 'main')))
    for (const { id, epoch, revision, runs } of states) {
      expect(id).toBe(before.id)
      expect(epoch).not.toBe(before.epoch)
      expect(revision).toBe(before.revision + 1)
      expect(runs.slice(0, -1)).toEqual(before.runs)
      expect(runs.at(-1)?.first).toBe(before.revision)
    }
    expect(states[0]?.runs.at(-1)?.run).not.toBe(states[1]?.runs.at(-1)?.run)
    expect(states.map(({ codes, mails }) => codes + mails)).toEqual([0, 0])
    expect(before.codes).toBeGreaterThan(0)
    expect(states.map(({ keys }) => keys)).toEqual([before.keys, before.keys])
  })

  test('ends all logins with --revoke-logins', async () => {
    await using place = await setupBackup()
    const data = join(place.path, 'restored')
    const { stdout } = await runSatchel([
      'restore',
      place.backup,
      '--data',
      data,
      '--revoke-logins',
    ])
    expect(stdout).toContain('Everybody logs in again')
    expect(stateOf(join(data, 'databases', 'main'))).toMatchObject({ keys: 0, refreshTokens: 0 })
  })

  test('makes a database of its own beside the original, through the running server', async () => {
    await using place = await setupBackup()
    const { server } = place
    await storeRoles(server, 'late')
    const args = ['restore', place.backup, '--as', 'old', '--data', server.folder]
    const restored = await runJson<{ url: string; id: string }>(args)
    expect(restored.url).toBe(`${server.url}/old`)
    expect(await rolesIn(server.folder, 'old')).toEqual(['one', 'two'])
    expect(await rolesIn(server.folder)).toEqual(['late', 'one', 'two'])
    expect(restored.id).not.toBe(stateOf(join(place.backup, 'databases', 'main')).id)
    expect(
      await runSatchel(['blob', 'verify', '--db', 'old', '--data', server.folder]),
    ).toMatchObject({
      exitCode: 0,
    })
    const again = await runSatchel(args)
    expect(again.exitCode).toBe(1)
    expect(again.stderr).toContain('The database old exists already')
    expect(namesOf(join(server.folder, 'databases'))).toEqual(['main', 'old'])
  })

  test('keeps the identity of a database that this server has no more', async () => {
    await using place = await setupBackup()
    const { server } = place
    await runJson(['db', 'create', 'other', '--data', server.folder])
    await runJson(['db', 'delete', 'main', '--yes', '--data', server.folder])
    const args = ['restore', place.backup, '--as', 'main', '--data', server.folder]
    const { id } = await runJson<{ id: string }>(args)
    expect(id).toBe(stateOf(join(place.backup, 'databases', 'main')).id)
    // The credentials of its client are good again.
    expect(await server.token()).toBeString()
  })
})

describe('satchel restore refuses, and writes nothing', () => {
  test.each(['database.sqlite', 'blobs.ndjson', 'secret.key'])(
    'when %s is damaged',
    async (name) => {
      await using place = await setupBackup()
      flip(join(place.backup, 'databases', 'main', name))
      await expectRefusal(place, `damaged: databases/main/${name}`)
    },
  )

  test('when a file is missing, cut short, or added', async () => {
    await using place = await setupBackup()
    const main = join(place.backup, 'databases', 'main')
    writeFileSync(join(main, 'more'), '')
    await expectRefusal(place, 'added by somebody: databases/main/more')
    rmSync(join(main, 'more'))
    truncateSync(join(main, 'database.sqlite'), 4096)
    await expectRefusal(place, 'damaged: databases/main/database.sqlite')
    rmSync(join(main, 'database.sqlite'))
    await expectRefusal(place, 'missing: databases/main/database.sqlite')
  })

  test('when the manifest is damaged, missing or foreign', async () => {
    await using place = await setupBackup()
    const manifest = join(place.backup, 'manifest.json')
    const text = readFileSync(manifest, 'utf8')
    flip(manifest)
    await expectRefusal(place, 'manifest.json is damaged')
    writeFileSync(manifest, '{"name":"holiday"}')
    await expectRefusal(place, 'manifest.json is damaged')
    rmSync(manifest)
    await expectRefusal(place, 'There is no complete backup', 2)
    writeFileSync(manifest, text.replaceAll('"path":"server.sqlite"', '"path":"../server.sqlite"'))
    await expectRefusal(place, 'manifest.json is damaged')
  })

  test('paths out of the backup in a manifest of a stranger', async () => {
    await using place = await setupBackup()
    const manifest = join(place.backup, 'manifest.json')
    const known = readManifest(readFileSync(manifest, 'utf8')).manifest
    const files = [...known.files, { path: '../../secret', size: 1, hash: 'a'.repeat(64) }]
    writeFileSync(manifest, writeManifest({ ...known, files }).text)
    await expectRefusal(place, 'missing: ../../secret')
    const [main] = known.databases
    const databases = [{ ...main!, name: '../evil' }]
    writeFileSync(manifest, writeManifest({ ...known, databases }).text)
    await expectRefusal(place, 'evil')
  })

  test('a folder that holds anything, and the folder of a running server', async () => {
    await using place = await setupBackup()
    const data = join(place.path, 'used')
    mkdirSync(data)
    writeFileSync(join(data, 'note.txt'), 'mine')
    const used = await runSatchel(['restore', place.backup, '--data', data])
    expect(used.exitCode).toBe(1)
    expect(used.stderr).toContain('is not empty (note.txt)')
    expect(readdirSync(data)).toEqual(['note.txt'])
    const served = await runSatchel(['restore', place.backup, '--data', place.server.folder])
    expect(served.exitCode).toBe(1)
    expect(served.stderr).toContain('is not empty')
    expect(await rolesIn(place.server.folder)).toEqual(['one', 'two'])
  })

  test('a database of a newer version, and one of another build', async () => {
    await using place = await setupBackup()
    rewrite(place.backup, (db) =>
      db.run("INSERT INTO migrations VALUES (99, '0099_future', 'x', '99.1.0')"),
    )
    await expectRefusal(
      place,
      'written by Satchel 99.1.0 (migration 0099_future), and this is Satchel',
    )
    rewrite(place.backup, (db) => {
      db.run('DELETE FROM migrations WHERE number = 99')
      db.run("UPDATE migrations SET hash = 'x'")
    })
    await expectRefusal(place, 'Another build of Satchel made this data')
  })

  test.each([
    ['trigger', 'CREATE TRIGGER evil AFTER UPDATE ON database BEGIN DELETE FROM clients; END'],
    ['view', 'CREATE VIEW evil AS SELECT 1'],
    ['virtual table', 'CREATE VIRTUAL TABLE evil USING fts5(text)'],
  ])('a file with a %s that Satchel did not make', async (kind, sql) => {
    await using place = await setupBackup()
    rewrite(place.backup, (db) => db.run(sql))
    await expectRefusal(place, kind === 'virtual table' ? 'evil' : `the ${kind} "evil"`)
  })

  test('a file whose structure is damaged, whatever its hash', async () => {
    await using place = await setupBackup()
    const file = join(place.backup, 'databases', 'main', 'database.sqlite')
    const bytes = readFileSync(file)
    bytes.fill(0xff, 8 * 4096, 20 * 4096)
    writeFileSync(file, bytes)
    rehash(place.backup)
    await expectRefusal(place, 'it is damaged')
  })

  test('a backup without its key, or with another key in the settings', async () => {
    await using place = await setupBackup()
    const settings = join(place.path, 'settings.json')
    writeFileSync(settings, JSON.stringify({ secretKey: Buffer.alloc(32, 1).toString('base64') }))
    const data = join(place.path, 'restored')
    const args = ['restore', place.backup, '--data', data, '--config', settings]
    const other = await runSatchel(args)
    expect(other.exitCode).toBe(1)
    expect(other.stderr).toContain('sealed with another key than SATCHEL_SECRET_KEY')
    expect(existsSync(data)).toBe(false)
    const key = readFileSync(join(place.backup, 'databases/main/secret.key'), 'utf8')
    removeFrom(place.backup, 'databases/main/secret.key')
    await expectRefusal(place, 'The key of this backup is not in it')
    // With the key that the server had it is complete.
    writeFileSync(settings, JSON.stringify({ secretKey: key.trim() }))
    expect((await runSatchel(args)).stderr).toBe('')
  })

  test('a name that is none, and a choice that is not clear', async () => {
    await using place = await setupBackup()
    const { folder } = place.server
    const args = ['restore', place.backup, '--data', folder]
    expect((await runSatchel([...args, '--as', 'No Name'])).exitCode).toBe(1)
    expect((await runSatchel([...args, '--as', 'old', '--db', 'none'])).stderr).toContain(
      'Choose a database of the backup with --db: it has main',
    )
    expect((await runSatchel([...args, '--db', 'main'])).exitCode).toBe(2)
    expect(namesOf(join(folder, 'databases'))).toEqual(['main'])
  })
})

describe('users who were deleted after the backup', () => {
  test('are deleted again by a restore, which says so, with all that was theirs; a new life of the id is not', async () => {
    await using place = await setupBackup()
    const { server } = place
    const user = (...words: string[]) => runSatchel(['user', ...words, '--data', server.folder])
    for (const id of ['anna@example.com', 'bert@example.com']) await user('add', id)
    await storeOf(server, 'anna@example.com', 'annas diary')
    const [before, after] = await backUpTwice(place, async () => {
      await user('delete', 'anna@example.com', '--yes')
      await user('delete', 'bert@example.com', '--yes')
      await user('add', 'bert@example.com')
      // Several later backups name them.
      await runJson(['backup', dirname(place.backup), '--data', server.folder])
    })
    const data = join(place.path, 'restored')
    const { stdout } = await runSatchel(['restore', before, '--data', data])
    expect(stdout).toContain('2 users deleted after the backup, by the list of a later one')
    expect(await usersIn(data)).not.toContain('anna@example.com')
    expect(await usersIn(data)).not.toContain('bert@example.com')
    await runJson(['db', 'compact', 'main', '--data', data])
    expect(filesWith(data, 'annas diary')).toEqual([])
    expect((await runSatchel(['verify', '--data', data])).stderr).toBe('')
    // Beside the original too, by the running server; the later one has the user who came back.
    const as = ['restore', before, '--data', server.folder, '--as', 'old']
    expect(await runJson(as)).toMatchObject({ erasedUsers: 2 })
    const later = await runJson(['restore', after, '--data', join(place.path, 'later')])
    expect(later).toMatchObject({ erasedUsers: 0 })
    expect(await usersIn(join(place.path, 'later'))).toContain('bert@example.com')
  })

  test('may be back where the later backup is damaged: a note names it', async () => {
    await using place = await setupBackup()
    const { server } = place
    await runSatchel(['user', 'add', 'anna@example.com', '--data', server.folder])
    const [before, after] = await backUpTwice(place, async () => {
      await runSatchel(['user', 'delete', 'anna@example.com', '--yes', '--data', server.folder])
    })
    flip(join(after, 'databases', 'main', 'erased.ndjson'))
    const data = join(place.path, 'restored')
    const { exitCode, stderr } = await runSatchel(['restore', before, '--data', data])
    expect(exitCode).toBe(0)
    expect(stderr).toContain(`The later backup ${basename(after)} cannot be read`)
    expect(await usersIn(data)).toContain('anna@example.com')
  })
})

describe('a restore that was interrupted', () => {
  test('is no data folder for a server, and is completed when it is repeated', async () => {
    await using place = await setupBackup()
    const data = join(place.path, 'restored')
    await runJson(['restore', place.backup, '--data', data])
    // As a kill between the two renames leaves it.
    const staging = join(data, '.restoring-abc')
    mkdirSync(staging)
    cpSync(join(data, 'databases'), join(staging, 'databases'), { recursive: true })
    rmSync(join(data, 'databases'), { recursive: true })
    const served = await runSatchel(['db', 'list', '--data', data])
    expect(served.exitCode).toBe(1)
    expect(served.stderr).toContain('was interrupted: repeat satchel restore')
    await runJson(['restore', place.backup, '--data', data])
    expect(await rolesIn(data)).toEqual(['one', 'two'])
    expect(readdirSync(data).some((name) => name.startsWith('.'))).toBe(false)
  })
})

/** Backups from before and after the work. */
async function backUpTwice(
  { backup, server }: Place,
  work: () => Promise<void>,
): Promise<[before: string, after: string]> {
  const target = dirname(backup)
  const args = ['backup', target, '--data', server.folder]
  const before = await runJson<{ backup: string }>(args)
  await work()
  const after = await runJson<{ backup: string }>(args)
  return [join(target, before.backup), join(target, after.backup)]
}

async function usersIn(data: string): Promise<string[]> {
  const { data: users } = await runJson<{ data: { userId: string }[] }>([
    'user',
    'list',
    '--data',
    data,
  ])
  return users.map(({ userId }) => userId)
}

async function storeOf(server: TestServer, sub: string, name: string): Promise<void> {
  const token = await server.token({ sub, scopes: ['ACCESS_DB'] })
  const answer = await postJson(
    `${server.main}/my/realms`,
    { name },
    { authorization: `Bearer ${token}` },
  )
  expect(answer.status).toBe(200)
}

/** The files below a folder with this text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text))
}

interface Place extends AsyncDisposable {
  readonly path: string
  readonly server: TestServer
  /** The folder of the backup. */
  readonly backup: string
  readonly clientId: string
}

/** A server with two objects, a blob and a login code, and a backup of it. */
async function setupBackup(): Promise<Place> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const server = undo.use(await setupServer())
  await storeRoles(server, 'one', 'two')
  const headers = { authorization: `Bearer ${await server.token()}`, 'content-type': 'text/plain' }
  await fetch(`${server.main}/blob/a-blob-with-a-name`, {
    method: 'PUT',
    headers,
    body: 'some text',
  })
  await postJson(`${server.main}/token`, {
    grant_type: 'otp',
    email: 'alice@example.com',
    scopes: ['ACCESS_DB'],
  })
  const target = join(folder.path, 'backups')
  const made = await runJson<{ backup: string }>(['backup', target, '--data', server.folder])
  const owned = undo.move()
  return {
    path: folder.path,
    server,
    backup: join(target, made.backup),
    clientId: server.client.clientId,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function expectRefusal({ path, backup }: Place, words: string, exitCode = 1): Promise<void> {
  const data = join(path, 'refused')
  const outcome = await runSatchel(['restore', backup, '--data', data])
  expect([outcome.exitCode, outcome.stderr]).toEqual([exitCode, expect.stringContaining(words)])
  expect(existsSync(data)).toBe(false)
}

async function storeRoles(server: TestServer, ...names: string[]): Promise<void> {
  const answer = await postJson(
    `${server.main}/all/roles`,
    names.map((name) => ({ realmId: 'rlm-public', name })),
    { authorization: `Bearer ${await server.token()}` },
  )
  expect(answer.status).toBe(200)
}

async function rolesIn(data: string, database = 'main'): Promise<string[]> {
  const args = ['export', '--table', 'roles', '--db', database, '--data', data]
  const { stdout } = await runSatchel(args)
  return stdout
    .split('\n')
    .filter((line) => line.includes('"name"'))
    .map((line) => (JSON.parse(line) as { data: { name: string } }).data.name)
    .toSorted()
}

/** What a restore changes in the database of a folder. */
function stateOf(folder: string) {
  using db = new SqliteDatabase(`file://${join(folder, 'database.sqlite')}?immutable=1`, 0x41)
  const count = (table: string) =>
    db.query<{ total: number }, []>(`SELECT count(*) AS total FROM ${table}`).get()?.total ?? 0
  const row = db
    .query<{ id: string; epoch: string; revision: number }, []>(
      'SELECT id, epoch, revision FROM database',
    )
    .get()!
  return {
    ...row,
    runs: db
      .query<{ run: string; first: number }, []>('SELECT run, first FROM runs ORDER BY first')
      .all(),
    codes: count('codes'),
    mails: count('mails'),
    keys: count('keys'),
    refreshTokens: count('refresh_tokens'),
  }
}

/** Changes the database of a backup, and its manifest so that nobody sees it. */
function rewrite(backup: string, change: (db: SqliteDatabase) => void): void {
  const file = join(backup, 'databases', 'main', 'database.sqlite')
  const db = new SqliteDatabase(file)
  change(db)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close(true)
  rehash(backup)
}

function rehash(backup: string): void {
  changeManifest(backup, (files) =>
    files.map(({ path }) => {
      const bytes = readFileSync(join(backup, path))
      const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
      return { path, size: bytes.length, hash }
    }),
  )
}

function removeFrom(backup: string, path: string): void {
  rmSync(join(backup, path))
  changeManifest(backup, (files) => files.filter((file) => file.path !== path))
}

type Files = ReturnType<typeof readManifest>['manifest']['files']

function changeManifest(backup: string, change: (files: Files) => Files): void {
  const file = join(backup, 'manifest.json')
  const { manifest } = readManifest(readFileSync(file, 'utf8'))
  writeFileSync(file, writeManifest({ ...manifest, files: change(manifest.files) }).text)
}

function namesOf(folder: string): string[] {
  return readdirSync(folder).toSorted()
}

function flip(path: string): void {
  const bytes = readFileSync(path)
  bytes[Math.floor(bytes.length / 2)]! ^= 1
  writeFileSync(path, bytes)
}
