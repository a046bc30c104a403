import { describe, expect, test } from 'bun:test'
import { type GitHubUser, startGitHub } from '../oauth/github'
import {
  addProvider,
  answerOf,
  codeOfLogin,
  connectOpenId,
  logIn,
  type ProviderInput,
  setupLogins,
} from '../oauth/setup'

/**
 * Promise 20: an address that a provider did not verify leads to no user: not to the one who has it,
 * and not to a new one who would have it before its owner comes.
 */

/** Everything a provider may say about an address that it did not verify. */
const UNVERIFIED: readonly Readonly<Record<string, unknown>>[] = [
  { email: 'alice@example.com' },
  { email: 'alice@example.com', email_verified: false },
  { email: 'alice@example.com', email_verified: null },
  { email: 'alice@example.com', email_verified: 0 },
  { email: 'alice@example.com', email_verified: '' },
  { email: 'alice@example.com', email_verified: 'false' },
  { email: 'alice@example.com', email_verified: 'no' },
  { email: 'alice@example.com', email_verified: {} },
  { email: 'ALICE@EXAMPLE.COM', email_verified: false },
  { email: ['alice@example.com'], email_verified: true },
  { email: '', email_verified: true },
  { email: 'alice', email_verified: true },
  { email: 'mallory@example.com, alice@example.com', email_verified: true },
  { email: '<alice@example.com>', email_verified: true },
  { preferred_username: 'alice@example.com', email_verified: true },
  { upn: 'alice@example.com', email_verified: true },
]

const PROVIDERS: readonly ProviderInput[] = [
  { type: 'google' },
  { type: 'microsoft' },
  { type: 'custom-oauth2', name: 'acme' },
]

describe.each(PROVIDERS)('promise 20: %j', (given) => {
  test('gives no code for an address it did not verify', async () => {
    await using server = await setupLogins()
    const accounts = Object.fromEntries(UNVERIFIED.map((claims, at) => [`account-${at}`, claims]))
    await connectOpenId(server, given, { accounts })
    for (const [account, claims] of Object.entries(accounts)) {
      const url = server.loginUrl(given.name ?? given.type)
      const answer = answerOf((await logIn(server.visitor(), url, account)).url)
      expect({ claims, code: answer['code'] }).toEqual({ claims, code: undefined })
      expect(answer['error']).toBeString()
    }
  })
})

test('promise 20: GitHub gives no code for any but the verified primary address', async () => {
  const alice = 'alice@example.com'
  const users: readonly GitHubUser['emails'][] = [
    [{ email: alice, primary: true, verified: false }],
    [{ email: alice, primary: false, verified: true }],
    [
      { email: alice, primary: true, verified: false },
      { email: alice, primary: false, verified: true },
    ],
    [],
  ]
  await using server = await setupLogins()
  using github = startGitHub(
    users.map((emails, at) => ({ login: `user-${at}`, name: null, emails })),
  )
  await addProvider(server, {
    type: 'github',
    authorizationUrl: `${github.url}/login/oauth/authorize`,
    tokenUrl: `${github.url}/login/oauth/access_token`,
    userInfoUrl: `${github.url}/user`,
  })
  for (const at of users.keys()) {
    const visitor = server.visitor()
    const page = await visitor.go(server.loginUrl('github'))
    const { url } = await visitor.go(`${page.url}&login=user-${at}`)
    expect(answerOf(url)['code']).toBeUndefined()
    expect(answerOf(url)['error']).toMatch(/verif/)
  }
})

test('promise 20: a login without a proven address neither creates a user nor keeps its owner out', async () => {
  await using server = await setupLogins()
  await connectOpenId(server, { type: 'google' })
  await logIn(server.visitor(), server.loginUrl('google'), 'mallory')
  const before = await server.exchange(await codeOfLogin(server, 'google'), { intent: 'login' })
  expect(before).toMatchObject({ status: 403, body: { code: 'USER_NOT_REGISTERED' } })
  const { body } = await server.exchange(await codeOfLogin(server, 'google'))
  expect(body['claims']).toMatchObject({ sub: 'alice@example.com', name: 'Alice Ångström' })
})
