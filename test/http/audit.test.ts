import { describe, expect, test } from 'bun:test'
import { until } from '../timing'
import { callerOf, type DataServer, setupData } from './setup'

/** Changes over HTTP that are no operations of the table leave lines, too. */

const BOB = 'bob@example.com'

/** The last line about a database, or with null about the server. */
async function lastLine({ commands }: DataServer, database: string | null = 'main') {
  const { lines } = await commands.run('audit.list', { database })
  return lines.at(-1)
}

describe('an import over HTTP', () => {
  test('has a line with its caller and its result', async () => {
    await using server = await setupData()
    const { clientId: client } = server.client
    const file = { data: { 'rlm-public': { plain: { a: { title: 'hidden' } } } } }
    expect(await server.root.post('/import', file)).toMatchObject({ status: 200 })
    expect(await lastLine(server)).toMatchObject({
      operation: 'import',
      result: 'done',
      door: 'rest',
      client,
      user: null,
      address: '127.0.0.1',
    })
    const broken = await server.root.send('POST', '/import', { body: '{"data":' })
    expect(broken.status).toBe(400)
    expect(await lastLine(server)).toMatchObject({ operation: 'import', result: 'INVALID_REQUEST' })
  })

  test('that is refused has none', async () => {
    await using server = await setupData()
    const before = await lastLine(server)
    const alice = await server.as('alice@example.com')
    expect(await alice.post('/import', { data: {} })).toMatchObject({ status: 403 })
    expect(await lastLine(server)).toEqual(before)
  })
})

test('a person who fetches the key of a client, or creates a database, is named', async () => {
  await using server = await setupData()
  await server.commands.run('client.add', { database: 'main', email: BOB, scopes: ['MANAGE_DB'] })
  /** Logs in with the code from the mail. */
  async function prove(base: string, scopes: readonly string[]): Promise<string> {
    const caller = callerOf(base)
    const asked = { grant_type: 'otp', email: BOB, scopes }
    const printed = () => server.lines.filter((line) => line.includes('"logger":"mail"'))
    const before = printed().length
    const { otp_id } = (await caller.post('/token', asked)).body as { otp_id: string }
    await until(() => printed().length > before)
    const mails = printed()
    const { otp } = (JSON.parse(mails.at(-1) ?? '') as { variables: { otp: string } }).variables
    const { body } = await caller.post('/token', { ...asked, otp_id, otp })
    return (body as { accessToken: string }).accessToken
  }
  const person = { result: 'done', door: 'rest', user: BOB, client: null, address: '127.0.0.1' }
  const connecting = callerOf(server.main, await prove(server.main, ['CONNECT_CLIENT']))
  expect(await connecting.post('/clients/connect', {})).toMatchObject({ status: 200 })
  expect(await lastLine(server)).toMatchObject({ operation: 'client.connect', ...person })
  const creating = callerOf(server.url, await prove(server.url, ['CREATE_DB']))
  const created = await creating.post('/create-db', {})
  expect(created.status).toBe(200)
  const { url } = created.body as { url: string }
  expect(await lastLine(server, null)).toMatchObject({ operation: 'db.create', ...person })
  expect(await lastLine(server, url.split('/').at(-1) ?? null)).toMatchObject({
    operation: 'db.create',
    ...person,
  })
})
