import { describe, expect, test } from 'bun:test'
import { asClient } from '../auth/setup'
import { startHook } from '../auth/webhook-setup'
import { codeOfLogin, connectOpenId, type LoginServer, setupLogins } from '../oauth/setup'

const ALICE = 'alice@example.com'

/** The ways in which a person comes who is proven to be Alice. */
const WAYS = {
  otp: async (server: LoginServer, more: object) =>
    server.ask({ grant_type: 'otp', ...(await server.mailedCode(ALICE)), ...more }),
  authorization_code: async (server: LoginServer, more: object) =>
    server.exchange(await codeOfLogin(server, 'google'), more),
  client_credentials: (server: LoginServer) =>
    server.ask({
      ...asClient(server.client),
      scopes: ['ACCESS_DB'],
      claims: { sub: ALICE, email: ALICE },
    }),
}

type NewUsers = 'prod' | 'reject' | 'webhook'

interface Situation {
  readonly newUsers?: NewUsers
  readonly seats?: number
  readonly isDeactivated?: true
  readonly intent?: 'login' | 'register'
}

/** The refusals after a successful proof of identity (protocol.md §2.3). */
const SITUATIONS: readonly [string, Situation][] = [
  ['USER_NOT_REGISTERED', { newUsers: 'reject' }],
  ['USER_NOT_REGISTERED', { newUsers: 'reject', intent: 'login' }],
  ['USER_NOT_REGISTERED', { newUsers: 'prod', intent: 'login' }],
  ['USER_NOT_REGISTERED', { newUsers: 'webhook', intent: 'login' }],
  ['USER_NOT_ACCEPTED', { newUsers: 'reject', intent: 'register' }],
  ['NO_SEATS_AVAILABLE', { newUsers: 'prod', seats: 0 }],
  ['USER_DEACTIVATED', { isDeactivated: true }],
  ['USER_DEACTIVATED', { isDeactivated: true, intent: 'login' }],
  ['WEBHOOK_ERROR', { newUsers: 'webhook' }],
  ['WEBHOOK_ERROR', { newUsers: 'webhook', intent: 'register' }],
]

async function arrange(server: LoginServer, situation: Situation): Promise<void> {
  const { newUsers = null, seats = null, isDeactivated } = situation
  if (isDeactivated) {
    const authorization = `Bearer ${await server.token()}`
    const user = { userId: ALICE, type: 'prod', deactivated: true }
    const headers = { authorization, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(user) }
    expect((await fetch(`${server.main}/users`, request)).status).toBe(200)
  }
  const hook = server.own(startHook(() => new Response('', { status: 404 })))
  const policy = { database: 'main', newUsers, seats, evalDays: null, hookUrl: hook.url }
  await server.commands.run('policy.set', policy)
}

// conformance.md 72, 169
describe('72, 169: the policy says no', () => {
  test.each(SITUATIONS)('with %s when %j', async (code, situation) => {
    await using server = await setupLogins()
    await connectOpenId(server, { type: 'google' })
    await arrange(server, situation)
    const { intent } = situation
    for (const [grant, come] of Object.entries(WAYS)) {
      // Backends give no intent: they vouch for the person.
      if (grant === 'client_credentials' && intent !== undefined) continue
      const { status, body } = await come(server, intent === undefined ? {} : { intent })
      expect({ grant, status, body }).toMatchObject({ grant, status: 403, body: { code } })
      expect(body['message']).toBeString()
      expect(body['message']).not.toBe('')
      // Other refusals begin with a type (protocol.md §2.2).
      expect(body).not.toHaveProperty('type')
    }
  })

  test('but not to a newcomer who registers where that is open', async () => {
    await using server = await setupLogins()
    const answer = await WAYS.otp(server, { intent: 'register' })
    expect(answer).toMatchObject({ status: 200, body: { userType: 'prod' } })
  })

  test('with what a demo user is told who is none', async () => {
    await using server = await setupLogins()
    const demo = { grant_type: 'demo', demo_user: 'foo@demo.local', scopes: ['ACCESS_DB'] }
    const refused = { status: 403, body: { code: 'USER_NOT_REGISTERED' } }
    expect(await server.ask(demo)).toMatchObject(refused)
  })
})
