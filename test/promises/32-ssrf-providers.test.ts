import { expect, test } from 'bun:test'
import type { setupServer } from '../setup'
import { addProvider, answerOf, type LoginServer, setupLogins } from '../oauth/setup'

/**
 * Promise 32 for login providers: their addresses reach nothing private unless it is allowed. Every
 * address that can be written is in `test/outbound.test.ts`; here are the ways there.
 */

function setupTarget(answer: (request: Request) => Response, hostname = '127.0.0.1') {
  const visits: string[] = []
  const server = Bun.serve({
    hostname,
    port: 0,
    fetch(request) {
      visits.push(new URL(request.url).pathname)
      return answer(request)
    },
  })
  const url = `http://${hostname}:${server.port}`
  return { url, visits, [Symbol.dispose]: () => void server.stop(true) }
}

const discover = (issuer: string, elsewhere: string) =>
  Response.json({
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${elsewhere}/token`,
    userinfo_endpoint: `${elsewhere}/me`,
    jwks_uri: `${elsewhere}/jwks`,
  })

/** Goes to the provider and comes back with a code that it never gave. */
async function logIn(server: LoginServer): Promise<Readonly<Record<string, string>>> {
  const begun = await fetch(server.loginUrl('google'), { redirect: 'manual' })
  const location = new URL(begun.headers.get('location') ?? '')
  if (location.searchParams.has('dxc-auth')) return answerOf(location.href)
  const state = location.searchParams.get('state') ?? ''
  const query = new URLSearchParams({ state, code: 'x' })
  const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
  const back = await fetch(`${server.main}/oauth/callback/google?${query.toString()}`, {
    headers: { cookie },
    redirect: 'manual',
  })
  return answerOf(back.headers.get('location') ?? '')
}

test('promise 32: a private issuer is not asked, and the page is told nothing of why', async () => {
  await using server = await setupLogins({ allowPrivateAddresses: '10.0.0.0/8' })
  using target = setupTarget(() => Response.json({}))
  await addProvider(server, { type: 'google', issuer: target.url })
  const { error } = await logIn(server)
  expect(error).not.toContain('127.0.0.1')
  expect(target.visits).toEqual([])
  expect(server.lines.join('\n')).toContain('is not a public address')
})

test('promise 32: an issuer on this machine is asked in development only', async () => {
  using target = setupTarget(() => Response.json({}))
  const ask = async (settings: Parameters<typeof setupServer>[0]) => {
    await using server = await setupLogins({ allowPrivateAddresses: undefined, ...settings })
    await addProvider(server, { type: 'google', issuer: target.url })
    await fetch(server.loginUrl('google'), { redirect: 'manual' })
  }
  await ask({ publicUrl: 'https://db.example.com' })
  expect(target.visits).toEqual([])
  await ask({})
  expect(target.visits).toEqual(['/.well-known/openid-configuration'])
})

test('promise 32: an issuer that redirects to a private address leads nowhere', async () => {
  await using server = await setupLogins({ allowPrivateAddresses: '127.0.0.2/32' })
  using target = setupTarget(() => Response.json({}))
  using issuer = setupTarget(() => Response.redirect(target.url, 302), '127.0.0.2')
  await addProvider(server, { type: 'google', issuer: issuer.url })
  await logIn(server)
  expect(issuer.visits).toEqual(['/.well-known/openid-configuration'])
  expect(target.visits).toEqual([])
})

test('promise 32: an issuer whose other addresses are private reaches them not', async () => {
  await using server = await setupLogins({ allowPrivateAddresses: '127.0.0.2/32' })
  using target = setupTarget(() => Response.json({}))
  using issuer = setupTarget(
    (request) => discover(new URL(request.url).origin, target.url),
    '127.0.0.2',
  )
  await addProvider(server, { type: 'google', issuer: issuer.url })
  expect((await logIn(server))['error']).toContain('could not complete')
  expect(issuer.visits).toEqual(['/.well-known/openid-configuration'])
  expect(target.visits).toEqual([])
})
