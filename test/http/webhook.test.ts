import { describe, expect, test } from 'bun:test'
import { asClient } from '../auth/setup'
import { type AnswerHook, startHook, type TestHook, verdict, verified } from '../auth/webhook-setup'
import { codeOfLogin, connectOpenId, setupLogins } from '../oauth/setup'

const ALICE = 'alice@example.com'

/** A server that asks a web hook on this machine about new users. */
async function setup(answer?: AnswerHook) {
  const server = await setupLogins()
  const hook = server.own(startHook(answer))
  const setPolicy = (changes: { newUsers?: 'webhook' | 'prod'; hookUrl?: string }) =>
    server.commands.run('policy.set', {
      database: 'main',
      newUsers: changes.newUsers ?? null,
      hookUrl: changes.hookUrl ?? null,
    })
  const { hookSecret = '' } = await setPolicy({ newUsers: 'webhook', hookUrl: hook.url })
  const { client } = server
  return {
    ...server,
    hook,
    hookSecret,
    setPolicy,
    /** As the backend of an application asks for the token of one of its users. */
    vouch: (claims: object) =>
      server.ask({
        ...asClient(client),
        scopes: ['ACCESS_DB'],
        claims,
      }),
  }
}

const asked = ({ questions }: TestHook) => questions.map(({ text }) => JSON.parse(text) as unknown)

// conformance.md 42, protocol.md §13.1
describe('42: a new user', () => {
  test('a newcomer by e-mail is what the web hook says', async () => {
    await using server = await setup(() => verdict('eval', { displayName: 'Ada', role: 'chief' }))
    const code = await server.mailedCode(ALICE)
    const { status, body } = await server.ask({ grant_type: 'otp', email: ALICE, ...code })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      userType: 'eval',
      evalDaysLeft: 30,
      claims: { sub: ALICE, name: 'Ada' },
      data: { displayName: 'Ada', role: 'chief' },
    })
    expect(asked(server.hook)).toEqual([{ userId: ALICE, email: ALICE }])
    expect(verified(server.hook.questions[0]!, server.hookSecret)).toBeObject()
  })

  test('a newcomer from a provider has the name that the web hook knows', async () => {
    await using server = await setup(() => verdict('prod', { displayName: 'Ada' }))
    await connectOpenId(server, { type: 'google' })
    const { body } = await server.exchange(await codeOfLogin(server, 'google'))
    expect(body).toMatchObject({
      claims: { sub: ALICE, name: 'Ada' },
      data: { displayName: 'Ada' },
    })
    const again = await server.exchange(await codeOfLogin(server, 'google'))
    expect(again.body['claims']).toMatchObject({ name: 'Ada' })
  })

  test('whom the web hook knows nothing of has the name that the provider says', async () => {
    await using server = await setup()
    await connectOpenId(server, { type: 'google' })
    const { body } = await server.exchange(await codeOfLogin(server, 'google'))
    expect(body).toMatchObject({
      claims: { name: 'Alice Ångström' },
      data: { displayName: 'Alice Ångström', email: ALICE },
    })
  })

  test('a newcomer from a backend is what the web hook says', async () => {
    await using server = await setup(() => verdict('prod', { email: 'known@example.com' }))
    const { body } = await server.vouch({ sub: 'alice', name: 'Alice' })
    expect(body).toMatchObject({ userId: 'alice', data: { email: 'known@example.com' } })
    expect(asked(server.hook)).toEqual([{ userId: 'alice', email: null }])
  })
})

test('is not called for users, for demo users and for the intent login', async () => {
  await using server = await setup()
  await server.vouch({ sub: ALICE, email: ALICE })
  expect(asked(server.hook)).toHaveLength(1)
  await server.vouch({ sub: ALICE, email: ALICE })
  const code = await server.mailedCode(ALICE)
  expect((await server.ask({ grant_type: 'otp', ...code })).status).toBe(200)
  const demo = { grant_type: 'demo', demo_user: 'foo@demo.local', scopes: ['ACCESS_DB'] }
  expect((await server.ask(demo)).body).toMatchObject({ code: 'USER_NOT_REGISTERED' })
  const bob = await server.mailedCode('bob@example.com')
  const login = await server.ask({ grant_type: 'otp', ...bob, intent: 'login' })
  expect(login.body).toMatchObject({ code: 'USER_NOT_REGISTERED' })
  expect(asked(server.hook)).toHaveLength(1)
})

// protocol.md §2.3; conformance.md 72
describe('72: a web hook', () => {
  test('that rejects makes it the answer of the policy, in the words of the intent', async () => {
    await using server = await setup(() => verdict('reject', { displayName: 'Nobody' }))
    await connectOpenId(server, { type: 'google' })
    for (const [intent, code] of [
      [undefined, 'USER_NOT_REGISTERED'],
      ['register', 'USER_NOT_ACCEPTED'],
    ]) {
      const otp = await server.mailedCode(ALICE)
      const answers = [
        await server.ask({ grant_type: 'otp', ...otp, intent }),
        await server.exchange(await codeOfLogin(server, 'google'), { intent }),
      ]
      for (const { status, body } of answers) {
        expect({ status, body }).toMatchObject({ status: 403, body: { code } })
        expect(body['message']).toBeString()
        expect(body).not.toHaveProperty('type')
      }
    }
  })

  test('that fails is WEBHOOK_ERROR by every way in, and its reason is for the log', async () => {
    await using server = await setup(() => new Response('private words', { status: 401 }))
    await connectOpenId(server, { type: 'google' })
    const answers = [
      await server.ask({ grant_type: 'otp', ...(await server.mailedCode(ALICE)) }),
      await server.exchange(await codeOfLogin(server, 'google')),
      await server.vouch({ sub: ALICE }),
    ]
    for (const { status, body } of answers) {
      expect({ status, body }).toMatchObject({ status: 403, body: { code: 'WEBHOOK_ERROR' } })
      expect(body['message']).toContain('try again in a moment')
      expect(JSON.stringify(body)).not.toMatch(/127\.0|401|private|http/)
    }
    const told = server.lines.filter((line) => line.includes('A request failed'))
    expect(told).toHaveLength(3)
    for (const line of told) expect(line).toMatch(/127\.0\.0\.1:\d+ answers 401/)
    expect(server.lines.join('\n')).not.toMatch(/private words|whsec_/)
  })

  test('that fails for a moment only delays a login', async () => {
    let times = 0
    await using server = await setup(() =>
      ++times === 1 ? new Response('', { status: 500 }) : verdict('prod'),
    )
    expect((await server.vouch({ sub: ALICE })).status).toBe(200)
    expect(server.hook.questions).toHaveLength(2)
  })

  test('that fails leaves the code good: of a mail and of a provider', async () => {
    let isBroken = true
    await using server = await setup(() => (isBroken ? new Response('{}') : verdict('prod')))
    await connectOpenId(server, { type: 'google' })
    const otp = { grant_type: 'otp', ...(await server.mailedCode(ALICE)) }
    const code = await codeOfLogin(server, 'google')
    expect((await server.ask(otp)).body['code']).toBe('WEBHOOK_ERROR')
    expect((await server.exchange(code)).body['code']).toBe('WEBHOOK_ERROR')
    isBroken = false
    expect((await server.exchange(code)).status).toBe(200)
    expect((await server.ask(otp)).status).toBe(200)
    expect((await server.exchange(code)).status).toBe(401)
  })

  test('that fails again and again wears a code of a provider out', async () => {
    await using server = await setup(() => new Response('{}'))
    await connectOpenId(server, { type: 'google' })
    const code = await codeOfLogin(server, 'google')
    const statuses = []
    for (let tries = 0; tries < 6; tries += 1) statuses.push((await server.exchange(code)).status)
    expect(statuses).toEqual([403, 403, 403, 403, 403, 401])
  })

  test('that is asked about a replayed code admits no user with it (promise 17)', async () => {
    const answer = Promise.withResolvers<Response>()
    await using server = await setup(() => answer.promise)
    await connectOpenId(server, { type: 'google' })
    const code = await codeOfLogin(server, 'google')
    const first = server.exchange(code)
    while (server.hook.questions.length === 0) await Bun.sleep(2)
    expect((await server.exchange(code)).status).toBe(401)
    answer.resolve(new Response('{}'))
    expect((await first).body['code']).toBe('WEBHOOK_ERROR')
    expect((await server.exchange(code)).status).toBe(401)
  })

  test('that is slow delays no other login', async () => {
    const answer = Promise.withResolvers<Response>()
    await using server = await setup(() => answer.promise)
    const waiting = server.vouch({ sub: ALICE })
    while (server.hook.questions.length === 0) await Bun.sleep(2)
    await server.setPolicy({ newUsers: 'prod' })
    expect((await server.vouch({ sub: 'bob' })).status).toBe(200)
    answer.resolve(verdict('eval'))
    expect((await waiting).body).toMatchObject({ userType: 'eval' })
  })
})

test('a hundred first logins of one person at once are one user and one question', async () => {
  await using server = await setup(async () => {
    await Bun.sleep(50)
    return verdict('eval', { displayName: 'Ada' })
  })
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => server.vouch({ sub: ALICE, email: ALICE })),
  )
  const shown = new Set(
    answers.map(({ status, body }) => `${status} ${JSON.stringify(body['data'])}`),
  )
  expect([...shown]).toEqual(['200 {"displayName":"Ada"}'])
  expect(server.hook.questions).toHaveLength(1)
})
