import { postJson } from '../setup'
import { describe, expect, test } from 'bun:test'
import type { Scope } from '../../../src/domain/value/scope'
import { MINUTE } from '../../../src/domain/value/time'
import { PLAIN_IMPORT } from '../../setup'
import { until } from '../../timing'
import { type AdminServer, type Browser, eventsOf, keep, refusal, setupAdmin } from './setup'

const ANN = 'ann@example.com'
const NOBODY = 'nobody@example.com'
const SCOPES: readonly Scope[] = ['ACCESS_DB', 'MANAGE_DB', 'GLOBAL_READ']

/** A server with a database whose client belongs to Ann. */
async function setup(scopes = SCOPES) {
  const server = await setupAdmin()
  const client = await server.commands.run('client.create', {
    database: 'main',
    scopes,
    email: ANN,
  })
  return { ...server, ann: client.clientId }
}

function askCode(browser: Browser, email: string, database = 'main'): Promise<Response> {
  return browser.send('POST', '/otp', { body: { database, email } })
}

/** The newest code that was mailed to this address. */
async function codeOf({ lines }: AdminServer, email: string): Promise<string> {
  const newest = () =>
    lines.findLast((line) => line.includes('"logger":"mail"') && line.includes(email))
  await until(() => newest() !== undefined)
  const { variables } = JSON.parse(newest()!) as { variables: { otp: string } }
  return variables.otp
}

async function redeem(browser: Browser, email: string, otp: string, database = 'main') {
  const body = { database, email, otp }
  return await keep(browser, await browser.send('POST', '/session', { body }))
}

async function logIn(server: AdminServer, browser = server.browser()): Promise<Browser> {
  await askCode(browser, ANN)
  const answer = await redeem(browser, ANN, await codeOf(server, ANN))
  if (!answer.ok) throw new Error(`No login: ${answer.status} ${await answer.text()}`)
  return browser
}

describe('a login by mail', () => {
  test('has the scopes of the client in its database, and never those of the operator', async () => {
    await using server = await setup()
    await server.commands.run('db.create', { name: 'other' })
    const browser = await logIn(server)
    const session = await (await browser.send('GET', '/session')).json()
    expect(session).toMatchObject({
      role: 'client',
      scopes: SCOPES,
      databases: ['main'],
      email: ANN,
    })
    expect(await browser.result('origin.list', { database: 'main' })).toEqual([])
    for (const [operation, input, reason] of [
      ['origin.list', { database: 'other' }, 'database'],
      ['db.list', {}, 'operator'],
      ['session.list', {}, 'operator'],
      ['session.link', {}, 'operator'],
      ['audit.list', { database: 'main' }, 'operator'],
      ['backup', { database: 'main' }, 'operator'],
      ['table.clear', { database: 'main', table: 'x', confirm: 'x' }, 'scope GLOBAL_WRITE'],
      ['db.delete', { database: 'main', confirm: 'main' }, 'scope DELETE_DB'],
    ] as const) {
      const [event] = await browser.run(operation, input)
      const error = { status: 403, code: 'NOT_AUTHORIZED', reason }
      expect([operation, event]).toEqual([operation, { error: expect.objectContaining(error) }])
    }
  })

  test('is named with its client in the lines about operations', async () => {
    await using server = await setup()
    const browser = await logIn(server)
    await browser.result('origin.add', {
      database: 'main',
      origin: 'https://a.example',
      force: false,
    })
    const { lines } = await server.commands.run('audit.list', { database: 'main' })
    expect(lines.at(-1)).toMatchObject({
      operation: 'origin.add',
      door: 'page',
      client: server.ann,
    })
  })

  test('is not the operator with a client that has all scopes', async () => {
    await using server = await setup([
      'ACCESS_DB',
      'IMPERSONATE',
      'MANAGE_DB',
      'GLOBAL_READ',
      'GLOBAL_WRITE',
      'DELETE_DB',
    ])
    const browser = await logIn(server)
    expect(await (await browser.send('GET', '/session')).json()).toMatchObject({ role: 'client' })
    const [event] = await browser.run('db.list')
    expect(event).toMatchObject({ error: { code: 'NOT_AUTHORIZED' } })
  })

  test('is told of its own logins only', async () => {
    await using server = await setup()
    const browser = await logIn(server)
    const operator = await server.logIn()
    const shown = async (shownTo: Browser) =>
      ((await (await shownTo.send('GET', '/session')).json()) as { otherLogin: object }).otherLogin
    expect(await shown(browser)).toBeNull()
    expect(await shown(operator)).toMatchObject({ address: '127.0.0.1' })
  })

  test('is answered the same for unknown addresses and databases', async () => {
    await using server = await setup()
    const browser = server.browser()
    const shown = async (answer: Response) => {
      const headers = [...answer.headers].filter(
        ([name]) => !['date', 'x-request-id'].includes(name),
      )
      return { status: answer.status, headers, text: await answer.text() }
    }
    const known = await shown(await askCode(browser, ANN))
    expect(known.status).toBe(204)
    expect(await shown(await askCode(browser, NOBODY))).toEqual(known)
    expect(await shown(await askCode(browser, ANN, 'none'))).toEqual(known)
    expect(await shown(await askCode(browser, ANN, '../main'))).toEqual(known)
    await codeOf(server, NOBODY)
    const wrong = async (email: string) => await refusal(await redeem(browser, email, 'WRONGONE'))
    expect(await wrong(NOBODY)).toEqual(await wrong(ANN))
  })

  test('lets nobody in whose address owns no client, with the right code either', async () => {
    await using server = await setup()
    const browser = server.browser()
    await askCode(browser, NOBODY)
    const answer = await redeem(browser, NOBODY, await codeOf(server, NOBODY))
    expect(await refusal(answer)).toEqual([403, 'NOT_AUTHORIZED'])
    expect(browser.cookie).toBeUndefined()
  })

  test('takes a code once, and not in another database or for another address', async () => {
    await using server = await setup()
    await server.commands.run('db.create', { name: 'other' })
    const browser = server.browser()
    await askCode(browser, ANN)
    const otp = await codeOf(server, ANN)
    expect((await redeem(browser, ANN, otp, 'other')).status).not.toBe(200)
    expect((await redeem(browser, NOBODY, otp)).status).not.toBe(200)
    expect((await redeem(browser, ANN, otp)).status).toBe(200)
    expect((await redeem(server.browser(), ANN, otp)).status).toBe(403)
  })

  test('confirms the login of the same client, and begins one beside that of another', async () => {
    await using server = await setup()
    const browser = await logIn(server)
    const { key } = browser
    server.clock.advance(10 * MINUTE)
    const secret = { database: 'main', scopes: ['ACCESS_DB'] }
    expect(await browser.run('client.create', secret)).toMatchObject([
      { error: { code: 'CONFIRMATION_NEEDED' } },
    ])
    await logIn(server, browser)
    expect(browser.key).toBe(key)
    expect(await browser.result('client.create', secret)).toMatchObject({})
    const operator = await server.logIn()
    await logIn(server, operator)
    expect(await server.commands.run('session.list', {})).toHaveLength(3)
    await server.commands.run('session.revoke', {})
    await logIn(server, browser)
    expect(browser.key).not.toBe(key)
  })

  test('takes a code for ten minutes', async () => {
    await using server = await setup()
    const browser = server.browser()
    await askCode(browser, ANN)
    const otp = await codeOf(server, ANN)
    server.clock.advance(10 * MINUTE)
    expect(await refusal(await redeem(browser, ANN, otp))).toEqual([403, 'OTP_EXPIRED'])
  })

  test('takes no code that was mailed for another purpose', async () => {
    await using server = await setup()
    const browser = server.browser()
    await postJson(`${server.main}/token`, {
      grant_type: 'otp-email',
      email: ANN,
      scopes: ['ACCESS_DB'],
    })
    const answer = await redeem(browser, ANN, await codeOf(server, ANN))
    expect(answer.status).not.toBe(200)
    expect(browser.cookie).toBeUndefined()
  })

  test('ends at the next request when the client is gone', async () => {
    await using server = await setup()
    const browser = await logIn(server)
    await server.commands.run('client.revoke', { database: 'main', id: server.ann })
    const answer = await browser.send('POST', '/api/origin.list', { body: { database: 'main' } })
    expect(await refusal(answer)).toEqual([401, 'SESSION_ENDED'])
  })

  test('issues tokens that end with the client too', async () => {
    await using server = await setup(['ACCESS_DB', 'IMPERSONATE', 'MANAGE_DB'])
    const browser = await logIn(server)
    const input = { database: 'main', subject: 'alice@example.com', scopes: ['ACCESS_DB'] }
    const { accessToken } = (await browser.result('token.issue', input)) as { accessToken: string }
    const status = async () => {
      const headers = { authorization: `Bearer ${accessToken}` }
      return (await fetch(`${server.main}/my/realms`, { headers })).status
    }
    expect(await status()).toBe(200)
    await server.commands.run('client.revoke', { database: 'main', id: server.ann })
    expect(await status()).toBe(401)
  })

  test('gets no secret of a client that may do more', async () => {
    await using server = await setup()
    const browser = await logIn(server)
    const input = { database: 'main', id: server.client.clientId }
    const [event] = await browser.run('client.rotate', input)
    expect(event).toMatchObject({ error: { code: 'NOT_AUTHORIZED' } })
    const own = { database: 'main', id: server.ann }
    expect(await browser.result('client.rotate', own)).toMatchObject({ oldClientId: server.ann })
  })

  test('ends with its database', async () => {
    await using server = await setup()
    const browser = await logIn(server)
    await server.commands.run('db.delete', { database: 'main', hard: true })
    expect(await refusal(await browser.send('GET', '/session'))).toEqual([401, 'SESSION_ENDED'])
  })

  test('ends an answer that goes on within a second when the client is gone', async () => {
    await using server = await setup(['ACCESS_DB', 'MANAGE_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'])
    const browser = await logIn(server)
    const input = encodeURIComponent(JSON.stringify(PLAIN_IMPORT))
    const answer = await browser.send('POST', `/upload/import?input=${input}`, {
      body: new ReadableStream({ start: (sender) => sender.enqueue(Buffer.from('{')) }),
    })
    expect(answer.status).toBe(200)
    await server.commands.run('client.revoke', { database: 'main', id: server.ann })
    const events = await eventsOf(answer)
    expect(events.at(-1)).toMatchObject({ error: { status: 401, code: 'SESSION_ENDED' } })
  })

  test('leaves room to follow for the owner of the data folder', async () => {
    await using server = await setup()
    const [ann, owner] = [await logIn(server), await server.logIn()]
    const leaving = new AbortController()
    // A response that is collected is one that its reader has left.
    const kept: Response[] = []
    const follow = async (browser: Browser) => {
      const body = { database: 'main' }
      const { signal } = leaving
      const answer = await browser.send('POST', '/api/live.follow', { body, signal })
      kept.push(answer)
      return answer.status
    }
    const statuses: number[] = []
    for (let count = 0; count < 7; count += 1) statuses.push(await follow(ann))
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
    expect(await follow(owner)).toBe(200)
    expect(kept).toHaveLength(8)
    leaving.abort()
  })

  test('is limited in mails and in wrong codes, which lock out no right one', async () => {
    await using server = await setup()
    const browser = server.browser()
    await askCode(browser, ANN)
    const statuses = new Set<number>()
    for (let tries = 0; tries < 70; tries += 1) {
      statuses.add((await browser.send('POST', '/session', { body: { code: 'wrong' } })).status)
    }
    expect([...statuses]).toEqual([403, 429])
    const { url } = await server.commands.run('session.link', {})
    expect((await browser.post(url.split('#')[1]!)).status).toBe(200)
    const asked = new Set<number>()
    for (let asks = 0; asks < 70; asks += 1) asked.add((await askCode(browser, ANN, 'none')).status)
    expect([...asked]).toEqual([204, 429])
  })

  test('needs small bodies', async () => {
    await using server = await setup()
    const body = { database: 'main', email: 'x'.repeat(5_000) }
    for (const path of ['/otp', '/session']) {
      const answer = await server.browser().send('POST', path, { body })
      expect(await refusal(answer)).toEqual([413, 'PAYLOAD_TOO_LARGE'])
    }
  })
})
