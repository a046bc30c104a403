import { describe, expect, test } from 'bun:test'
import { ALICE, QUICK, reasonOf, setupWebhook, startHook } from '../auth/webhook-setup'
import { parseNetworks } from '../../src/net/networks'
import { setupLogins } from '../oauth/setup'

/**
 * Promise 32 for the web hook about new users: it is asked at no address that is not public, unless
 * that is allowed. Every address that can be written is in `test/outbound.test.ts`.
 */

describe('promise 32: a web hook at an address that is not public', () => {
  test.each([
    'http://127.0.0.1:PORT/',
    'http://localhost:PORT/',
    'http://[::1]:PORT/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://0x7f.1:PORT/',
    'http://10.0.0.1:PORT/',
    'http://192.168.0.1:PORT/',
    'http://169.254.169.254/latest/meta-data',
    'http://[fe80::1]:PORT/',
    'https://127.0.0.1:PORT/',
  ])('%s is not asked', async (address) => {
    using hook = startHook()
    const url = address.replace('PORT', new URL(hook.url).port)
    expect(await reasonOf(url, QUICK, { allowed: null })).toContain('is not a public address')
    expect(hook.questions).toHaveLength(0)
  })

  test('is not asked by a name for it, also when it means another one the second time', async () => {
    using hook = startHook()
    const { port } = new URL(hook.url)
    const answers = ['8.8.8.8', '127.0.0.1']
    const resolve = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }]
    const url = `http://rebind.example.com:${port}/`
    expect(await reasonOf(url, QUICK, { allowed: null, resolve })).toContain(
      'must be called by https',
    )
    expect(await reasonOf(url, QUICK, { allowed: null, resolve })).toContain(
      'is not a public address',
    )
    expect(hook.questions).toHaveLength(0)
  })

  test('is not asked when one that may be asked redirects there', async () => {
    using inner = startHook()
    using hook = startHook(() => Response.redirect(inner.url, 307))
    expect(await reasonOf(hook.url)).toContain('redirects (307)')
    expect(inner.questions).toHaveLength(0)
  })

  test('is asked when it is allowed', async () => {
    using hook = startHook()
    await using scene = await setupWebhook(hook.url, QUICK, {
      allowed: parseNetworks('127.0.0.1/32')!,
    })
    expect(await scene.webhook.ask(ALICE)).toEqual({ action: 'prod' })
  })
})

test('promise 32: a web hook at a private address is not asked unless it is allowed', async () => {
  await using server = await setupLogins({ allowPrivateAddresses: '10.0.0.0/8' })
  using hook = startHook()
  const policy = { database: 'main', evalDays: null, seats: null, newUsers: 'webhook' } as const
  await server.commands.run('policy.set', { ...policy, hookUrl: hook.url })
  const { clientId, clientSecret } = server.client
  const { status, body } = await server.ask({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scopes: ['ACCESS_DB'],
    claims: { sub: 'alice' },
  })
  expect({ status, body }).toMatchObject({ status: 403, body: { code: 'WEBHOOK_ERROR' } })
  expect(body['message']).not.toContain('private')
  expect(hook.questions).toHaveLength(0)
  expect(server.lines.join('\n')).toContain('is not a public address')
})
