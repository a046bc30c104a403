import { expect, test } from 'bun:test'
import { asClient, DAY } from '../auth/setup'
import { type Answer, callerOf, type DataServer, setupData } from '../http/setup'

/** conformance.md 47–50, the token part of section (b): what the published CLI asks and understands. */

/** As the CLI sends them for every command (protocol.md §9.2). */
const DEFAULT_SCOPES = [
  'IMPERSONATE',
  'MANAGE_DB',
  'DELETE_DB',
  'ACCESS_DB',
  'GLOBAL_READ',
  'GLOBAL_WRITE',
]

interface Client {
  readonly clientId: string
  readonly clientSecret: string
}

/** The request of the CLI. */
const ask = (server: DataServer, client: Client, scopes: readonly string[]) =>
  server.anyone.post('/token', { ...asClient(client), scopes })

/** The CLI’s view of the answer (protocol.md §2.3). */
function readAsCli({ status, body }: Answer): 'token' | 'login again' | 'failed' {
  const { type, error, message } = (body ?? {}) as Record<string, unknown>
  if (status === 200 && type === 'tokens') return 'token'
  const words = `${String(error)} ${String(message)}`
  return status === 401 && /expired/i.test(words) ? 'login again' : 'failed'
}

const addClient = (server: DataServer, scopes: readonly string[]) =>
  server.commands.run('client.create', { database: 'main', scopes })

test('47: client_credentials with no scopes succeeds, and the token opens nothing', async () => {
  await using server = await setupData()
  const answer = await ask(server, server.client, [])
  expect(readAsCli(answer)).toBe('token')
  const { accessToken } = answer.body as { accessToken: string }
  const caller = callerOf(server.main, accessToken)
  expect((await caller.get('/token/validate')).status).toBe(200)
  expect((await caller.get('/my/plain')).status).toBe(403)
})

test('48: the six default scopes work for the owner, twice the same scope too', async () => {
  await using server = await setupData()
  for (const scopes of [DEFAULT_SCOPES, [...DEFAULT_SCOPES, 'DELETE_DB']]) {
    const answer = await ask(server, server.client, scopes)
    expect(readAsCli(answer)).toBe('token')
    const granted = (answer.body as { scope: string }).scope.split(' ')
    expect(granted.toSorted()).toEqual(DEFAULT_SCOPES.toSorted())
    const { accessToken } = answer.body as { accessToken: string }
    expect((await callerOf(server.main, accessToken).get('/all/plain')).status).toBe(200)
  }
})

test('49: a client with fewer scopes gets those it has when it asks for all six', async () => {
  await using server = await setupData()
  const few = await addClient(server, ['ACCESS_DB', 'GLOBAL_READ'])
  const answer = await ask(server, few, DEFAULT_SCOPES)
  expect(readAsCli(answer)).toBe('token')
  const { accessToken } = answer.body as { accessToken: string }
  const caller = callerOf(server.main, accessToken)
  expect((await caller.get('/all/plain')).status).toBe(200)
  expect((await caller.post('/all/plain', { id: 'a', realmId: 'rlm-public' })).status).toBe(403)
  const five = await ask(server, few, DEFAULT_SCOPES.slice(1))
  expect(readAsCli(five)).toBe('failed')
})

test('50: an expired key is told from a wrong one by the word the CLI looks for', async () => {
  await using server = await setupData()
  await server.commands.run('client.rotate', { database: 'main', days: 1 })
  expect(readAsCli(await ask(server, server.client, DEFAULT_SCOPES))).toBe('token')
  server.clock.advance(DAY)
  expect(readAsCli(await ask(server, server.client, DEFAULT_SCOPES))).toBe('login again')
  const wrong = { ...server.client, clientSecret: 'wrong' }
  expect(readAsCli(await ask(server, wrong, DEFAULT_SCOPES))).toBe('failed')
  const unknown = { clientId: 'cUnknown', clientSecret: 'x' }
  expect(readAsCli(await ask(server, unknown, DEFAULT_SCOPES))).toBe('failed')
})
