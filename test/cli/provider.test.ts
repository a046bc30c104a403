import { expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLIENT_ID, CLIENT_SECRET, startOpenIdProvider } from '../oauth/openid'
import { temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

const APPLE_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string
const RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string

async function setup(settings: object = { allowPrivateAddresses: '127.0.0.0/8' }) {
  const folder = temporaryFolder()
  const config = join(folder.path, 'settings.json')
  await Bun.write(config, JSON.stringify(settings))
  mkdirSync(join(folder.path, 'data'))
  const data = ['--data', join(folder.path, 'data'), '--config', config]
  await runJson(['db', 'create', 'main', ...data])
  return {
    folder: folder.path,
    data,
    add: (...args: string[]) => ['provider', 'add', ...args, ...data],
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('adds, lists and removes providers, and shows no secret', async () => {
  using satchel = await setup()
  const add = satchel.add('google', '--client-id', 'id-at-google', '--scopes', 'openid,email')
  const added = await runSatchel(add, { input: `${CLIENT_SECRET}\n` })
  expect(added).toMatchObject({ exitCode: 0, stderr: '' })
  expect(added.stdout).toBe(
    [
      'Users can log in with Google after this callback address is registered there:',
      '  <public address of main>/oauth/callback/google',
      'satchel provider test google tests the client id and secret',
      '',
    ].join('\n'),
  )
  const list = ['provider', 'list', ...satchel.data]
  const { data } = await runJson<{ data: unknown[] }>(list)
  expect(data).toEqual([
    {
      name: 'google',
      type: 'google',
      displayName: 'Google',
      iconUrl: null,
      clientId: 'id-at-google',
      scopes: ['openid', 'email'],
      options: {},
      created: expect.stringMatching(/^2030-.*Z$/),
      hasSecret: true,
      callbackUrl: null,
    },
  ])
  const shown = await runSatchel(list)
  expect(shown.stdout).toMatch(/^NAME +TYPE +SHOWN AS +CLIENT ID +CALLBACK ADDRESS\ngoogle +google/)
  expect(shown.stdout + added.stdout).not.toContain(CLIENT_SECRET)

  await runJson(['provider', 'remove', 'google', ...satchel.data])
  expect(await runJson<unknown>(list)).toEqual({ data: [] })
  const gone = await runSatchel(['provider', 'remove', 'google', ...satchel.data])
  expect(gone).toMatchObject({ exitCode: 1, stderr: 'satchel: No login provider "google"\n' })
})

test('keeps the secret sealed, and takes it from a file, a question or standard input', async () => {
  using satchel = await setup()
  const file = join(satchel.folder, 'secret.txt')
  await Bun.write(file, `${CLIENT_SECRET}\n`)
  const id = ['--client-id', 'x']
  await runJson(satchel.add('google', ...id, '--secret-file', file))
  await runJson(satchel.add('github', ...id, '--secret-file', '-'), { input: CLIENT_SECRET })
  const asked = await runSatchel(satchel.add('microsoft', ...id), { answer: CLIENT_SECRET })
  expect(asked).toMatchObject({ exitCode: 0, stderr: 'Client secret, which is not shown: ' })
  const database = join(satchel.folder, 'data', 'databases', 'main', 'database.sqlite')
  for (const suffix of ['', '-wal']) {
    const bytes = await Bun.file(database + suffix)
      .bytes()
      .catch(() => new Uint8Array())
    expect(Buffer.from(bytes).includes(CLIENT_SECRET)).toBe(false)
  }
  expect(readFileSync(file, 'utf8')).toContain(CLIENT_SECRET)
})

test('a second add of the same name changes the provider', async () => {
  using satchel = await setup()
  const secret = { input: 'a' }
  await runJson(satchel.add('google', '--client-id', 'one', '--name', 'work'), secret)
  await runJson(satchel.add('google', '--client-id', 'two', '--name', 'work'), secret)
  const { data } = await runJson<{ data: unknown[] }>(['provider', 'list', ...satchel.data])
  expect(data).toMatchObject([{ name: 'work', clientId: 'two' }])
})

test.each([
  [['facebook', '--client-id', 'x'], 's', '"facebook" is not a type of provider'],
  [['google', '--client-id', ' '], 's', 'its client id is missing'],
  [['google', '--client-id', 'x'], '', 'google needs a client secret'],
  [['google', '--client-id', 'x', '--public'], 's', 'google needs a client secret'],
  [['google', '--client-id', 'x', '--name', 'A B'], 's', '"A B" is not a valid name'],
  [['google', '--client-id', 'x', '--name', '../x'], 's', '"../x" is not a valid name'],
  [['google', '--client-id', 'x', '--icon', 'javascript:1'], 's', 'the icon must be an https'],
  [['google', '--client-id', 'x', '--token-url', 'https://a.b'], 's', 'all three addresses'],
  [['microsoft', '--client-id', 'x', '--tenant', '../x'], 's', 'a tenant is'],
  [['apple', '--client-id', 'x', '--key-id', 'k'], APPLE_KEY, 'apple needs --team-id'],
  [['apple', '--client-id', 'x', '--team-id', 't'], APPLE_KEY, 'apple needs --key-id'],
  [['apple', '--client-id', 'x', '--team-id', 't', '--key-id', 'k'], 's', 'the private key in PEM'],
  [['apple', '--client-id', 'x', '--team-id', 't', '--key-id', 'k'], RSA_KEY, 'the private key'],
  [['custom-oauth2', '--client-id', 'x'], 's', 'give --issuer, or --authorization-url'],
  [['custom-oauth2', '--client-id', 'x', '--issuer', 'acme'], 's', '--issuer must be an https'],
  [['custom-oauth2', '--client-id', 'x', '--issuer', 'https://u:p@a.b'], 's', '--issuer must be'],
])('refuses %j', async (args, input, message) => {
  using satchel = await setup()
  const refused = await runSatchel(satchel.add(...args), { input })
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(message) })
})

test('takes what each type needs', async () => {
  using satchel = await setup()
  const apple = ['--client-id', 'x', '--team-id', 't', '--key-id', 'k']
  const acme = ['--client-id', 'x', '--public', '--issuer', 'https://login.acme.example']
  await runJson(satchel.add('apple', ...apple), { input: APPLE_KEY })
  await runJson(satchel.add('custom-oauth2', '--name', 'acme', ...acme, '--trust-email'))
  const { data } = await runJson<{ data: unknown[] }>(['provider', 'list', ...satchel.data])
  expect(data).toMatchObject([
    { name: 'apple', options: { teamId: 't', keyId: 'k' }, hasSecret: true },
    {
      name: 'acme',
      displayName: 'acme',
      options: { issuer: 'https://login.acme.example', trustsEmail: true },
      hasSecret: false,
    },
  ])
})

test('asks the provider whether it accepts the client id and secret', async () => {
  using satchel = await setup({
    allowPrivateAddresses: '127.0.0.0/8',
    publicUrl: 'https://data.example.com',
  })
  const callback = 'https://data.example.com/main/oauth/callback/acme'
  using provider = await startOpenIdProvider({ accounts: {}, callback })
  const acme = ['custom-oauth2', '--name', 'acme', '--client-id', CLIENT_ID]
  const add = satchel.add(...acme, '--issuer', provider.issuer)
  const added = await runJson<object>(add, { input: CLIENT_SECRET })
  expect(added).toMatchObject({ callbackUrl: callback })
  const check = ['provider', 'test', 'acme', ...satchel.data]
  expect(await runJson<unknown>(check)).toEqual({
    issuer: provider.issuer,
    authorizationUrl: `${provider.issuer}/auth`,
    tokenUrl: `${provider.issuer}/token`,
    callbackUrl: callback,
    client: 'accepted',
    answer: 'invalid_grant',
  })
  expect((await runSatchel(check)).stdout).toEndWith('acme accepts the client id and secret\n')
  await runJson(add, { input: 'another secret' })
  const refused = await runSatchel(check)
  expect(refused.stdout).toContain(`Issuer             ${provider.issuer}\n`)
  expect([refused.exitCode, refused.stderr]).toEqual([
    1,
    'satchel: acme rejects the client id or secret (invalid_client)\n',
  ])
})

test('says why a provider cannot be asked', async () => {
  using satchel = await setup({})
  const acme = ['custom-oauth2', '--name', 'acme', '--client-id', 'x', '--public']
  await runJson(satchel.add(...acme, '--issuer', 'http://127.0.0.1:1'))
  const { exitCode, stderr } = await runSatchel(['provider', 'test', 'acme', ...satchel.data])
  expect(exitCode).toBe(1)
  expect(stderr).toContain('The login provider acme failed: 127.0.0.1:1 is not a public address')
  expect(stderr).toContain('--allow-private-addresses')
})

test('shows, sets and resets the public address of a database', async () => {
  using satchel = await setup({ publicUrl: 'https://data.example.com/' })
  const address = (...args: string[]) =>
    runSatchel(['db', 'address', 'main', ...args, ...satchel.data])
  expect((await address()).stdout).toBe('https://data.example.com/main\n')
  expect((await address('https://todo.example.com/')).stdout).toBe('https://todo.example.com\n')
  expect((await address()).stdout).toBe('https://todo.example.com\n')
  expect((await address('todo.example.com')).exitCode).toBe(1)
  expect((await address('--reset')).stdout).toBe('https://data.example.com/main\n')
})
