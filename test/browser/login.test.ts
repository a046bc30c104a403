import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import type { Page } from 'playwright-core'
import { connectOpenId, type LoginServer, setupLogins } from '../oauth/setup'
import { useChromium } from './chromium'

const browser = useChromium()

/** A web application without a library: log in, exchange the code, read. */
const APPLICATION = `<!doctype html>
<button hidden>Continue</button><output></output>
<script type="module">
  const database = new URL(location).searchParams.get('database')
  const [button, output] = [document.querySelector('button'), document.querySelector('output')]
  const found = new URL(location).searchParams.get('dxc-auth')
  if (found === null) {
    const { providers } = await (await fetch(database + '/auth-providers')).json()
    button.textContent = 'Continue with ' + providers[0].displayName
    button.hidden = false
    button.onclick = () => {
      const back = new URLSearchParams({ redirect_uri: location.href })
      location.href = database + '/oauth/login/' + providers[0].name + '?' + back
    }
  } else {
    const { code, error } = JSON.parse(atob(found.replaceAll('-', '+').replaceAll('_', '/')))
    output.textContent = error ?? (await show(code))
  }

  async function show(code) {
    const body = JSON.stringify({ grant_type: 'authorization_code', code, scopes: ['ACCESS_DB'] })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(database + '/token', { method: 'POST', headers, body })
    const { claims, accessToken } = await answer.json()
    const authorization = 'Bearer ' + accessToken
    const realms = await fetch(database + '/my/realms', { headers: { authorization } })
    return claims.sub + ' ' + claims.name + ' ' + realms.status
  }
</script>`

/** At the start of a login of the application, which knows the server by another name than the provider. */
async function setup(connect = connectGoogle) {
  await using undo = new AsyncDisposableStack()
  const server = undo.use(await setupLogins())
  await connect(server)
  const application = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(APPLICATION, { headers: { 'content-type': 'text/html' } }),
  })
  undo.defer(() => application.stop(true))
  const { page } = undo.use(await browser.openDevice())
  const query = new URLSearchParams({ database: atLocalhost(server) }).toString()
  await page.goto(`http://localhost:${application.port}/todo?${query}#list`)
  await page.getByRole('button', { name: 'Continue with' }).click()
  const parts = undo.move()
  return { server, page, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

async function connectGoogle(server: LoginServer): Promise<void> {
  await connectOpenId(server, { type: 'google' })
}

/** Its answer is a form that its page posts, from another site than that of the server. */
async function connectApple(server: LoginServer): Promise<void> {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const main = atLocalhost(server)
  await server.commands.run('db.address', { database: 'main', url: main, reset: false })
  const apple = { type: 'apple', teamId: 'TEAM123456', keyId: 'KEY1234567' }
  await connectOpenId(server, apple, {
    secret: privateKey,
    callback: `${main}/oauth/callback/apple`,
    configuration: {
      scopes: ['openid', 'email', 'name'],
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    },
    isClientSecret: () => true,
  })
}

function atLocalhost({ main }: LoginServer): string {
  return main.replace('127.0.0.1', 'localhost')
}

async function signIn(page: Page): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill('alice')
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('a person logs in at the page of the provider and comes back to the application', async () => {
  await using scene = await setup()
  const { page } = scene
  await signIn(page)
  await page.getByText('alice@example.com Alice Ångström 200').waitFor()
  expect(page.url()).toMatch(/\/todo\?database=[^&]+&dxc-auth=[\w-]+#list$/)
})

test('a person logs in with a provider that posts its answer from another site, as Apple does', async () => {
  await using scene = await setup(connectApple)
  const { page } = scene
  const posts: string[] = []
  page.on('request', (request) => {
    if (request.method() === 'POST') posts.push(request.url())
  })
  await signIn(page)
  await page.getByText('alice@example.com undefined 200').waitFor()
  expect(posts).toContain(`${atLocalhost(scene.server)}/oauth/callback/apple`)
})

test('a person turns back at the page of the provider and is told so in the application', async () => {
  await using scene = await setup()
  await scene.page.getByRole('link', { name: /Cancel/ }).click()
  await scene.page.getByText('access_denied: the login was cancelled').waitFor()
  expect(await scene.page.getByText('alice@example.com').count()).toBe(0)
})

test('the page of a refused login says why, runs nothing and fits a phone', async () => {
  await using server = await setupLogins()
  await using device = await browser.openDevice({ width: 360, height: 640 })
  const { page } = device
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  const evil = 'https://evil.example/"><script>document.title="evil"</script>'
  await page.goto(server.loginUrl('google', evil))
  await page.getByText('The login may not return to "https://evil.example"').waitFor()
  expect(await page.title()).toBe('You are not logged in')
  const width = await page.evaluate('document.documentElement.scrollWidth')
  expect(width).toBeLessThanOrEqual(360)
  expect(complaints.filter((text) => text.includes('Content Security Policy'))).toEqual([])
})
