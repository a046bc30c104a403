import { describe, expect, test } from 'bun:test'
import { type AskWebhook, createAdmission } from '../../../src/auth/person/admission'
import { createAuthority } from '../../../src/auth/authority'
import { SatchelError } from '../../../src/domain/value/error'
import { changePolicy, type Intent, type Policy } from '../../../src/domain/user/policy'
import type { Database } from '../../../src/domain/store/store'
import { turns } from '../../timing'
import {
  asClient,
  codeOf,
  DAY,
  grantTokens,
  SECOND,
  setupAuthority,
  type TestAuthority,
  verifyStanding,
} from '../setup'

const alice = { sub: 'alice@example.com', email: 'alice@example.com', name: 'Alice' }

const HOOK = 'https://app.example.com/hook'
const BY_WEBHOOK = { newUsers: 'webhook', hookUrl: HOOK } as const

async function setup(policy: Partial<Policy>, askWebhook?: AskWebhook) {
  const server = await setupAuthority()
  const { database, clock, secretKey, client } = server
  await database.write((tx) => changePolicy(tx, policy))
  const options = askWebhook === undefined ? {} : { askWebhook }
  const authority = await createAuthority(database, clock, secretKey, options)
  const person = { id: alice.sub, email: alice.email, name: alice.name, extra: {} }
  return {
    ...server,
    authority,
    verify: (token: string) => verifyStanding(authority, database, token),
    ask: (parameters: object) => grantTokens(authority, { ...asClient(client), ...parameters }),
    /** As the grants of people do, who say why they log in. */
    login: (intent?: Intent) =>
      authority.issue({ clientId: client.clientId, claims: person, scopes: [], intent }),
    [Symbol.asyncDispose]: async () => {
      await authority[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

const findAlice = ({ database }: TestAuthority) =>
  database.read((tx) => tx.users.find('alice@example.com'))

describe('a newcomer (protocol.md §2.3)', () => {
  test('is under the policy too when a client vouches for them', async () => {
    await using server = await setup({ newUsers: 'reject' })
    expect(await codeOf(() => server.ask({ claims: alice }))).toBe('USER_NOT_REGISTERED')
    await server.database.write((tx) => changePolicy(tx, { newUsers: 'prod', seats: 0 }))
    expect(await codeOf(() => server.ask({ claims: alice }))).toBe('NO_SEATS_AVAILABLE')
    await server.database.write((tx) => changePolicy(tx, { newUsers: 'eval', seats: 0 }))
    expect(await server.ask({ claims: alice })).toMatchObject({ userType: 'eval' })
  })

  test('once known, the policy is about others', async () => {
    await using server = await setup({})
    await server.login()
    await server.database.write((tx) => changePolicy(tx, { newUsers: 'reject', seats: 0 }))
    expect(await server.login('login')).toMatchObject({ userType: 'prod' })
    expect(await server.login('register')).toMatchObject({ userType: 'prod' })
  })
})

// protocol.md §13.1
describe('a newcomer with several logins while the web hook is called', () => {
  test('is rejected in each login with the message of its intent, and may try again', async () => {
    let asked = 0
    await using server = await setup(BY_WEBHOOK, async () => {
      asked += 1
      await turns()
      if (asked === 2) throw new SatchelError('WEBHOOK_ERROR', 'no answer')
      return { action: asked === 1 ? 'reject' : 'prod' }
    })
    const both = () =>
      Promise.all([codeOf(() => server.login()), codeOf(() => server.login('register'))])
    expect(await both()).toEqual(['USER_NOT_REGISTERED', 'USER_NOT_ACCEPTED'])
    expect(await both()).toEqual(['WEBHOOK_ERROR', 'WEBHOOK_ERROR'])
    expect(asked).toBe(2)
    expect(await server.login()).toMatchObject({ userType: 'prod' })
  })

  test('is not asked about again by a login that began before the answer', async () => {
    let asked = 0
    const askWebhook: AskWebhook = async () => ({ action: ++asked === 1 ? 'prod' : 'reject' })
    await using server = await setup(BY_WEBHOOK)
    const { database, clock } = server
    const looked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    let reads = 0
    const slow: Database = {
      ...database,
      id: database.id,
      write: (work) => database.write(work),
      async read(work) {
        const found = await database.read(work)
        if (++reads > 1) return found
        looked.resolve()
        await goOn.promise
        return found
      },
    }
    const admission = createAdmission(slow, clock, askWebhook)
    const person = { id: alice.sub, email: alice.email, name: null }
    const late = admission.admit(person)
    await looked.promise
    const first = await admission.admit(person)
    goOn.resolve()
    expect(await late).toEqual(first)
    expect(asked).toBe(1)
  })

  test('under two addresses is asked about with each, and one user still', async () => {
    const asked: unknown[] = []
    await using server = await setup(BY_WEBHOOK, async ({ email }) => {
      asked.push(email)
      await turns()
      return { action: 'prod', data: { email } }
    })
    const claim = (email: string) => server.ask({ claims: { sub: 'alice', email } })
    const answers = await Promise.all([claim('a@example.com'), claim('b@example.com')])
    expect(asked).toEqual(['a@example.com', 'b@example.com'])
    const [one, other] = answers.map(({ data }) => data)
    expect(one).toEqual(other)
  })
})

describe('the claims of a token about its user', () => {
  test('is true by the clock of the server', async () => {
    await using server = await setup({ newUsers: 'eval' })
    const { clock, database } = server
    expect(await server.login()).toMatchObject({
      userType: 'eval',
      evalDaysLeft: 30,
      claims: { license: 'ok' },
    })
    clock.advance(1)
    expect(await server.login()).toMatchObject({ evalDaysLeft: 30 })
    clock.advance(25 * DAY)
    expect(await server.login()).toMatchObject({
      evalDaysLeft: 5,
      alerts: [{ type: 'info', messageCode: 'LICENSE_ENDS_SOON', messageParams: { days: '5' } }],
    })
    clock.advance(5 * DAY)
    expect(await server.login()).toMatchObject({
      evalDaysLeft: 0,
      claims: { license: 'expired' },
      alerts: [{ type: 'warning', messageCode: 'LICENSE_EXPIRED' }],
    })
    const user = (await findAlice(server))!
    const validUntil = clock.now() + 100 * DAY
    await database.write((tx) => tx.users.put({ ...user, type: 'prod', validUntil }))
    const answer = await server.login()
    expect(answer).toMatchObject({
      userType: 'prod',
      userValidUntil: validUntil,
      claims: { license: 'ok' },
    })
    expect(answer).not.toHaveProperty('evalDaysLeft')
    expect(answer).not.toHaveProperty('alerts')
  })

  test('cannot be claimed by a client', async () => {
    await using server = await setup({})
    const claims = { ...alice, incarnation: 1 }
    expect(await codeOf(() => server.ask({ claims }))).toBe('RESERVED_CLAIM')
  })

  test('holds though the clock jumps back to before the user came', async () => {
    await using server = await setup({})
    const { clock } = server
    await server.login()
    clock.advance(-10 * SECOND)
    const { accessToken } = await server.login()
    expect(await server.verify(accessToken)).toMatchObject({ subject: alice.sub })
  })
})
