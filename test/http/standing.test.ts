import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'bun:test'
import { share } from '../setup'
import { until } from '../timing'
import { beginUpload, blobCaller, inChunk } from './blob-setup'
import { ALICE, BOB, callerOf, type DataServer, setupData } from './setup'

/** Writes to the middle of its body, lets `change` happen, and resolves to how the rest is answered. */
async function sendAround(
  server: DataServer,
  [method, path, body]: readonly [method: string, path: string, body: unknown],
  token: string | undefined,
  change: () => Promise<unknown>,
): Promise<string> {
  const text = JSON.stringify(body)
  using sent = beginUpload(server.url, token, `/main${path}`, Buffer.byteLength(text), method)
  sent.send(text.slice(0, 5))
  await sent.begun
  await change()
  sent.send(text.slice(5))
  return await sent.answered
}

/** A client of its own, and what it calls with. */
async function addClient(server: DataServer, scopes: readonly string[]) {
  const { clientId, clientSecret } = await server.commands.run('client.create', {
    database: 'main',
    scopes,
  })
  const { body } = await server.anyone.post('/token', {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scopes,
  })
  const revoke = () => server.commands.run('client.revoke', { database: 'main', id: clientId })
  return { revoke, caller: callerOf(server.main, (body as { accessToken: string }).accessToken) }
}

describe('a writer is checked again after the body, which may take long (promise 15)', () => {
  test.each([
    [{ type: 'prod' }, /^HTTP\/1\.1 200/],
    [{ type: 'eval', evalDaysLeft: 0 }, /^HTTP\/1\.1 403 [^]*"LICENSE_EXPIRED"/],
    [{ deactivated: true }, /^HTTP\/1\.1 403 [^]*"USER_DEACTIVATED"/],
  ])('a user who is made %j', async (change, answer) => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const realm = { realmId: 'rlmShared', name: 'shared' }
    expect((await alice.post('/my/realms', realm)).status).toBe(200)
    for (const [method, path] of [
      ['POST', '/my/plain'],
      ['PUT', '/my/plain/late'],
      ['POST', '/plain'],
    ] as const) {
      await server.root.post('/users', { userId: ALICE, type: 'prod', deactivated: false })
      const body = { id: 'late', realmId: 'rlmShared' }
      const write = () => server.root.post('/users', { userId: ALICE, ...change })
      expect(await sendAround(server, [method, path, body], alice.token, write)).toMatch(answer)
    }
    const isKept = (await server.root.get('/all/plain/late')).status === 200
    expect(isKept).toBe('type' in change && change.type === 'prod')
  })

  test('a user who is deleted', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const write = ['POST', '/my/plain', { id: 'late' }] as const
    const remove = () => server.root.remove(`/users/${ALICE}`)
    const answer = await sendAround(server, write, alice.token, remove)
    expect(answer).toMatch(/^HTTP\/1\.1 401 [^]*"INVALID_TOKEN"/)
    expect((await server.root.get('/all/plain')).text).toBe('[]')
  })

  test('a client that is revoked', async () => {
    await using server = await setupData()
    const scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
    for (const write of [
      ['POST', '/users', { userId: BOB, type: 'prod' }],
      ['POST', '/public/plain', { id: 'late' }],
    ] as const) {
      const { caller, revoke } = await addClient(server, scopes)
      const answer = await sendAround(server, write, caller.token, revoke)
      expect(answer).toMatch(/^HTTP\/1\.1 401 [^]*"INVALID_TOKEN"/)
    }
    expect((await server.root.get(`/users/${BOB}`)).status).toBe(404)
    expect((await server.root.get('/public/plain')).text).toBe('[]')
  })
})

test.each(['/import', '/import/stream'])(
  'nothing that is sent to %s is imported for a client that is revoked meanwhile',
  async (path) => {
    await using server = await setupData()
    const { caller, revoke } = await addClient(server, ['MANAGE_DB', 'GLOBAL_WRITE'])
    const line = { realm: 'rlm-public', table: 'made', id: 'late', data: {} }
    const file = JSON.stringify(line)
    using sent = beginUpload(server.url, caller.token, `/main${path}`, undefined, 'POST')
    sent.send(inChunk(file.slice(0, 5)))
    await until(async () => {
      const { lines } = await server.commands.run('audit.list', { database: 'main' })
      return lines.at(-1)?.operation === 'import'
    })
    await revoke()
    sent.send(`${inChunk(file.slice(5))}0\r\n\r\n`)
    expect(await sent.answered).toMatch(/^HTTP\/1\.1 401 [^]*"INVALID_TOKEN"/)
    expect((await server.root.get('/public/made')).status).toBe(404)
    expect(await server.commands.run('job.list', { database: 'main' })).toEqual([])
  },
)

describe('an answer that its reader takes slowly ends with the right to read it (promise 15)', () => {
  const text = 'x'.repeat(1_000)
  const shared = share(async () => {
    const server = await setupData()
    for (let part = 0; part < 10; part += 1) {
      const items = Array.from({ length: 1_000 }, (_, n) => ({ id: `${part} ${n}`, text }))
      expect((await server.root.post('/public/plain', items)).status).toBe(200)
    }
    return server
  })

  test.each(['/all/plain', '/export', '/export/stream'])('%s', async (path) => {
    const server = shared()
    const { caller, revoke } = await addClient(server, ['ACCESS_DB', 'GLOBAL_READ'])
    using reader = beginUpload(server.url, caller.token, `/main${path}`, 0, 'GET')
    await reader.answered
    reader.socket.pause()
    await revoke()
    const late = `a later object than ${path}`
    await server.root.post('/public/plain', { id: late })
    reader.socket.resume()
    await reader.closed
    expect(reader.received.includes(late)).toBe(false)
    expect(reader.received).not.toEndWith('0\r\n\r\n')
    const all = await server.anyone.get('/public/plain')
    expect(all.text.includes(late)).toBe(true)
  })

  test('/export/blobs', async () => {
    const server = shared()
    const alice = blobCaller(await server.as(ALICE), server.main)
    await alice.bring('large', randomBytes(16 * 2 ** 20))
    const { caller, revoke } = await addClient(server, ['ACCESS_DB', 'GLOBAL_READ'])
    using reader = beginUpload(server.url, caller.token, '/main/export/blobs', 0, 'GET')
    await reader.answered
    reader.socket.pause()
    await revoke()
    reader.socket.resume()
    await reader.closed
    expect(reader.received).toStartWith('HTTP/1.1 200')
    expect(reader.received).not.toEndWith('0\r\n\r\n')
  })
})
