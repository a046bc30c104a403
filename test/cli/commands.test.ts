import { expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { SCOPES } from '../../src/domain/value/scope'
import { temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

interface Created {
  readonly name: string
  readonly client: Credentials
}

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

interface Listed {
  readonly clientId: string
  readonly name: string | null
  readonly scopes: readonly string[]
  readonly expires: string | null
}

async function setup() {
  const folder = temporaryFolder()
  const data = ['--data', folder.path]
  const { client } = await runJson<Created>(['db', 'create', 'main', ...data])
  return { data, client, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

test('makes, lists and deletes databases', async () => {
  using folder = temporaryFolder()
  const data = ['--data', folder.path]
  const created = await runJson<Created>(['db', 'create', 'todo', ...data])
  expect(created).toMatchObject({ name: 'todo', url: null })
  expect(await runJson<unknown>(['db', 'list', ...data])).toEqual({
    data: [{ name: 'todo', url: null }],
  })
  expect((await runSatchel(['db', 'list', ...data])).stdout).toBe(
    'NAME   ADDRESS\ntodo   not served\n',
  )
  await runJson(['db', 'delete', 'todo', '--yes', ...data])
  expect(await runJson<unknown>(['db', 'list', ...data])).toEqual({ data: [] })
})

test.each([
  ['main', 'CONFLICT'],
  ['admin', 'UNPROCESSABLE'],
  ['Main', 'UNPROCESSABLE'],
  ['../main', 'UNPROCESSABLE'],
  ['', 'UNPROCESSABLE'],
])('refuses to make the database %p', async (name, code) => {
  using satchel = await setup()
  const { exitCode, stderr } = await runSatchel(['db', 'create', name, '--json', ...satchel.data])
  expect(exitCode).toBe(1)
  expect(JSON.parse(stderr)).toMatchObject({ error: { code } })
})

test('asks before it deletes a database, and takes nothing but its name for yes', async () => {
  using satchel = await setup()
  const command = ['db', 'delete', 'main', ...satchel.data]
  const list = async () =>
    (await runJson<{ data: unknown[] }>(['db', 'list', ...satchel.data])).data
  const unasked = await runSatchel(command)
  expect(unasked.exitCode).toBe(2)
  expect(unasked.stderr).toContain('repeat with --yes')
  const refused = await runSatchel(command, { answer: 'yes' })
  expect(refused.exitCode).toBe(2)
  expect(await list()).toHaveLength(1)
  const confirmed = await runSatchel(command, { answer: 'main' })
  expect(confirmed).toMatchObject({ exitCode: 0, stdout: 'The database main is deleted\n' })
  expect(await list()).toHaveLength(0)
})

test('shows and sets which values of a database become blobs', async () => {
  using satchel = await setup()
  const offload = async (...args: readonly string[]) =>
    (await runSatchel(['db', 'offload', 'main', ...args, ...satchel.data])).stdout
  expect(await offload()).toBe('off (set by the server)\n')
  expect(await offload('4096')).toBe('larger than 4096 bytes\n')
  expect(await offload('clients')).toBe('as clients offload\n')
  expect(await offload('--reset')).toBe('off (set by the server)\n')
  const refused = await runSatchel(['db', 'offload', 'main', 'much', ...satchel.data])
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('"clients"') })
})

// design.md §4
test('shows a secret on a terminal and to programs, never to a file or a pipe', async () => {
  using satchel = await setup()
  const command = ['client', 'create', '--scopes', 'ACCESS_DB', ...satchel.data]
  const watched = await runSatchel(command, { isOutputTerminal: true })
  expect(watched.stdout).toMatch(/^Client secret {3}[\w-]{43} {3}\(shown only once\)$/m)
  const piped = await runSatchel(command)
  expect(piped.stdout).not.toMatch(/[\w-]{43}/)
  const [, id] = /^Client id +(.+)$/m.exec(piped.stdout) ?? []
  expect(piped.stdout).toContain(`create another with satchel client rotate ${id}`)
  expect((await runJson<Credentials>(command)).clientSecret).toMatch(/^[\w-]{43}$/)
})

test('makes, lists and revokes clients', async () => {
  using satchel = await setup()
  const create = ['client', 'create', '--scopes', 'GLOBAL_READ,ACCESS_DB', '--name', 'reports']
  const created = await runJson<Credentials>([...create, ...satchel.data])
  const list = async () =>
    (await runJson<{ data: Listed[] }>(['client', 'list', ...satchel.data])).data
  expect(await list()).toMatchObject([
    { clientId: satchel.client.clientId, name: 'default', scopes: [...SCOPES], expires: null },
    {
      clientId: created.clientId,
      name: 'reports',
      scopes: ['ACCESS_DB', 'GLOBAL_READ'],
      expires: null,
    },
  ])
  const shown = await runSatchel(['client', 'list', ...satchel.data])
  expect(shown.stdout).toMatch(
    /^ID +NAME +E-MAIL +CREATED +ENDS +SCOPES\n.+ default .+ all\n.+ reports .+ ACCESS_DB,GLOBAL_READ\n$/,
  )
  expect(shown.stdout).not.toContain('ecret')
  await runJson(['client', 'revoke', created.clientId, ...satchel.data])
  expect(await list()).toHaveLength(1)
})

test('refuses unknown scopes and to revoke the last client with all of them', async () => {
  using satchel = await setup()
  const unknown = await runSatchel(['client', 'create', '--scopes', 'ROOT', ...satchel.data])
  expect(unknown).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('"ROOT"') })
  const last = await runSatchel(['client', 'revoke', satchel.client.clientId, ...satchel.data])
  expect(last).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('the last client') })
})

test('rotates the only client without being told which, and one of several when told', async () => {
  using satchel = await setup()
  const rotate = ['client', 'rotate', ...satchel.data]
  const first = await runJson<Credentials & { oldClientId: string }>([...rotate, '--days', '30'])
  expect(first.oldClientId).toBe(satchel.client.clientId)
  const second = await runJson<Credentials & { oldClientId: string }>(rotate)
  expect(second.oldClientId).toBe(first.clientId)
  await runJson(['client', 'create', '--scopes', 'ACCESS_DB', ...satchel.data])
  const unclear = await runSatchel(rotate)
  expect(unclear).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('name the one') })
  await runJson([...rotate, second.clientId])
})

test('lists origins', async () => {
  using satchel = await setup()
  const { data } = satchel
  const added = await runSatchel(['origin', 'add', 'https://App.Example/', ...data])
  expect(added.stdout).toBe('Pages of https://app.example may use the database main\n')
  expect(await runJson<unknown>(['origin', 'list', ...data])).toEqual({
    data: [{ origin: 'https://app.example' }],
  })
  const http = ['origin', 'add', 'http://app.example', ...data]
  expect(await runSatchel(http)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('https'),
  })
  await runJson([...http, '--force'])
  await runJson(['origin', 'remove', 'https://app.example', ...data])
  expect(await runJson<unknown>(['origin', 'list', ...data])).toEqual({
    data: [{ origin: 'http://app.example' }],
  })
  const again = await runSatchel(['origin', 'remove', 'https://app.example', ...data])
  expect(again).toMatchObject({ exitCode: 0, stdout: 'https://app.example was not listed\n' })
})

test('prints a token that says who it is for, alone, so that a shell can use it', async () => {
  using satchel = await setup()
  const command = ['token', '--sub', 'Alice@Example.com', ...satchel.data]
  const { stdout } = await runSatchel(command)
  const claims = decodeJwt(stdout.trim())
  expect(claims).toMatchObject({
    sub: 'alice@example.com',
    email: 'alice@example.com',
    scopes: ['ACCESS_DB'],
    client_id: satchel.client.clientId,
  })
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(3600)
  const short = await runJson<{ accessToken: string; scopes: string[] }>([
    ...command,
    '--scopes',
    'ACCESS_DB,GLOBAL_READ',
    '--expires-in',
    '60',
  ])
  const { exp = 0, iat = 0, scopes } = decodeJwt(short.accessToken)
  expect(exp - iat).toBe(60)
  expect(scopes).toEqual(['ACCESS_DB', 'GLOBAL_READ'])
})

test('refuses a token that no client could have asked for, or that lives too long', async () => {
  using satchel = await setup()
  const { data } = satchel
  const long = await runSatchel(['token', '--sub', 'alice', '--expires-in', '86401', ...data])
  expect(long).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('expires_in') })
  const nobody = await runSatchel(['token', '--sub', 'rlm-alice', ...data])
  expect(nobody.exitCode).toBe(1)
  const missing = await runSatchel(['token', '--sub', 'alice', '--db', 'none', ...data])
  expect(missing).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('none') })
})

test('rotates the signing key', async () => {
  using satchel = await setup()
  const rotate = ['key', 'rotate', ...satchel.data]
  const first = await runJson<{ keyId: string }>(rotate)
  const second = await runJson<{ keyId: string }>(rotate)
  expect(second.keyId).not.toBe(first.keyId)
})
