import { describe, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { codeOf, refusalOf } from '../setup'
import { setupOtp } from '../otp-setup'

const FOO = 'foo@demo.local'
const request = { grant_type: 'demo', demo_user: FOO, scopes: ['ACCESS_DB'] }

describe('a demo user (protocol.md §2.5, §7, conformance 71)', () => {
  test('logs in without a secret', async () => {
    await using server = await setupOtp()
    await server.addUser(FOO, { type: 'demo', data: { displayName: 'Foo' } })
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const public_key = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    const answer = await server.tokens({ ...request, public_key })
    expect(answer).toMatchObject({
      claims: { sub: FOO, email: FOO, name: 'Foo' },
      userType: 'demo',
      userId: FOO,
      refreshToken: expect.any(String),
      scope: 'ACCESS_DB',
    })
    expect(await server.verify(answer.accessToken)).toMatchObject({ subject: FOO })
    expect((await server.tokens({ ...request, demo_user: 'Foo@Demo.Local' })).userId).toBe(FOO)
  })

  test('must have been imported', async () => {
    await using server = await setupOtp()
    expect(await codeOf(() => server.send(request))).toBe('USER_NOT_REGISTERED')
    expect(await server.findUser(FOO)).toBeUndefined()
  })

  test('is never a person, regardless of their type', async () => {
    await using server = await setupOtp()
    await server.addUser('alice@example.com', { type: 'demo' })
    await server.addUser('bob@demo.local', { type: 'prod' })
    await server.addUser('eve@xdemo.local', { type: 'demo' })
    for (const demo_user of ['alice@example.com', 'bob@demo.local', 'eve@xdemo.local']) {
      expect(await codeOf(() => server.send({ ...request, demo_user }))).toBe('USER_NOT_REGISTERED')
    }
  })

  test('does not log in while deactivated', async () => {
    await using server = await setupOtp()
    await server.addUser(FOO, { type: 'demo', deactivated: server.clock.now() })
    expect(await codeOf(() => server.send(request))).toBe('USER_DEACTIVATED')
  })

  test.each([
    [{ demo_user: undefined }, 'INVALID_REQUEST "demo_user" is missing or not a string'],
    [{ demo_user: '' }, 'INVALID_REQUEST'],
    [{ scopes: undefined }, 'INVALID_REQUEST'],
    [{ scopes: ['GLOBAL_READ'] }, 'INVALID_SCOPE'],
    [{ scopes: [7] }, 'INVALID_REQUEST "scopes" must be an array of strings'],
    [{ public_key: 'mine' }, 'INVALID_REQUEST'],
  ])('cannot be asked for with %p', async (changes, refusal) => {
    await using server = await setupOtp()
    await server.addUser(FOO, { type: 'demo' })
    const { code, message } = await refusalOf(() => server.send({ ...request, ...changes }))
    expect(`${code} ${message}`).toStartWith(refusal)
  })
})
