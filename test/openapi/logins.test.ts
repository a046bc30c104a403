import { describe, expect, test } from 'bun:test'
import {
  type Body,
  FOO,
  type LoginServer,
  public_key,
  refreshRequest,
  setupLogin,
} from '../http/login-setup'
import { faultsOf } from './json-schema'
import type { Document } from './setup'

const ALICE = 'alice@example.com'
const PERSON = { email: ALICE, scopes: ['ACCESS_DB'] }
const DEMO = { grant_type: 'demo', demo_user: FOO, scopes: ['ACCESS_DB'], public_key }

/** A server whose every token request and answer is held against its own document. */
async function setupDescribed() {
  const server = await setupLogin()
  const document = (await (await fetch(`${server.url}/openapi/json`)).json()) as Document
  const operation = document.paths['/{database}/token']?.['post']
  const resolve = (reference: string) => {
    const [, , group, name] = reference.split('/')
    return document.components[group as 'schemas'][name ?? '']
  }
  const faults = (schema: unknown, value: unknown) => faultsOf(schema, value, resolve)
  return {
    ...server,
    /** The faults of the request according to the document. */
    misfits: (request: object) =>
      faults(operation?.requestBody?.content['application/json']?.schema, request),
    /** Sends it and finds status, media type and body in the document. */
    async send(request: object): Promise<{ status: number; body: Body }> {
      const answer = await server.send(request)
      const [type = ''] = (answer.headers.get('content-type') ?? '').split(';')
      const described = operation?.responses[answer.status]?.content?.[type]
      expect({ status: answer.status, type, isDescribed: described !== undefined }).toEqual({
        status: answer.status,
        type,
        isDescribed: true,
      })
      const isJson = type === 'application/json'
      const body: unknown = isJson ? await answer.json() : await answer.text()
      expect({ body, faults: faults(described?.schema, body) }).toEqual({ body, faults: [] })
      return { status: answer.status, body: body as Body }
    },
  }
}

describe('the document describes a login', () => {
  test('by e-mail, as the add-on, a link and the SDK ask for it', async () => {
    await using server = await setupDescribed()
    const steps = [
      [
        { grant_type: 'otp', ...PERSON, intent: 'login' },
        { ...PERSON, intent: 'login' },
      ],
      [{ grant_type: 'otp', ...PERSON }, PERSON],
      [{ grant_type: 'otp', ...PERSON }, {}],
    ]
    await server.token({ sub: ALICE })
    for (const [first = {}, second = {}] of steps) {
      expect(server.misfits(first)).toEqual([])
      const { otp_id } = (await server.send(first)).body
      const mail = await codeOf(server, otp_id)
      const request = { grant_type: 'otp', ...second, otp_id, otp: mail, public_key }
      expect(server.misfits(request)).toEqual([])
      expect(await server.send(request)).toMatchObject({ status: 200, body: { type: 'tokens' } })
    }
    const asked = { grant_type: 'otp-email', email: ALICE }
    expect(server.misfits(asked)).toEqual([])
    const { otp_id } = (await server.send(asked)).body
    const given = { grant_type: 'otp-token', email: ALICE, otp: await codeOf(server, otp_id) }
    expect(server.misfits(given)).toEqual([])
    expect(await server.send(given)).toMatchObject({ status: 200, body: { type: 'tokens' } })
  })

  test('of a demo user, and its refresh', async () => {
    await using server = await setupDescribed()
    await server.importDemoUser()
    expect(server.misfits(DEMO)).toEqual([])
    const { refreshToken } = (await server.send(DEMO)).body
    const request = refreshRequest(refreshToken, server.clock.now())
    expect(server.misfits(request)).toEqual([])
    const renewed = await server.send(request)
    expect(renewed).toMatchObject({ status: 200, body: { refreshToken, userType: 'demo' } })
  })

  test.each([
    [{ grant_type: 'otp', ...PERSON, email: undefined }, 400],
    [{ grant_type: 'otp', ...PERSON, scopes: undefined }, 400],
    [{ grant_type: 'otp', ...PERSON, intent: 'steal' }, 400],
    [{ grant_type: 'otp', otp: 'K7QM2XWD' }, 400],
    [{ grant_type: 'otp-email' }, 400],
    [{ grant_type: 'otp-token', email: ALICE }, 400],
    [{ grant_type: 'demo', scopes: [] }, 400],
    [{ grant_type: 'refresh_token', refresh_token: 'x' }, 400],
  ])('that is malformed: %p', async (request, status) => {
    await using server = await setupDescribed()
    const sent = JSON.parse(JSON.stringify(request)) as object
    expect(server.misfits(sent)).not.toEqual([])
    expect((await server.send(sent)).status).toBe(status)
  })

  test('that is refused', async () => {
    await using server = await setupDescribed()
    const refresh = refreshRequest('nothing', server.clock.now())
    const { otp_id } = (await server.send({ grant_type: 'otp', ...PERSON })).body
    const wrong = { grant_type: 'otp', otp_id, otp: 'wrong' }
    for (const [request, status] of [
      [{ grant_type: 'otp', ...PERSON, scopes: ['GLOBAL_READ'] }, 400],
      [wrong, 401],
      [{ ...wrong, otp_id: 'nothing' }, 403],
      [DEMO, 403],
      [refresh, 401],
    ] as const) {
      expect(await server.send(request)).toMatchObject({ status })
    }
    for (let asked = 1; asked < 10; asked++) await server.send({ grant_type: 'otp', ...PERSON })
    expect((await server.send({ grant_type: 'otp', ...PERSON })).status).toBe(429)
    const behindProxy = await fetch(`${server.main}/token`, {
      method: 'POST',
      headers: { 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify({ grant_type: 'otp', email: 'bob@example.com', scopes: [] }),
    })
    expect(behindProxy.status).toBe(503)
    expect((await server.send({ grant_type: 'otp', ...PERSON, email: 'b@x.org' })).status).toBe(503)
  })
})

/** The code that the mail with this id brings. */
async function codeOf(server: Pick<LoginServer, 'mail'>, otpId: string): Promise<string> {
  for (;;) {
    const { variables } = await server.mail()
    if (variables.otp_id === otpId) return variables.otp
    await Bun.sleep(10)
  }
}
