import { expect, test } from 'bun:test'
import { BYPASSES, LISTED } from '../domain/bypasses'
import { answerOf, connectOpenId, logIn, setupLogins } from '../oauth/setup'

/**
 * Promise 19 and conformance.md 166: a login returns to listed addresses alone (design.md §6,
 * RFC 9700 §4.1.3). The refusals are tested in `test/domain/redirect.test.ts`; here the browser is
 * looked at.
 */

async function setup() {
  const server = await setupLogins({ publicUrl: 'https://data.example.com' })
  for (const origin of LISTED) {
    await server.commands.run('origin.add', { database: 'main', origin, force: true })
  }
  return server
}

test('promise 19: no address that only looks listed makes a browser go anywhere', async () => {
  await using server = await setup()
  const provider = await connectOpenId(server, { type: 'google' })
  for (const address of BYPASSES) {
    const response = await fetch(`${server.loginUrl('google', address)}&moved=1`, {
      redirect: 'manual',
    })
    const { status, headers } = response
    const isRefused = status === 400 || status === 403
    const location = headers.get('location')
    expect({ address, isRefused, location }).toEqual({ address, isRefused: true, location: null })
    expect(headers.get('set-cookie')).toBeNull()
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(await response.text()).not.toContain('<script')
  }
  expect(provider.requests).toEqual([])
})

test('promise 19: a second redirect_uri, or one in a form, changes nothing', async () => {
  await using server = await setupLogins()
  await connectOpenId(server, { type: 'google' })
  const url = `${server.loginUrl('google')}&redirect_uri=https://evil.example/`
  const page = await logIn(server.visitor(), url)
  expect(new URL(page.url).origin).toBe('https://app.example.com')
  const posted = await fetch(server.loginUrl('google'), {
    method: 'POST',
    body: new URLSearchParams({ redirect_uri: 'https://evil.example/' }),
  })
  expect(posted.status).toBe(405)
})

test('promise 19: an attacker cannot plant a code in the return address', async () => {
  await using server = await setupLogins()
  await connectOpenId(server, { type: 'google' })
  const planted = Buffer.from('{"code":"evil","provider":"google","state":"x"}').toString(
    'base64url',
  )
  const redirect = `https://app.example.com/?dxc-auth=${planted}&dxc%2Dauth=${planted}&x=1`
  const { url } = await logIn(server.visitor(), server.loginUrl('google', redirect))
  expect(new URL(url).searchParams.getAll('dxc-auth')).toHaveLength(1)
  expect(answerOf(url)['code']).not.toBe('evil')
  expect(url).toStartWith('https://app.example.com/?x=1&dxc-auth=')
})
