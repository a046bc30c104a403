import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { satchel } from '../binary/setup'
import { public_key, refreshRequest } from '../http/login-setup'
import { callerOf } from '../http/setup'
import { startSmtp } from '../mail/smtp-server'
import { inputOf } from '../oauth/setup'
import { temporaryFolder } from '../setup'
import { type Executable, startExecutable } from './setup'

/**
 * Promise 42: no secret in logs, errors or what commands print. A session of the executable uses
 * every kind of secret there is, rightly and wrongly; afterwards all of its output is searched for
 * them (ASVS 16.2.5). Secrets are in the data folder only as hashes or sealed.
 */

const CANARY = 'c4n4ry-0f-4-v4lu3'

interface Session {
  /** Everything that must never be told, by name. */
  readonly secrets: Map<string, string>
  /** Everything that was told. */
  readonly told: string[]
}

/** Uses every grant and route, keeping secrets and error bodies. */
async function play(executable: Executable, { secrets, told }: Session): Promise<void> {
  const { anyone, client, commands, main } = executable
  const ask = (parameters: object, headers = {}) => anyone.post('/token', parameters, headers)
  const base = { grant_type: 'client_credentials', scopes: ['ACCESS_DB'] }
  const proof = { client_id: client.clientId, client_secret: client.clientSecret }
  const login = await ask({
    ...base,
    ...proof,
    claims: { sub: 'alice@example.com', password: `claim-${CANARY}` },
    public_key,
  })
  const { accessToken = '', refreshToken = '' } = login.body as Record<string, string>
  secrets.set('client secret', client.clientSecret)
  secrets.set('access token', accessToken)
  secrets.set('signature of the access token', accessToken.split('.')[2] ?? '')
  secrets.set('refresh token', refreshToken)
  secrets.set('claim', `claim-${CANARY}`)

  const refresh = refreshRequest(refreshToken, Date.now())
  secrets.set('signature of a refresh', refresh.signature)
  const renewed = await ask(refresh)
  secrets.set('second access token', (renewed.body as { accessToken: string }).accessToken)
  const rotated = await commands.run('client.rotate', { database: 'main', days: 7 })
  secrets.set('second client secret', rotated.clientSecret)
  await commands.run('key.rotate', { database: 'main' })

  const alice = callerOf(main, accessToken)
  const wrong = randomBytes(32).toString('base64url')
  secrets.set('wrong secret', wrong)
  const basic = Buffer.from(`${client.clientId}:${wrong}`).toString('base64')
  secrets.set('Basic header', basic)
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  const answers = [
    await ask({ ...base, ...proof, client_secret: wrong }),
    await ask({ ...base, client_id: wrong, client_secret: wrong }),
    await ask(base, { authorization: `Basic ${basic}` }),
    await ask({ ...base, ...proof, scopes: ['ROOT'] }),
    await ask({ ...base, ...proof, claims: { sub: 'x', exp: CANARY } }),
    await ask({ ...refresh, refresh_token: wrong }),
    await ask({ ...refresh, signature: wrong }),
    await ask({ ...refresh, time_stamp: 1 }),
    await ask({ ...base, ...proof, public_key: `-----BEGIN PUBLIC KEY-----\n${CANARY}` }),
    await anyone.send('POST', '/token', { body: `{"client_secret":"${client.clientSecret}",` }),
    await anyone.send('POST', '/token', { body: `client_secret=${wrong}&client_secret=${wrong}` }),
    await anyone.send('GET', '/my/plain', bearer(`${accessToken}x`)),
    await anyone.send('GET', '/my/plain', bearer(wrong)),
    await anyone.send('GET', '/token/validate', bearer(refreshToken)),
    await anyone.get(`/my/plain?access_token=${accessToken}`),
    await anyone.get(`/public/none?secret=${CANARY}`),
    await anyone.get(`/none/x?secret=${wrong}`),
    await alice.get(`/my/plain?$limit=${CANARY}`),
    await alice.get(`/all/plain?secret=${CANARY}`),
    await alice.post('/my/plain', { title: CANARY }),
    await alice.post('/my/plain', { id: `${CANARY}\n` }),
    await alice.post('/my/plain', { id: 'a', n: 1e300, $x: CANARY }),
    await alice.post('/my/plain', { id: 'a', realmId: `rlm${CANARY}` }),
    await alice.post('/all/plain', { id: 'a', title: CANARY }),
    await alice.send('POST', '/my/plain', { body: `{"id":"a","secret":"${CANARY}"` }),
    await alice.send('POST', '/my/plain', { body: CANARY, headers: { 'content-type': 'x/y' } }),
    await alice.send('GET', '/my/plain', { headers: { origin: `https://${wrong}.example` } }),
    await alice.get('/my/plain/none'),
  ]
  expect((await alice.post('/my/plain', { id: 'kept', title: CANARY })).status).toBe(200)
  for (const { status, text: body } of answers) {
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(500)
    told.push(body)
  }
  secrets.set('value', CANARY)
  const holder = readFileSync(join(executable.folder, 'holder.json'), 'utf8')
  secrets.set('control token', (JSON.parse(holder) as { token: string }).token)
}

/** Uses what is known of parties outside, none of which can be reached. */
async function playOutside(executable: Executable, { secrets, told }: Session): Promise<void> {
  const { anyone, client, commands, main } = executable
  const provider = randomBytes(24).toString('base64url')
  const code = randomBytes(32).toString('base64url')
  const secret = { upload: new Blob([provider]).stream() }
  await commands.run(
    'provider.add',
    inputOf({ type: 'google', issuer: 'http://127.0.0.1:1' }),
    secret,
  )
  const policy = { database: 'main', newUsers: 'webhook', evalDays: null, seats: null } as const
  const hook = await commands.run('policy.set', { ...policy, hookUrl: 'http://127.0.0.1:1/hook' })
  secrets.set('secret of the provider', provider)
  secrets.set('wrong code', code)
  secrets.set('secret of the web hook', hook.hookSecret ?? '')
  const rotated = await commands.run('policy.rotate-secret', { database: 'main', days: null })
  secrets.set('second secret of the web hook', rotated.hookSecret)
  const claims = { sub: 'bob@example.com' }
  const proof = { client_id: client.clientId, client_secret: client.clientSecret }
  const vouched = { grant_type: 'client_credentials', scopes: ['ACCESS_DB'], ...proof, claims }
  const answers = [
    await anyone.post('/token', vouched),
    await anyone.post('/token', { grant_type: 'authorization_code', code }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([403, 401])
  told.push(...answers.map(({ text }) => text))
  const page = `${main}/oauth/login/google?redirect_uri=http://localhost:5173/`
  const begun = await fetch(page, { redirect: 'manual' })
  secrets.set('cookie', begun.headers.get('set-cookie')?.split(/[=;]/)[1] ?? '')
  const back = new URL(begun.headers.get('location') ?? '').searchParams.get('dxc-auth') ?? ''
  told.push(Buffer.from(back, 'base64url').toString())
  expect(told.at(-1)).toContain('could not complete it')
  for (const request of [
    () => commands.run('provider.test', { database: 'main', name: 'google' }),
    () => commands.run('policy.test', { database: 'main', email: 'bob@example.com' }),
  ]) {
    told.push(await request().then(JSON.stringify, String))
    expect(told.at(-1)).toContain('cannot be reached')
  }
}

/** Logs in by mail, rightly and wrongly, through a mail server and a web hook with a secret each. */
async function playMails({ main, commands }: Executable, { secrets, told }: Session) {
  const password = randomBytes(24).toString('base64url')
  secrets.set('password of the mail server', password)
  await using smtp = await startSmtp({
    allowInsecureAuth: true,
    onAuth: ({ username }, _session, done) => done(null, { user: username }),
  })
  const sendTo = (address: string) => {
    const upload = new Blob([address]).stream()
    const input = { database: 'main', sender: 'app@example.com' }
    return commands.run('mail.set', input, { upload })
  }
  const serverAt = (port: number) => `smtp://app%40example.com:${password}@127.0.0.1:${port}`
  told.push(JSON.stringify(await sendTo(serverAt(smtp.port))))
  // Refusals of logins by mail are sentences, not JSON.
  const ask = async (parameters: object) => {
    const body = JSON.stringify({ scopes: ['ACCESS_DB'], ...parameters })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${main}/token`, { method: 'POST', headers, body })
    return { status: answer.status, text: await answer.text() }
  }
  const login = async (grants: readonly [string, string], wrong: string) => {
    const email = 'carol@example.com'
    const sent = await ask({ grant_type: grants[0], email })
    const { otp_id } = JSON.parse(sent.text) as { otp_id: string }
    const { text, user } = await smtp.next()
    expect(user).toBe('app@example.com')
    const [, otp = ''] = /^ {4}(\S+)$/m.exec(text) ?? []
    secrets.set(`one-time code of ${grants[0]}`, otp)
    secrets.set(`wrong code of ${grants[0]}`, wrong)
    const request = { grant_type: grants[1], email, otp_id, otp }
    const answers = [
      await ask({ ...request, otp: wrong }),
      await ask({ ...request, otp, email: 'dave@example.com' }),
      await ask({ ...request, otp, public_key: otp }),
      await ask({ ...request, otp, intent: otp }),
      await ask(request),
      await ask(request),
    ]
    expect(answers.map(({ status }) => status)).toContain(200)
    told.push(...answers.filter(({ status }) => status !== 200).map(({ text: body }) => body))
    const [tokens] = answers.filter(({ status }) => status === 200)
    const { accessToken } = JSON.parse(tokens?.text ?? '') as { accessToken: string }
    secrets.set(`token by ${grants[0]}`, accessToken)
  }
  await login(['otp', 'otp'], 'WR0NGC0DE7')
  await login(['otp-email', 'otp-token'], 'WR0NGC0DE8')
  const show = async (database = 'main') =>
    JSON.stringify(await commands.run('mail.show', { database }))
  // A server that cannot be reached: the mail waits, and the log says why.
  await sendTo(serverAt(1))
  const test = { database: 'main', to: 'carol@example.com', kind: 'otp' } as const
  told.push(await show(), await commands.run('mail.test', test).then(JSON.stringify, String))
  expect(told.at(-1)).toContain('127.0.0.1')
  await ask({ grant_type: 'otp', email: 'carol@example.com' })
  const hook = await sendTo('http://127.0.0.1:1/mail')
  secrets.set(
    'secret of the mail hook',
    hook !== null && 'hookSecret' in hook ? hook.hookSecret : '',
  )
  told.push(await show(), await commands.run('mail.test', test).then(JSON.stringify, String))
  await ask({ grant_type: 'otp', email: 'carol@example.com' })
}

/** The output of commands that do not create a secret. */
async function runCommands(folder: string, told: string[], environment: Record<string, string>) {
  const client = '--scopes ACCESS_DB'.split(' ')
  for (const args of [
    ['client', 'list'],
    ['client', 'create', ...client],
    ['client', 'rotate', 'nothing'],
    ['origin', 'list'],
    ['db', 'list'],
    ['schema', 'show'],
    ['key', 'rotate'],
    ['policy', 'show'],
    ['mail', 'show'],
    ['mail', 'test', '--to', 'carol@example.com'],
    ['policy', 'rotate-secret'],
    ['policy', 'test', 'bob@example.com'],
    ['provider', 'list'],
    ['provider', 'test', 'google'],
    ['token', '--sub', ''],
    ['nothing'],
  ]) {
    const outcome = await satchel([...args, '--data', folder], { cwd: folder, environment })
    told.push(outcome.stdout, outcome.stderr)
  }
}

/** Everything in a folder, as one text per file. */
function readFolder(folder: string): [name: string, text: string][] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [path.slice(folder.length + 1), readFileSync(path, 'latin1')]
    })
}

test('promise 42: nothing that a session tells has a secret in it', async () => {
  using folder = temporaryFolder()
  const session: Session = { secrets: new Map(), told: [] }
  const key = randomBytes(32).toString('base64')
  session.secrets.set('secret key', key)
  const environment = { SATCHEL_SECRET_KEY: key, SATCHEL_LOG_LEVEL: 'debug' }
  const outputs: Promise<string>[] = []
  {
    await using executable = await startExecutable(folder.path, { environment })
    outputs.push(executable.served.rest, executable.served.log)
    await play(executable, session)
    await playMails(executable, session)
    await playOutside(executable, session)
    await runCommands(folder.path, session.told, environment)
  }
  session.told.push(...(await Promise.all(outputs)))
  expect(session.secrets.size).toBeGreaterThanOrEqual(26)
  const leaks: string[] = []
  for (const [name, secret] of session.secrets) {
    expect([name, secret.length >= 8]).toEqual([name, true])
    for (const form of [secret, encodeURIComponent(secret), secret.slice(0, 24)]) {
      for (const text of session.told) if (text.includes(form)) leaks.push(`${name}: ${text}`)
    }
  }
  expect(leaks).toEqual([])
  const log = session.told.at(-1) ?? ''
  expect(log).toContain('"INVALID_CLIENT"')
  expect(log).toContain('/main/public/none')

  const kept = ['client secret', 'second client secret', 'refresh token', 'access token']
  const outside = [...session.secrets.keys()].filter((name) => name.includes('secret of the'))
  expect(outside).toHaveLength(4)
  const mailed = [...session.secrets.keys()].filter((name) => /^one-time code|^password/.test(name))
  expect(mailed).toHaveLength(3)
  const found = readFolder(folder.path).flatMap(([file, text]) =>
    [...kept, ...outside, ...mailed, 'secret key', 'control token', 'wrong secret']
      .filter((name) => text.includes(session.secrets.get(name) ?? '?'))
      .map((name) => `${name} in ${file}`),
  )
  expect(found).toEqual([])
  expect(readFolder(folder.path).some(([, text]) => text.includes(CANARY))).toBe(true)
})

test('promise 42: a start says the secret of a new client once, in the ready line and nowhere else', async () => {
  using folder = temporaryFolder()
  let secret = ''
  {
    await using executable = await startExecutable(folder.path)
    secret = executable.client.clientSecret
    await executable.served[Symbol.asyncDispose]()
    expect(await executable.served.rest).not.toContain(secret)
    expect(await executable.served.log).not.toContain(secret)
  }
  const client = { clientId: 'unknown', clientSecret: 'unknown' }
  await using again = await startExecutable(folder.path, { client })
  expect(again.served.ready.client).toBeUndefined()
})
