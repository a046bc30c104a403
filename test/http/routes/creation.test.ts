import { describe, expect, test } from 'bun:test'
import { setupServer, type TestServer } from '../../setup'
import { MINUTE } from '../../../src/domain/value/time'
import { type Answer, callerOf, postJson } from '../setup'

/** Databases that people create at the address of the server (protocol.md §9.3 `create`, §12). */

const ALICE = 'alice@example.com'
const GRANT = { grant_type: 'otp', scopes: ['CREATE_DB'] }

interface Sent {
  readonly otp_id: string
}

const ask = (server: TestServer, changes: object = {}) =>
  callerOf(server.url).post('/token', { ...GRANT, email: ALICE, ...changes })

/** The mails that the server has printed, the oldest first. */
function mailsTo({ lines }: TestServer, email: string): readonly PrintedMail[] {
  return lines
    .filter((line) => line.includes('"logger":"mail"'))
    .map((line) => JSON.parse(line) as PrintedMail)
    .filter(({ to }) => to === email)
}

interface PrintedMail {
  readonly to: string
  readonly variables: { readonly otp: string; readonly notice: string }
}

/** Both steps with the code from the mail. */
async function logIn(server: TestServer, email = ALICE): Promise<Answer> {
  const { otp_id } = (await ask(server, { email })).body as Sent
  const { otp } = mailsTo(server, email).at(-1)?.variables ?? {}
  return await ask(server, { email, otp_id, otp })
}

describe('a login to create a database', () => {
  test.each([
    [{ grant_type: 'demo' }, 400, 'is not supported at the address of the server'],
    [{ scopes: ['ACCESS_DB'] }, 400, 'Here only the scope CREATE_DB'],
    [{ scopes: [] }, 400, 'Here only the scope CREATE_DB'],
    [{ email: 'alice' }, 400, 'not an e-mail address'],
    [{ otp_id: {} }, 400, 'otp_id'],
    [{ otp: 'ABCD1234', otp_id: 'unknown' }, 403, 'no longer valid'],
  ])('refuses %p', async (changes, status, words) => {
    await using server = await setupServer()
    const { status: answered, text } = await raw(server, changes)
    expect({ status: answered, text }).toEqual({
      status,
      text: expect.stringContaining(words) as never,
    })
    expect(mailsTo(server, ALICE)).toEqual([])
  })

  test('counts wrong codes, and a right one is good once', async () => {
    await using server = await setupServer()
    const { otp_id } = (await ask(server)).body as Sent
    const { otp } = mailsTo(server, ALICE).at(-1)?.variables ?? {}
    expect((await raw(server, { otp_id, otp: 'WRONG123' })).status).toBe(401)
    expect((await ask(server, { otp_id, otp: otp?.toLowerCase() })).status).toBe(200)
    expect((await raw(server, { otp_id, otp })).text).toContain('no longer valid')
    const { otp_id: second } = (await ask(server)).body as Sent
    const right = mailsTo(server, ALICE).at(-1)?.variables.otp
    for (let tries = 0; tries < 5; tries += 1)
      await raw(server, { otp_id: second, otp: 'WRONG123' })
    expect((await raw(server, { otp_id: second, otp: right })).text).toContain('no longer valid')
  })

  test('expires after ten minutes', async () => {
    await using server = await setupServer()
    const { otp_id } = (await ask(server)).body as Sent
    const { otp } = mailsTo(server, ALICE).at(-1)?.variables ?? {}
    server.clock.advance(10 * MINUTE)
    expect((await raw(server, { otp_id, otp })).status).toBe(403)
  })

  test('sends an address ten codes in an hour at most', async () => {
    await using server = await setupServer()
    for (let sent = 0; sent < 10; sent += 1) expect((await ask(server)).status).toBe(200)
    expect(await raw(server, {})).toMatchObject({ status: 429 })
  })
})

/** For answers that are text. */
async function raw(server: TestServer, changes: object) {
  const response = await postJson(`${server.url}/service/token`, {
    ...GRANT,
    email: ALICE,
    ...changes,
  })
  return { status: response.status, text: await response.text() }
}

describe('databases are created', () => {
  test('in development by everybody, elsewhere by no person unless a setting names them', async () => {
    const publicUrl = 'https://db.example.com'
    await using closed = await setupServer({ publicUrl })
    expect(await ask(closed)).toMatchObject({ status: 403, body: { code: 'NOT_AUTHORIZED' } })
    await using off = await setupServer({ createDatabases: 'off' })
    expect((await ask(off)).status).toBe(403)
    await using named = await setupServer({ createDatabases: `${ALICE},@example.org` })
    expect((await logIn(named)).status).toBe(200)
    expect((await logIn(named, 'bob@example.org')).status).toBe(200)
    // Every address gets a code; only its owner reads that it will not help.
    const refused = await logIn(named, 'eve@example.com')
    expect(refused).toMatchObject({ status: 403, body: { code: 'NOT_AUTHORIZED' } })
    expect(mailsTo(named, 'eve@example.com').at(-1)?.variables.notice).toContain('may not create')
  })

  test('with a token that is good once and for ten minutes', async () => {
    await using server = await setupServer()
    const token = async () => ((await logIn(server)).body as { accessToken: string }).accessToken
    const create = (given: string) => callerOf(server.url, given).post('/create-db', {})
    expect(await callerOf(server.url).send('POST', '/create-db')).toMatchObject({ status: 401 })
    expect((await create('guessed')).status).toBe(401)
    expect((await create(await server.token())).status).toBe(401)
    const late = await token()
    server.clock.advance(10 * MINUTE)
    expect((await create(late)).status).toBe(401)
    const fresh = await token()
    expect((await create(fresh)).status).toBe(200)
    expect((await create(fresh)).status).toBe(401)
  })

  test('not on a server that does not know its address', async () => {
    await using server = await setupServer({ host: '0.0.0.0', createDatabases: 'anyone' })
    const sent = await raw(server, {})
    // Beyond this machine no mails are printed.
    expect(sent).toMatchObject({ status: 503, text: expect.stringContaining('Mail') as never })
  })
})
