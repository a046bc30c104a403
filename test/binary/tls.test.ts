import { asClient } from '../auth/setup'
import { expect, test } from 'bun:test'
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { temporaryFolder } from '../setup'
import { hasErrno } from '../../src/disk'
import { until } from '../timing'
import { realmSetHash } from '../../src/domain/sync/realm-set'
import { type Ready, satchel, serve } from './setup'

const canMakeCertificates = Bun.which('openssl') !== null

/** Makes `<name>.crt` and `<name>.key` for this machine, self-signed, with `name` as its common name. */
function makeCertificate(folder: string, name: string): void {
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
  const content = `-days 2 -subj /CN=${name} -addext subjectAltName=IP:127.0.0.1`
  const files = `-keyout ${name}.key -out ${name}.crt`
  const { exitCode } = Bun.spawnSync(
    ['openssl', 'req', '-x509', ...`${key} ${content} ${files}`.split(' ')],
    { cwd: folder, stderr: 'ignore' },
  )
  expect(exitCode).toBe(0)
}

/** The common name of the certificate that the server shows. */
function shownName(url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(url)
    const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false })
    socket.on('secureConnect', () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.end()
    })
    socket.on('error', reject)
  })
}

/** The kernel may reset a connection that arrives in the moment in which the listener is exchanged. */
async function untilShown(url: string, name: string): Promise<void> {
  await until(async () => {
    await Bun.sleep(100)
    try {
      return (await shownName(url)) === name
    } catch (error) {
      if (hasErrno(error, 'ECONNRESET')) return false
      throw error
    }
  })
}

/** The executable with the certificate `first` in a folder that has `second` too, to renew it with. */
async function setup({ wrapper = [] }: { readonly wrapper?: readonly string[] } = {}) {
  await using undo = new AsyncDisposableStack()
  const { path } = undo.use(temporaryFolder())
  for (const name of ['first', 'second']) makeCertificate(path, name)
  const files = ['--tls-cert', 'first.crt', '--tls-key', 'first.key']
  const server = undo.use(await serve({ cwd: path, wrapper }, files))
  const parts = undo.move()
  return {
    server,
    folder: path,
    url: server.ready.url,
    port: Number(new URL(server.ready.url).port),
    renew: (extension: 'crt' | 'key') =>
      renameSync(join(path, `second.${extension}`), join(path, `first.${extension}`)),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

test.if(canMakeCertificates)(
  'serves https and takes a renewed certificate without refusing a connection',
  async () => {
    await using served = await setup()
    const { server, url, port, renew } = served
    expect(url).toStartWith('https://127.0.0.1:')
    expect((await fetch(`${url}/health`, { tls })).status).toBe(200)
    expect(await shownName(url)).toBe('first')

    renew('crt')
    // Between the two files the pair does not fit: the old one stays.
    await server.logged((line) => line.includes('The new certificate cannot be used'))
    expect(await shownName(url)).toBe('first')
    renew('key')
    await untilShown(url, 'second')
    expect((await fetch(`${url}/health`, { tls })).status).toBe(200)

    using other = temporaryFolder()
    const refused = await satchel(['serve', '--port', String(port)], { cwd: other.path })
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is in use') })
    makeCertificate(other.path, 'third')
    const third = ['--tls-cert', 'third.crt', '--tls-key', 'third.key']
    const refusedTls = await satchel(['serve', '--port', String(port), ...third], {
      cwd: other.path,
    })
    expect(refusedTls).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is in use') })

    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    const log = await server.log
    expect(log).toContain('The new certificate is in use')
    expect(log).not.toContain('PRIVATE KEY')
  },
)

test.if(canMakeCertificates)(
  'a renewed certificate closes no open connection, and live changes arrive once',
  async () => {
    await using served = await setup()
    const { server, url, port, renew } = served
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    const chunks: Buffer[] = []
    socket.on('data', (bytes: Buffer) => chunks.push(bytes))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await new Promise((resolve) => socket.once('secureConnect', resolve))
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: cl')
    const live = new WebSocket(`${url.replace('https', 'wss')}/main/changes`, { tls })
    await new Promise((resolve) => live.addEventListener('open', resolve))

    renew('crt')
    renew('key')
    await untilShown(url, 'second')
    await Bun.sleep(500)
    socket.write('ose\r\n\r\n')
    await closed
    expect(Buffer.concat(chunks).toString()).toStartWith('HTTP/1.1 200 OK')
    const messages: string[] = []
    live.addEventListener('message', ({ data }) => messages.push(String(data)))
    await getReady(url, live)
    await storeRole(server.ready, 'reader')
    await until(() => messages.length > 0)
    live.send('{"type":"ping"}')
    await until(() => messages.includes('{"type":"pong"}'))
    expect(messages).toHaveLength(2)
    expect(messages[0]).toContain('"keys":["[\\"rlm-public\\",\\"reader\\"]"]')
    // The rest of the former certificate does not hold up the end.
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    expect(await server.log).not.toContain('were aborted')
  },
)

const tls = { rejectUnauthorized: false }

/** Says what an anonymous client has after a first sync. */
async function getReady(url: string, live: WebSocket): Promise<void> {
  const schema = { roles: { markedForSync: true } }
  const first = { v: 3, clientIdentity: 'one', schema, baseRevs: [], changes: [], y: [] }
  const answer = await fetch(`${url}/main/sync`, {
    method: 'POST',
    headers: { 'content-type': 'application/tson' },
    body: JSON.stringify(first),
    tls,
  })
  const { serverRevision } = (await answer.json()) as { serverRevision: string }
  const hash = realmSetHash(['rlm-public'], [])
  live.send(JSON.stringify({ type: 'ready', rev: serverRevision, realmSetHash: hash }))
}

async function storeRole({ url, client }: Ready, name: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const send = async (path: string, body: object, more: object = {}) => {
    const init = { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) }
    const answer = await fetch(`${url}/main${path}`, { ...init, tls })
    expect(answer.status).toBe(200)
    return (await answer.json()) as { accessToken: string }
  }
  const scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
  const { clientId, clientSecret } = client!
  const { accessToken } = await send('/token', { ...asClient({ clientId, clientSecret }), scopes })
  const role = { name, permissions: {} }
  await send('/public/roles', role, { authorization: `Bearer ${accessToken}` })
}

test.if(canMakeCertificates && Bun.which('setsid') !== null)(
  'SIGHUP reloads the certificates of a service, which has no terminal',
  async () => {
    await using served = await setup({ wrapper: ['setsid'] })
    const { server, url, renew } = served
    renew('crt')
    renew('key')
    server.kill('SIGHUP')
    await untilShown(url, 'second')
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
  },
)

test.if(canMakeCertificates)(
  'refuses a certificate that is missing, broken or of another key',
  async () => {
    using folder = temporaryFolder()
    makeCertificate(folder.path, 'one')
    makeCertificate(folder.path, 'two')
    await Bun.write(join(folder.path, 'broken.crt'), 'no certificate')
    for (const [cert, key, sentence] of [
      ['none.crt', 'one.key', `--tls-cert: ${folder.path}/none.crt cannot be read`],
      ['one.crt', 'none.key', `--tls-key: ${folder.path}/none.key cannot be read`],
      ['broken.crt', 'one.key', 'must be PEM and belong together'],
      ['one.crt', 'two.key', 'must be PEM and belong together'],
    ] as const) {
      const args = ['serve', '--port', '0', '--tls-cert', cert, '--tls-key', key]
      const refused = await satchel(args, { cwd: folder.path })
      expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
      expect(refused.stderr).toContain(sentence)
      expect(refused.stderr.trim().split('\n')).toHaveLength(1)
    }
  },
)

test.if(canMakeCertificates)(
  'blobs come and go over https, whole and in ranges, in flat memory',
  async () => {
    await using served = await setup()
    const { server, url, folder } = served
    const address = `${url}/main/blob`
    const { stdout: token } = await satchel(['token', '--sub', 'alice@example.com'], {
      cwd: folder,
    })
    const tls = { rejectUnauthorized: false }
    const headers = { authorization: `Bearer ${token.trim()}` }
    const bytes = Buffer.alloc(50_000_000, 'abcdefg')
    const sent = await fetch(`${address}/a`, { tls, method: 'PUT', headers, body: bytes })
    expect(await sent.json()).toEqual({ ref: '1:a' })
    const whole = await fetch(`${address}/1:a`, { tls, headers })
    expect(Buffer.from(await whole.arrayBuffer()).equals(bytes)).toBe(true)
    const range = await fetch(`${address}/1:a`, {
      tls,
      headers: { ...headers, range: 'bytes=10000000-29999999' },
    })
    expect(range.status).toBe(206)
    expect(Buffer.from(await range.arrayBuffer()).equals(bytes.subarray(1e7, 3e7))).toBe(true)
    expect(peakOf(server.pid)).toBeLessThan(250)
  },
)

/** The most memory that a process held, MiB. */
function peakOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}
