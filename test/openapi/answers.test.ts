import { describe, expect, test } from 'bun:test'
import { ALICE } from '../http/setup'
import { fill, setupDocument } from './setup'

/** Tokens for these come from a login with a one-time code. */
const PROVEN = new Set(['connectClient', 'createDatabase', 'createDatabaseOfSdk'])
/** Token requests, which are malformed without a `grant_type`. */
const LOGINS = new Set(['requestServiceToken', 'requestServiceTokenOfSdk'])

const GLOBAL = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']

/** Of the operations that count a request only when they can read it. */
const BODIES: Readonly<Record<string, { readonly body: string }>> = {
  requestToken: { body: JSON.stringify({ grant_type: 'client_credentials', scopes: [] }) },
  sync: {
    body: JSON.stringify({
      clientIdentity: 'device',
      lastPull: { serverRevision: '', realms: [ALICE], inviteRealms: [] },
    }),
  },
}

describe('the document of GET /openapi/json', () => {
  test('has examples that are what it says', async () => {
    await using server = await setupDocument()
    for (const { operation } of server.operations) {
      const medias = [operation.requestBody, ...Object.values(operation.responses)].flatMap(
        (body) => Object.values(body?.content ?? {}),
      )
      for (const { schema, examples = {} } of medias) {
        for (const { value } of Object.values(examples)) {
          expect({ value, faults: server.faults(schema, value) }).toEqual({ value, faults: [] })
        }
      }
    }
  })

  test('says of every route whether it is limited', async () => {
    await using server = await setupDocument({ rateLimits: 'on' })
    const { clientId, clientSecret } = server.client
    const credentials = Buffer.from(`${clientId}:${clientSecret}`).toString('base64')
    const free: string[] = []
    for (const { path, method, operation } of server.operations) {
      // One of the routes deletes its bearer.
      const token = await server.token({ sub: ALICE, scopes: GLOBAL })
      const isClient = operation.operationId === 'requestToken'
      const answer = await fetch(server.url + fill(path), {
        method,
        redirect: 'manual',
        headers: {
          'content-type': 'application/json',
          authorization: isClient ? `Basic ${credentials}` : `Bearer ${token}`,
        },
        ...BODIES[operation.operationId],
      })
      await answer.arrayBuffer()
      const isCounted = answer.headers.has('ratelimit-limit')
      const { responses } = operation
      const [served = ''] = Object.keys(responses)
      const isSaid = 'Ratelimit-Reset' in (responses[served]?.headers ?? {})
      expect({ path, method, isSaid }).toEqual({ path, method, isSaid: isCounted })
      const isProbe = ['/', '/health', '/ready'].includes(path)
      expect({ path, isLimited: '429' in responses }).toEqual({ path, isLimited: !isProbe })
      if (!isCounted && path.includes('{database}')) free.push(operation.operationId)
    }
    expect(free.toSorted()).toEqual(['downloadBlob', 'listen', 'uploadBlob'])
  })

  test('lists the refusals that a route makes', async () => {
    await using server = await setupDocument()
    const token = await server.token({ sub: ALICE, scopes: [...GLOBAL, 'MANAGE_DB', 'DELETE_DB'] })
    for (const { path, method, operation } of server.operations) {
      const isWrite = method === 'POST' || method === 'PUT'
      const refusal = async (address: string, headers: Record<string, string>, body?: string) => {
        const answer = await fetch(server.url + address, {
          method,
          headers: { accept: 'application/json', authorization: `Bearer ${token}`, ...headers },
          ...(isWrite && body !== undefined ? { body } : {}),
        })
        const { code } = (await answer.json()) as { code: string }
        const { content } = operation.responses[answer.status] ?? {}
        expect(Object.keys(content?.['application/json']?.examples ?? {})).toContain(code)
        return code
      }
      if (path.includes('{user}')) {
        const nobody = fill(path.replace('{user}', 'nobody'))
        expect(await refusal(nobody, {})).toBe('UNKNOWN_USER')
      }
      const stranger = { origin: 'https://elsewhere.example' }
      expect(await refusal(fill(path), stranger)).toBe('ORIGIN_NOT_ALLOWED')
      if (path.includes('{database}')) {
        const elsewhere = path.replace('{database}', 'elsewhere')
        expect(await refusal(fill(elsewhere), {})).toBe('UNKNOWN_DATABASE')
      }
      if (path.includes('{table}')) {
        const nowhere = path.replace('{table}', 'nowhere')
        expect(await refusal(fill(nowhere), {}, '[{}]')).toBe('UNKNOWN_TABLE')
      }
      if (path.includes('{key}') && !isWrite) {
        expect(await refusal(fill(path), {})).toBe('UNKNOWN_OBJECT')
      }
      const takesJson = operation.requestBody?.content['application/json'] !== undefined
      // These want their own token before a body.
      if (!takesJson || PROVEN.has(operation.operationId)) continue
      const text = { 'content-type': 'text/plain' }
      expect(await refusal(fill(path), text, '{}')).toBe('UNSUPPORTED_MEDIA_TYPE')
      expect(await refusal(fill(path), {}, '{')).toBe('INVALID_REQUEST')
      if (operation.operationId in BODIES || LOGINS.has(operation.operationId)) continue
      expect(await refusal(fill(path), {}, '[1]')).toBe('UNPROCESSABLE')
    }
    // Codes that cannot be provoked from outside.
    for (const { operation } of server.operations) {
      const { content } = operation.responses['500'] ?? {}
      expect(Object.keys(content?.['application/json']?.examples ?? {})).toContain('INTERNAL')
    }
  })

  test.skipIf(Bun.which('curl') === null)('has commands that work', async () => {
    await using server = await setupDocument()
    const environment = {
      PATH: process.env['PATH'] ?? '',
      SERVER: server.url,
      DB: server.main,
      TOKEN: await server.token({ sub: ALICE, scopes: [...GLOBAL, 'MANAGE_DB'] }),
      CLIENT_ID: server.client.clientId,
      CLIENT_SECRET: server.client.clientSecret,
    }
    // Objects are written before they are read, and deleted last.
    const ranks = ['POST', 'PUT', 'GET', 'DELETE']
    const inOrder = server.operations.toSorted(
      (a, b) => ranks.indexOf(a.method) - ranks.indexOf(b.method),
    )
    const without: string[] = []
    for (const { method, operation } of inOrder) {
      const { operationId, description, responses } = operation
      const [, command] = /```sh\n([^]+)\n```/.exec(description) ?? []
      if (command === undefined) {
        without.push(operationId)
        continue
      }
      const { status, type, body } = await run(command, environment)
      expect({ command, status }).toEqual({
        command,
        status: method === 'DELETE' ? '204' : '200',
      })
      const { content } = responses[status] ?? {}
      const media = content?.[type] ?? content?.['*/*']
      if (/[/+]json$/.test(type)) {
        const faults = server.faults(media?.schema, JSON.parse(body))
        expect({ command, faults }).toEqual({ command, faults: [] })
      }
      expect(media === undefined).toBe(status === '204')
      if (operationId.endsWith('List')) expect(body).toContain('Buy milk')
    }
    expect(without).toEqual([
      'requestServiceToken',
      'createDatabase',
      'requestServiceTokenOfSdk',
      'createDatabaseOfSdk',
      'deleteDatabase',
      'rotateClient',
      'testTemplate',
      'connectClient',
      'importLines',
      'importBlobs',
      'answerInvitation',
      'beginLogin',
      'showInvitation',
      'listen',
      'loadAsset',
    ])
  })

  test('describes what is answered', async () => {
    await using server = await setupDocument()
    const { schemas } = server.document.components
    const alice = await server.as(ALICE)
    const views = { all: await server.as(ALICE, GLOBAL), my: alice }
    const rows = { realm: 'realms', member: 'members', role: 'roles' }
    for (const [view, caller] of Object.entries(views)) {
      const upsert = server.document.paths[`/{database}/${view}/{table}`]?.['post']
      const examples = upsert?.requestBody?.content['application/json']?.examples
      for (const [name, table] of Object.entries(rows)) {
        const { status, body } = await caller.post(`/${view}/${table}`, examples?.[name]?.value)
        expect(status).toBe(200)
        const schema = schemas[`${name[0]?.toUpperCase()}${name.slice(1)}`]
        expect(server.faults(schema, body)).toEqual([])
        expect(server.faults(schemas['StoredObject'], body)).toEqual([])
      }
    }
    const refused = await alice.get('/all/todoItems')
    expect(server.faults(schemas['Error'], refused.body)).toEqual([])
    const unknown = await server.anyone.post('/token', { grant_type: 'wish' })
    expect(unknown.status).toBe(400)
    expect(server.faults(schemas['TokenRefusal'], unknown.body)).toEqual([])
    const codeRequest = { grant_type: 'authorization_code', code: 'unknown' }
    const code = await server.anyone.post('/token', codeRequest)
    expect(code).toMatchObject({ status: 401, body: { type: 'error' } })
    expect(server.faults(schemas['TokenRefusal'], code.body)).toEqual([])
    const token = server.document.paths['/{database}/token']?.['post']
    const mail = token?.requestBody?.content['application/json']?.examples?.['otp']?.value
    const sent = await server.anyone.post('/token', mail)
    expect(sent.status).toBe(200)
    expect(server.faults(schemas['OtpSent'], sent.body)).toEqual([])
    const invalid = await server.anyone.get('/token/validate')
    expect(invalid.status).toBe(401)
    expect(server.faults(schemas['InvalidToken'], invalid.body)).toEqual([])
  })
})

/** Runs a command in a shell whose `curl` tells status and media type after the body. */
async function run(command: string, environment: Record<string, string>) {
  const curl = `curl() { command curl -sS -w '\\n%{http_code}\\n%{content_type}' "$@"; }`
  const shell = Bun.spawn(['sh', '-c', `${curl}\n${command}`], { env: environment })
  const lines = (await shell.stdout.text()).split('\n')
  const [status = '', type = ''] = lines.slice(-2)
  return { status, type: type.split(';', 1)[0] ?? '', body: lines.slice(0, -2).join('\n') }
}
