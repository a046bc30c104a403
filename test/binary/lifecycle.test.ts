import { describe, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { version } from '../../package.json'
import { openSession } from '../../src/control/session'
import { readHolder } from '../../src/host/holder'
import { serveHangingBucket } from '../backups/hanging-bucket'
import { canFreeze, mountFreezableDisk } from '../lab/frozen-disk'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, pushSchema, type Ready, satchel, satchelJson, serve } from './setup'
import { turns, until } from '../timing'

/** A folder with a server whose database has the table `todoItems`. */
async function setup(args: readonly string[] = []) {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const surroundings = { cwd: folder.path }
  const server = undo.use(await serve(surroundings, args))
  await pushSchema(surroundings, { todoItems: '@id, title' })
  const { accessToken } = await satchelJson<{ accessToken: string }>(
    ['token', '--sub', 'alice@example.com'],
    surroundings,
  )
  const parts = undo.move()
  return {
    surroundings,
    server,
    accessToken,
    data: join(folder.path, 'data'),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** Sends the beginning of `POST /main/my/todoItems`; `rest` is left for later. */
async function beginPost(ready: Ready, accessToken: string) {
  const body = '{"id": "late", "title": "Begun before the end"}'
  const { port } = new URL(ready.url)
  const socket = connect(Number(port), '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  const head = [
    'POST /main/my/todoItems HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${accessToken}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
  // The server reads what arrived earlier first.
  await fetch(`${ready.url}/health`)
  return { socket, rest: body.slice(10) }
}

/** It does so as soon as it has begun to stop. */
async function refusesRequests({ url }: Ready): Promise<boolean> {
  const { status } = await fetch(`${url}/ready`)
  return status === 503
}

function answerOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    socket.on('data', (bytes) => (text += String(bytes)))
    socket.on('error', () => resolve(text))
    socket.on('close', () => resolve(text))
  })
}

// promises.md 10
test('a second server on the folder is refused and names the first', async () => {
  await using first = await setup()
  const second = await satchel(['serve', '--port', '0'], first.surroundings)
  expect(second).toMatchObject({ exitCode: 1, stdout: '' })
  expect(second.stderr).toContain(`in use by process ${first.server.pid}`)
  expect(second.stderr.trim().split('\n')).toHaveLength(1)
  expect((await fetch(`${first.server.ready.url}/ready`)).status).toBe(200)
})

test('kill -9 frees the folder, and the token of the dead server opens nothing', async () => {
  await using first = await setup()
  const holder = readHolder(first.data)
  first.server.kill('SIGKILL')
  await first.server.exited
  await using second = await serve(first.surroundings)
  expect(second.ready.databases).toHaveLength(1)
  await until(() => readHolder(first.data)?.address !== null)
  const replaced = readHolder(first.data)
  expect(replaced).toMatchObject({ pid: second.pid, token: expect.any(String) })
  expect(replaced?.token).not.toBe(holder?.token)
})

// promises.md 45
test('SIGTERM finishes what is in flight, truncates the log of the database and exits with 0', async () => {
  await using satchel = await setup()
  const { server, accessToken, data } = satchel
  const { socket, rest } = await beginPost(server.ready, accessToken)
  const answer = answerOf(socket)
  server.kill('SIGTERM')
  await until(() => refusesRequests(server.ready))
  const late = await fetch(`${server.ready.url}/main/my/todoItems`)
  expect({ status: late.status, after: late.headers.get('retry-after') }).toEqual({
    status: 503,
    after: '1',
  })
  expect(await late.json()).toMatchObject({ code: 'BUSY' })
  const waiting = fetch(`${server.ready.url}/main/sync`, { method: 'POST', body: '{}' })
  const cut = waiting.then(
    () => 'answered',
    () => 'cut',
  )
  expect((await fetch(`${server.ready.url}/health`)).status).toBe(200)
  socket.write(rest)
  expect(await answer).toStartWith('HTTP/1.1 200')
  expect(await cut).toBe('cut')
  expect(await server.exited).toBe(0)
  expect(existsSync(join(data, 'holder.json'))).toBe(false)
  const wal = join(data, 'databases/main/database.sqlite-wal')
  expect(statSync(wal, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
  await using again = await serve(satchel.surroundings)
  const stored = await fetch(`${again.ready.url}/main/my/todoItems/late`, {
    headers: { authorization: `Bearer ${accessToken}` },
  })
  expect(await stored.json()).toMatchObject({ title: 'Begun before the end' })
})

// promises.md 45
test('open requests are aborted 10 s after SIGTERM', async () => {
  await using satchel = await setup()
  const { server, accessToken } = satchel
  const { socket } = await beginPost(server.ready, accessToken)
  const answer = answerOf(socket)
  const events: string[] = []
  void Bun.sleep(9_000).then(() => events.push('almost ten seconds'))
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  // A test that slept through both learns of the end first.
  await turns()
  expect(events).toEqual(['almost ten seconds'])
  expect(await answer).not.toContain('200')
  expect(await server.log).toContain('were aborted')
})

// promises.md 45
test('a backup whose bucket does not answer is left unfinished 10 s after SIGTERM', async () => {
  using folder = temporaryFolder()
  using bucket = serveHangingBucket()
  const surroundings = { cwd: folder.path, environment: bucket.environment }
  const server = await serve(surroundings, ['--backup', bucket.address, '--backup-plain'])
  const commands = await openSession(server.ready.folder, () => undefined)
  const made = commands.run('backup.make', {}).then(String, (error: Error) => error.message)
  await bucket.hung
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  expect(await made).toContain('stopped before the command was done')
  await using again = await serve(surroundings)
  expect((await fetch(`${again.ready.url}/ready`)).status).toBe(200)
})

describe.skipIf(!canFreeze())('a disk for backups that hangs', () => {
  test('keeps neither the data folder nor the address of a server that is stopped', async () => {
    using folder = temporaryFolder()
    using disk = mountFreezableDisk(64)
    const args = ['--backup', join(disk.path, 'backups')]
    const first = await serve({ cwd: folder.path }, args)
    const commands = await openSession(first.ready.folder, () => undefined)
    await commands.run('backup.make', {})
    disk.freeze()
    const made = commands.run('backup.make', {}).catch(() => 'ended')
    await Bun.sleep(300)
    first.kill('SIGTERM')
    // The system ends no process that waits for such a disk.
    await until(() => readHolder(first.ready.folder) === undefined)
    await using second = await serve({ cwd: folder.path }, args)
    expect((await fetch(`${second.ready.url}/ready`)).status).toBe(200)
    disk.thaw()
    expect([await first.exited, await made]).toEqual([0, 'ended'])
  })
})

// promises.md 45
test('a second signal ends it at once', async () => {
  await using satchel = await setup()
  const { server, accessToken } = satchel
  const { socket } = await beginPost(server.ready, accessToken)
  server.kill('SIGTERM')
  await until(() => refusesRequests(server.ready))
  server.kill('SIGTERM')
  expect(await server.exited).toBe(143)
  expect(await server.log).not.toContain('were aborted')
  socket.destroy()
})

// promises.md 45
test('SIGHUP ends it in order when its terminal hangs up', async () => {
  using folder = temporaryFolder()
  let screen = ''
  const child = Bun.spawn([EXECUTABLE, 'serve', '--port', '0'], {
    cwd: folder.path,
    env: {},
    terminal: { data: (_, bytes) => void (screen += new TextDecoder().decode(bytes)) },
  })
  await until(() => screen.includes('Ctrl-C stops it'))
  child.kill('SIGHUP')
  expect(await child.exited).toBe(0)
  child.terminal?.close()
  expect(existsSync(join(folder.path, 'data', 'holder.json'))).toBe(false)
})

test('the log is one line of JSON per request, complete at the end, without the query', async () => {
  await using satchel = await setup()
  const { server, accessToken } = satchel
  const headers = { authorization: `Bearer ${accessToken}` }
  for (let i = 0; i < 100; i++) {
    await fetch(`${server.ready.url}/main/my/todoItems?title=secret-${i}`, { headers })
  }
  server.kill('SIGTERM')
  const log = await server.log
  const entries = log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { path?: string })
  expect(entries.filter(({ path }) => path === '/main/my/todoItems')).toHaveLength(100)
  expect(log).not.toContain('secret-')
  expect(log).not.toContain(accessToken)
})

test('a port in use is one sentence, and the first secret is not lost to it', async () => {
  await using first = await setup()
  using folder = temporaryFolder()
  const { port } = new URL(first.server.ready.url)
  const refused = await satchel(['serve', '--port', port, '--json'], { cwd: folder.path })
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
  expect(JSON.parse(refused.stderr)).toMatchObject({
    error: {
      code: 'CONFLICT',
      message: expect.stringContaining(`Port ${port} of 127.0.0.1 is in use`),
    },
  })
  await using second = await serve({ cwd: folder.path })
  expect(second.ready.client).toBeDefined()
})

test('an address that is not of this machine is a mistake of usage', async () => {
  using folder = temporaryFolder()
  const refused = await satchel(['serve', '--host', '192.0.2.1', '--port', '0'], {
    cwd: folder.path,
  })
  expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
  expect(refused.stderr).toBe(
    'satchel: --host: 192.0.2.1 is not an address of this machine: use one of its own, or 0.0.0.0 for all\n',
  )
})

test('data of a newer version is refused and left alone', async () => {
  const older = await setup()
  await using _ = older
  older.server.kill('SIGTERM')
  await older.server.exited
  const file = join(older.data, 'databases/main/database.sqlite')
  {
    using db = new Database(file)
    db.run("INSERT INTO migrations (name, hash, version) VALUES ('9999_future', 'x', '99.1.0')")
  }
  const before = readFileSync(file)
  const refused = await satchel(['serve', '--port', '0', '--json'], older.surroundings)
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
  expect(JSON.parse(refused.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
    error: {
      code: 'NEWER_DATA',
      message: `The data was written by Satchel 99.1.0 (migration 9999_future), and this is Satchel ${version}: use 99.1.0 or a newer version`,
    },
  })
  const command = await satchel(['client', 'list', '--json'], older.surroundings)
  expect(command.exitCode).toBe(1)
  expect(JSON.parse(command.stderr)).toMatchObject({ error: { code: 'NEWER_DATA' } })
  expect(readFileSync(file).equals(before)).toBe(true)
})
