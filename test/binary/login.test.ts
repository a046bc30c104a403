import { postJson } from '../http/setup'
import { expect, test } from 'bun:test'
import { ACCOUNTS, answerOf, logIn } from '../oauth/setup'
import { CLIENT_ID, CLIENT_SECRET, startOpenIdProvider } from '../oauth/openid'
import { createVisitor } from '../oauth/visitor'
import { temporaryFolder } from '../setup'
import { satchelJson, serve } from './setup'

const APP = 'https://app.example.com'

test('the executable logs people in with a provider', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  await using server = await serve(surroundings, ['--allow-private-addresses', '127.0.0.0/8'])
  const main = `${server.ready.url}/main`
  const callback = `${main}/oauth/callback/acme`
  using provider = await startOpenIdProvider({ accounts: ACCOUNTS, callback })
  await Bun.write(`${folder.path}/secret`, CLIENT_SECRET)
  await satchelJson(['origin', 'add', APP], surroundings)
  const acme = ['--name', 'acme', '--issuer', provider.issuer, '--client-id', CLIENT_ID]
  const added = await satchelJson<object>(
    ['provider', 'add', 'custom-oauth2', ...acme, '--secret-file', 'secret'],
    surroundings,
  )
  expect(added).toMatchObject({ name: 'acme', callbackUrl: callback })
  expect(await satchelJson<object>(['provider', 'test', 'acme'], surroundings)).toMatchObject({
    client: 'accepted',
  })

  const visitor = createVisitor((url) => url.href.startsWith(APP))
  const page = await logIn(visitor, `${main}/oauth/login/acme?redirect_uri=${APP}`)
  const response = await postJson(`${main}/token`, {
    grant_type: 'authorization_code',
    code: answerOf(page.url)['code'],
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ userId: 'alice@example.com' })

  server.kill('SIGTERM')
  const log = await server.log
  for (const secret of [CLIENT_SECRET, answerOf(page.url)['code'] ?? 'no code', 'dxc-auth']) {
    expect(log).not.toContain(secret)
  }
})
