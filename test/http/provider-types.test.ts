import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { importSPKI, jwtVerify } from 'jose'
import { startGitHub } from '../oauth/github'
import { CLIENT_ID } from '../oauth/openid'
import { startPlainProvider } from '../oauth/plain'
import {
  addProvider,
  answerOf,
  APP,
  codeOfLogin,
  connectOpenId,
  logIn,
  setupLogins,
  providersOf,
} from '../oauth/setup'
import { createVisitor } from '../oauth/visitor'

describe('the types of providers', () => {
  test('Microsoft: an address is believed from a tenant that was named, or with its word for it', async () => {
    await using server = await setupLogins()
    const accounts = {
      plain: { email: 'alice@example.com' },
      owned: { email: 'alice@example.com', xms_edov: true },
      personal: { email: 'alice@example.com', tid: '9188040d-6c67-4c5b-b112-36a304b66dad' },
    }
    const claims = { openid: ['sub', 'tid', 'xms_edov'], email: ['email', 'email_verified'] }
    const options = { accounts, configuration: { claims } }
    await connectOpenId(server, { type: 'microsoft' }, options)
    const acme = { type: 'microsoft', name: 'acme', tenant: 'acme.example' }
    await connectOpenId(server, acme, options)
    const outcome = async (provider: string, account: string) => {
      const { url } = await logIn(server.visitor(), server.loginUrl(provider), account)
      return answerOf(url)['code'] === undefined ? 'refused' : 'accepted'
    }
    expect(await outcome('microsoft', 'plain')).toBe('refused')
    expect(await outcome('microsoft', 'owned')).toBe('accepted')
    expect(await outcome('microsoft', 'personal')).toBe('accepted')
    expect(await outcome('acme', 'plain')).toBe('accepted')
  })

  test('GitHub: the primary address counts, if it is verified', async () => {
    await using server = await setupLogins()
    using github = startGitHub([
      {
        login: 'alice',
        name: 'Alice',
        emails: [
          { email: 'old@example.com', primary: false, verified: true },
          { email: 'alice@example.com', primary: true, verified: true },
        ],
      },
      {
        login: 'mallory',
        name: null,
        emails: [
          { email: 'mallory@example.com', primary: false, verified: true },
          { email: 'alice@example.com', primary: true, verified: false },
        ],
      },
      { login: 'nobody', name: null, emails: [] },
    ])
    await addProvider(server, {
      type: 'github',
      authorizationUrl: `${github.url}/login/oauth/authorize`,
      tokenUrl: `${github.url}/login/oauth/access_token`,
      userInfoUrl: `${github.url}/user`,
    })
    const loginAs = async (login: string) => {
      const visitor = server.visitor()
      const page = await visitor.go(server.loginUrl('github'))
      return answerOf((await visitor.go(`${page.url}&login=${login}`)).url)
    }
    const { code = '' } = await loginAs('alice')
    const { body } = await server.exchange(code)
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com', name: 'Alice' })
    expect((await loginAs('mallory'))['error']).toMatch(/email .*verif/)
    expect((await loginAs('nobody'))['error']).toMatch(/verif.* email/)
    expect((await loginAs(''))['error']).toContain('access_denied')
    expect((await loginAs('unknown'))['error']).toContain('could not complete')
    expect(github.exchanges[0]?.get('code_verifier')).toMatch(/^[\w-]{43}$/)
  })

  test('Apple: a signed client secret, a form, and a name beside the code', async () => {
    await using server = await setupLogins()
    const keys = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const secrets: unknown[] = []
    const apple = { type: 'apple', teamId: 'TEAM123456', keyId: 'KEY1234567' }
    const provider = await connectOpenId(server, apple, {
      secret: keys.privateKey,
      configuration: {
        scopes: ['openid', 'email', 'name'],
        claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      },
      async isClientSecret(given) {
        const key = await importSPKI(keys.publicKey, 'ES256')
        const { payload, protectedHeader } = await jwtVerify(given, key)
        secrets.push({ payload, protectedHeader })
        return true
      },
    })
    const visitor = server.visitor()
    let page = await logIn(visitor, server.loginUrl('apple'))
    // The provider's page would send itself; a real one adds the name at the first login.
    expect(page.html).toContain('<form')
    page = await visitor.submit(page, {
      user: '{"name":{"firstName":"Ada","lastName":"Lovelace"}}',
    })
    const { body } = await server.exchange(answerOf(page.url)['code'] ?? '')
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com', name: 'Ada Lovelace' })
    const issued = Math.floor(server.clock.now() / 1000)
    expect(secrets).toEqual([
      {
        protectedHeader: { alg: 'ES256', kid: 'KEY1234567' },
        payload: {
          iss: 'TEAM123456',
          sub: CLIENT_ID,
          aud: provider.issuer,
          iat: issued,
          exp: issued + 300,
        },
      },
    ])
    const sent = provider.requests.find(({ path }) => path === '/auth')
    expect(sent?.parameters.get('response_mode')).toBe('form_post')
  })

  test('custom-oauth2: without a discovery document, by OAuth alone', async () => {
    await using server = await setupLogins()
    const sent: string[] = []
    using provider = startPlainProvider((request) => void sent.push(request))
    await addProvider(server, {
      type: 'custom-oauth2',
      name: 'plain',
      authorizationUrl: `${provider.url}/auth`,
      tokenUrl: `${provider.url}/token`,
      userInfoUrl: `${provider.url}/me`,
    })
    const listed = [{ type: 'custom-oauth2', name: 'plain', scopes: ['email'] }]
    expect(await providersOf(server)).toMatchObject({ providers: listed })
    const { url } = await server.visitor().go(server.loginUrl('plain'))
    const { body } = await server.exchange(answerOf(url)['code'] ?? '')
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com', name: 'Alice' })
    const asked = new URL(sent[0] ?? '').searchParams
    expect([asked.get('scope'), asked.has('nonce')]).toEqual(['email', false])
    expect(asked.get('code_challenge_method')).toBe('S256')
    expect(sent.map((request) => new URL(request).pathname)).toEqual(['/auth', '/token', '/me'])

    await server.visitor().go(server.loginUrl('plain', APP, { scopes: '' }))
    expect(new URL(sent[3] ?? '').searchParams.has('scope')).toBe(false)
  })

  test('custom-oauth2: claims of an OpenID provider that cannot be verified are ignored', async () => {
    await using server = await setupLogins({ allowPrivateAddresses: '127.0.0.0/8,::1/128' })
    const openid = await connectOpenId(server, { type: 'google' })
    const elsewhere = openid.issuer.replace('127.0.0.1', 'localhost')
    const plain = {
      type: 'custom-oauth2',
      name: 'google',
      authorizationUrl: `${elsewhere}/auth`,
      tokenUrl: `${openid.issuer}/token`,
      userInfoUrl: `${openid.issuer}/me`,
      scopes: ['openid', 'email'],
    }
    await addProvider(server, plain)
    const goTo = async () => {
      const visitor = createVisitor((url) => url.origin === APP)
      return answerOf((await logIn(visitor, server.loginUrl('google'))).url)
    }
    const { code = '' } = await goTo()
    const { body } = await server.exchange(code)
    expect(body['claims']).toMatchObject({ sub: 'alice@example.com' })
    const begun = openid.requests.find(({ path }) => path === '/auth')
    expect(begun?.parameters.has('nonce')).toBe(false)
    // With a name it is held to it.
    await addProvider(server, { ...plain, issuer: elsewhere })
    expect((await goTo())['error']).toContain('could not complete')
  })

  test('custom-oauth2: a provider that does not report verification is trusted only with --trust-email', async () => {
    await using server = await setupLogins()
    const accounts = {
      silent: { email: 'alice@example.com' },
      honest: { email: 'alice@example.com', email_verified: false },
    }
    await connectOpenId(
      server,
      { type: 'custom-oauth2', name: 'trusted', trustsEmail: true },
      { accounts },
    )
    await connectOpenId(server, { type: 'custom-oauth2', name: 'other' }, { accounts })
    const errorFor = async (provider: string, account: string) => {
      const { url } = await logIn(server.visitor(), server.loginUrl(provider), account)
      return answerOf(url)['error']
    }
    expect(await errorFor('trusted', 'silent')).toBeUndefined()
    expect(await errorFor('trusted', 'honest')).toContain('not verified')
    expect(await errorFor('other', 'silent')).toContain('not verified')
  })

  test('a public client has no secret, PKCE alone proves it', async () => {
    await using server = await setupLogins()
    const callback = `${server.main}/oauth/callback/spa`
    const spa = { type: 'custom-oauth2', name: 'spa' }
    const client = { token_endpoint_auth_method: 'none' as const }
    const provider = await connectOpenId(server, spa, { callback, client })
    await addProvider(server, { ...spa, issuer: provider.issuer }, null)
    expect(await codeOfLogin(server, 'spa')).toBeString()
  })
})
