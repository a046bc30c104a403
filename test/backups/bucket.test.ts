import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { openBucketTarget, readCredentials } from '../../src/backups/bucket'
import { openTarget } from '../../src/backups/open'
import { runJson, runSatchel } from '../cli/setup'
import { freePort } from '../ports'
import { setupServer, temporaryFolder } from '../setup'
import { until } from '../timing'

/** A server of S3: go install github.com/versity/versitygw/cmd/versitygw@latest. */
const SERVER =
  Bun.which('versitygw') ??
  [join(homedir(), 'go', 'bin', 'versitygw')].find((path) => existsSync(path))

const ACCESS = { AWS_ACCESS_KEY_ID: 'satchel', AWS_SECRET_ACCESS_KEY: 'a-secret-of-tests' }
const KEY = randomBytes(32).toString('base64')

describe.skipIf(SERVER === undefined)('a bucket (needs versitygw)', () => {
  const undo = new AsyncDisposableStack()
  let root = ''
  const before = { ...process.env }

  beforeAll(async () => {
    root = undo.use(temporaryFolder()).path
    mkdirSync(join(root, 'bucket'))
    const port = freePort()
    const words = ['--access', ACCESS.AWS_ACCESS_KEY_ID, '--secret', ACCESS.AWS_SECRET_ACCESS_KEY]
    const server = Bun.spawn(
      [SERVER ?? '', '--port', `127.0.0.1:${port}`, ...words, 'posix', root],
      { stdout: 'ignore', stderr: 'ignore' },
    )
    undo.defer(async () => {
      server.kill()
      await server.exited
    })
    const endpoint = `http://127.0.0.1:${port}`
    Object.assign(process.env, ACCESS, { AWS_ENDPOINT_URL: endpoint, AWS_REGION: 'us-east-1' })
    await until(() => isUp(endpoint))
  })

  afterAll(async () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    await undo.disposeAsync()
  })

  test('takes sealed backups, lists, verifies, restores and prunes them', async () => {
    await using server = await setupServer()
    const marked = 'a text that nobody shall find in the bucket'
    await storeBlob(server.main, await server.token(), `${marked} `.repeat(5_000))
    await runJson(['user', 'add', 'anna@example.com', '--data', server.folder])
    using folder = temporaryFolder()
    const keyFile = join(folder.path, 'key')
    writeFileSync(keyFile, `${KEY}\n`)
    const key = ['--backup-key-file', keyFile]
    const address = 's3://bucket/sealed'
    const made = await runJson<{ backup: string }>([
      'backup',
      address,
      '--data',
      server.folder,
      ...key,
    ])
    const { data } = await runJson<{ data: unknown[] }>(['backup', 'list', address, ...key])
    expect(data).toMatchObject([{ backup: made.backup, databases: ['main'] }])
    expect((await runSatchel(['backup', 'verify', address, ...key])).stderr).toBe('')
    const stored = join(root, 'bucket', 'sealed', made.backup)
    for (const path of filesBelow(stored)) {
      const bytes = readFileSync(join(stored, path))
      expect(bytes.subarray(0, 8).toString()).toBe('SATCHEL1')
      expect(bytes.includes(marked)).toBe(false)
    }
    const restored = join(folder.path, 'restored')
    const from = `${address}/${made.backup}`
    await runJson(['restore', from, '--data', restored, ...key])
    expect(await runSatchel(['blob', 'verify', '--data', restored])).toMatchObject({ exitCode: 0 })
    await runSatchel(['user', 'delete', 'anna@example.com', '--yes', '--data', server.folder])
    const second = await runJson<{ backup: string }>([
      'backup',
      address,
      '--data',
      server.folder,
      ...key,
    ])
    const again = ['restore', from, '--data', join(folder.path, 'again'), ...key]
    expect(await runJson(again)).toMatchObject({ erasedUsers: 1 })
    await runJson(['backup', 'prune', address, '--keep', '1d', ...key])
    expect(readdirSync(join(root, 'bucket', 'sealed'))).toEqual([second.backup])
  })

  test('refuses every file of a backup that was changed, cut off or swapped', async () => {
    await using server = await setupServer()
    await storeBlob(server.main, await server.token(), 'some text')
    const address = 's3://bucket/changed'
    process.env['SATCHEL_BACKUP_KEY'] = KEY
    const args = ['backup', address, '--data', server.folder]
    const { backup } = await runJson<{ backup: string }>(args)
    const stored = join(root, 'bucket', 'changed', backup)
    const paths = filesBelow(stored)
    expect(paths).toHaveLength(6)
    for (const path of paths) {
      const file = join(stored, path)
      const bytes = readFileSync(file)
      const other = readFileSync(join(stored, paths.find((each) => each !== path) ?? ''))
      const flipped = Buffer.from(bytes)
      flipped[bytes.length - 20]! ^= 1
      for (const changed of [flipped, bytes.subarray(0, -1), other]) {
        writeFileSync(file, changed)
        const { exitCode } = await runSatchel(['backup', 'verify', address])
        expect([path, exitCode]).toEqual([path, 1])
      }
      writeFileSync(file, bytes)
    }
    expect(await runSatchel(['backup', 'verify', address])).toMatchObject({ exitCode: 0 })
    delete process.env['SATCHEL_BACKUP_KEY']
  })

  test('takes no keys of databases when it is not sealed, and leaves nothing of a backup that fails', async () => {
    await using server = await setupServer()
    const address = 's3://bucket/plain'
    const unsealed = await runSatchel(['backup', address, '--data', server.folder])
    expect(unsealed.exitCode).toBe(1)
    expect(unsealed.stderr).toContain('A backup in a bucket is sealed')
    const plain = ['--backup-plain']
    const args = ['backup', address, '--data', server.folder, ...plain]
    const { backup } = await runJson<{ backup: string }>(args)
    const stored = filesBelow(join(root, 'bucket', 'plain', backup))
    expect(stored).toContain('databases/main/database.sqlite')
    expect(stored).not.toContain('databases/main/secret.key')
    using folder = temporaryFolder()
    const from = `${address}/${backup}`
    const keyless = await runSatchel(['restore', from, '--data', join(folder.path, 'a'), ...plain])
    expect(keyless.stderr).toContain('The key of this backup is not in it')
    const target = openTarget(address, { backupKey: null, backupKeyFile: null, backupPlain: true })
    {
      await using draft = await target.begin('2030-01-01T00-00-00Z')
      const sink = await draft.create('server.sqlite')
      await sink.write(Buffer.from('half'))
      await sink.end()
    }
    expect(await target.list()).toEqual([backup])
    expect(readdirSync(join(root, 'bucket', 'plain'))).toEqual([backup])
  })

  test('that is not there is named, without a secret', async () => {
    using data = temporaryFolder()
    await runJson(['db', 'create', 'main', '--data', data.path])
    const args = ['backup', 's3://missing-bucket/x', '--data', data.path, '--backup-plain']
    const { exitCode, stderr } = await runSatchel(args)
    expect(exitCode).toBe(1)
    expect(stderr).toContain('s3://missing-bucket/x cannot be used')
    expect(stderr).not.toContain(ACCESS.AWS_SECRET_ACCESS_KEY)
  })
})

const OPTIONS = {
  key: null,
  endpoint: undefined,
  region: undefined,
  credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
}

test.each(['s3://', 's3://x', 's3://Bucket/x', 's3://bucket/../x', 's3://bucket/a//b'])(
  '%s is no address of a bucket',
  (address) => {
    expect(() => openBucketTarget(address, OPTIONS)).toThrow('s3://bucket/prefix')
  },
)

test('a bucket is reached by https, or on this machine', () => {
  const open = (endpoint: string) => openBucketTarget('s3://bucket/x', { ...OPTIONS, endpoint })
  expect(() => open('http://s3.example.com')).toThrow('must be an https address')
  expect(() => open('http://127.0.0.1.example.com')).toThrow('must be an https address')
  for (const endpoint of ['https://s3.example.com', 'http://127.0.0.1:9000']) open(endpoint)
})

test('credentials come from the environment or a file', () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'credentials')
  writeFileSync(
    file,
    '[default]\naws_access_key_id = one\naws_secret_access_key = two\n[other]\naws_access_key_id = no\n',
  )
  expect(readCredentials({ AWS_SHARED_CREDENTIALS_FILE: file })).toEqual({
    accessKeyId: 'one',
    secretAccessKey: 'two',
  })
  expect(readCredentials({ ...ACCESS, AWS_SESSION_TOKEN: 'three' })).toEqual({
    accessKeyId: ACCESS.AWS_ACCESS_KEY_ID,
    secretAccessKey: ACCESS.AWS_SECRET_ACCESS_KEY,
    sessionToken: 'three',
  })
  expect(() => readCredentials({})).toThrow('A bucket needs credentials')
  const missing = { AWS_SHARED_CREDENTIALS_FILE: join(folder.path, 'none') }
  expect(() => readCredentials(missing)).toThrow('cannot be read')
})

async function storeBlob(main: string, token: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' }
  await fetch(`${main}/blob/a-blob-with-a-name`, { method: 'PUT', headers, body })
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted()
}

async function isUp(endpoint: string): Promise<boolean> {
  return await fetch(endpoint).then(
    () => true,
    () => false,
  )
}
