import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { listenForCommands } from '../../src/control/listener'
import { callHolder, isAnswering } from '../../src/control/session'
import type { Holder } from '../../src/host/holder'
import { codeOf, refusalOf } from '../auth/setup'
import { blob } from '../contract/blob-fixture'
import { bring } from '../contract/content-fixture'
import { setupDataFolder } from './setup'

const TOKEN = 'the-control-token'

async function setup() {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(await setupDataFolder())
  const listener = listenForCommands(folder, TOKEN)
  undo.defer(() => listener.stop(true))
  const holder: Holder = { pid: 1, host: 'here', address: listener.address, token: TOKEN }
  const parts = undo.move()
  return {
    folder,
    holder,
    address: listener.address,
    post: (path: string, headers: Record<string, string> = {}, body = '') =>
      fetch(`http://satchel${path}`, {
        unix: listener.address,
        method: 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, ...headers },
        body,
      }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

test('does what the holder of the token asks', async () => {
  await using server = await setup()
  const created = await callHolder(server.holder, 'db.create', { name: 'todo' }, {})
  expect(created).toMatchObject({ name: 'todo', client: { clientSecret: expect.any(String) } })
  expect(await server.folder.hosts.list()).toEqual(['todo'])
})

test('refuses a wrong token, and does nothing', async () => {
  await using server = await setup()
  for (const authorization of ['Bearer wrong', '', TOKEN]) {
    const body = '{"input":{"name":"todo"}}'
    const response = await server.post('/_control/2/db.create', { authorization }, body)
    expect(response.status).toBe(401)
    expect(await response.text()).not.toContain(TOKEN)
  }
  expect(await server.folder.hosts.list()).toEqual([])
})

test('knows its operations only, and only by POST', async () => {
  await using server = await setup()
  for (const name of ['nothing', '', 'constructor', '__proto__', 'toString', '../../hello']) {
    expect((await server.post(`/_control/2/${name}`)).status).toBe(404)
  }
  const got = await fetch('http://satchel/_control/hello', {
    unix: server.address,
    headers: { authorization: `Bearer ${TOKEN}` },
  })
  expect(got.status).toBe(404)
})

test('an error arrives with its code, sentence and reason', async () => {
  await using server = await setup()
  await callHolder(server.holder, 'db.create', { name: 'todo' }, {})
  const again = await refusalOf(() => callHolder(server.holder, 'db.create', { name: 'todo' }, {}))
  expect(again.code).toBe('CONFLICT')
  expect(again.message).toContain('todo')
  expect(await codeOf(() => callHolder(server.holder, 'db.create', { name: 'admin' }, {}))).toBe(
    'UNPROCESSABLE',
  )
})

test('input of the wrong type is refused by name', async () => {
  await using server = await setup()
  for (const input of [{}, { name: 1 }, { name: null }, [], null]) {
    const refusal = await refusalOf(() => callHolder(server.holder, 'db.create', input, {}))
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toBe('name must be a string')
  }
})

test('malformed input is refused with 400, in the words of the command line too', async () => {
  await using server = await setup()
  for (const [body, message] of [
    ['{', 'The body of a command begins with a line of JSON'],
    ['[]', 'The body of a command begins with a line of JSON'],
    ['\n{"input":{"name":"todo"}}', 'The body of a command begins with a line of JSON'],
    ['', 'name must be a string'],
    ['{"input":{"name":1}}', 'name must be a string'],
    ['{"input":[]}\n', 'name must be a string'],
  ] as const) {
    const response = await server.post('/_control/2/db.create', {}, body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({ error: { code: 'INVALID_REQUEST', message } })
  }
  expect(await codeOf(() => callHolder(server.holder, 'nothing', {}, {}))).toBe('UNKNOWN_ROUTE')
  const stranger = { ...server.holder, token: 'wrong' }
  expect(await codeOf(() => callHolder(stranger, 'hello', {}, {}))).toBe('INVALID_TOKEN')
  expect(await server.folder.hosts.list()).toEqual([])
})

test('an input of many megabytes arrives whole, with the file that follows it', async () => {
  await using server = await setup()
  await callHolder(server.holder, 'db.create', { name: 'todo' }, {})
  const upload = new Blob(['{"notes":"@id"}']).stream()
  await callHolder(server.holder, 'schema.push', { database: 'todo', wait: true }, { upload })
  const value = { id: 'large', realmId: 'rlm-public', text: 'ü\n'.repeat(3_000_000) }
  const input = { database: 'todo', table: 'notes', value }
  expect(await callHolder(server.holder, 'object.put', input, {})).toMatchObject({ key: 'large' })
  const shown = { database: 'todo', table: 'notes', key: 'large' }
  expect(await callHolder(server.holder, 'object.show', shown, {})).toMatchObject({ value })
})

test('an input beyond the limit is refused by its name, on both sides', async () => {
  await using server = await setup()
  const input = { name: 'x'.repeat(32 * 1024 * 1024) }
  const refusal = await refusalOf(() => callHolder(server.holder, 'db.create', input, {}))
  const message = 'The input of a command has at most 32 MiB'
  expect(refusal).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', message })
  const response = await server.post('/_control/2/db.create', {}, JSON.stringify({ input }))
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error: { code: 'PAYLOAD_TOO_LARGE', message } })
})

test('a command of another version finds the server, and is told what to do', async () => {
  await using server = await setup()
  expect((await server.post('/_control/hello?input=%7B%7D')).status).toBe(200)
  const input = encodeURIComponent('{"name":"todo"}')
  for (const path of [`/_control/db.create?input=${input}`, '/_control/3/db.create']) {
    const response = await server.post(path)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('restart the server with the version of the command')
  }
  expect(await server.folder.hosts.list()).toEqual([])
})

test('no other user of the machine can connect', async () => {
  await using server = await setup()
  const { address } = server.holder
  expect(dirname(address!)).toBe(server.folder.path)
  expect(statSync(server.folder.path).mode & 0o077).toBe(0)
})

test.if(process.getuid?.() === 0)(
  'a program of another user is kept out by the system',
  async () => {
    await using server = await setup()
    const { address } = server.holder
    const script = `require('node:net').connect(process.argv[1])
    .on('connect', () => { console.log('connected'); process.exit() })
    .on('error', ({ code }) => { console.log(code); process.exit() })`
    const connect = async (user: readonly string[]) => {
      const child = Bun.spawn([...user, process.execPath, '-e', script, address!], {
        stdout: 'pipe',
      })
      return (await child.stdout.text()).trim()
    }
    expect(await connect([])).toBe('connected')
    expect(await connect(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'])).toBe(
      'EACCES',
    )
  },
)

test('is in a folder of its own where the data folder cannot have sockets, and leaves nothing', async () => {
  await using folder = await setupDataFolder()
  // A folder in the place of the socket, which is not empty.
  mkdirSync(join(folder.path, 'control.sock', 'x'), { recursive: true })
  const listener = listenForCommands(folder, TOKEN)
  const place = dirname(listener.address)
  expect(place).toStartWith(join(tmpdir(), 'satchel-control-'))
  expect(statSync(place).mode & 0o077).toBe(0)
  const holder: Holder = { pid: 1, host: 'here', address: listener.address, token: TOKEN }
  expect(await isAnswering(holder)).toBe(true)
  await listener.stop(true)
  expect(existsSync(place)).toBe(false)
})

test('is answering only for the token of this start', async () => {
  await using server = await setup()
  expect(await isAnswering(server.holder)).toBe(true)
  expect(await isAnswering({ ...server.holder, token: 'of an earlier start' })).toBe(false)
  expect(await isAnswering({ ...server.holder, address: null })).toBe(false)
  expect(await isAnswering({ ...server.holder, address: '/nowhere' })).toBe(false)
})

test('does not go through the proxy that the environment names', async () => {
  await using server = await setup()
  const before = process.env['http_proxy']
  process.env['http_proxy'] = 'http://127.0.0.1:1'
  try {
    expect(await isAnswering(server.holder)).toBe(true)
  } finally {
    if (before === undefined) delete process.env['http_proxy']
    else process.env['http_proxy'] = before
  }
})

test('a download arrives as it was sent, also by a slow reader who keeps its pieces', async () => {
  await using server = await setup()
  await callHolder(server.holder, 'db.create', { name: 'todo' }, {})
  const { database, blobs } = await server.folder.hosts.open('todo')
  const sent = crypto.getRandomValues(Buffer.alloc(5_000_001))
  const { hash, file } = await bring(blobs, sent)
  await database.write((tx) => tx.blobs.put(blob('large', { hash, file, size: sent.length }), null))
  const read: Uint8Array[] = []
  const download = async (bytes: Uint8Array) => {
    read.push(bytes)
    if (read.length % 10 === 0) await Bun.sleep(20)
  }
  await callHolder(server.holder, 'blob.read', { database: 'todo', blob: 'large' }, { download })
  expect(Buffer.concat(read).equals(sent)).toBe(true)
})
