import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { ALICE, BOB } from '../http/setup'
import { type Operation, setupDocument } from '../openapi/setup'

/**
 * Promise 33: random requests of every operation get no 5xx, no answer that the OpenAPI document
 * does not describe, and none without the token that it demands. `bun run lab` adds Schemathesis.
 */

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 40)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 33)

type DocumentServer = Awaited<ReturnType<typeof setupDocument>>

/** A request of an operation; its path and query are encoded. */
interface Request {
  readonly path: string
  readonly query: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  database: ['main'],
  table: ['todoItems', 'items', 'plain', 'pairs', 'realms', 'members', 'roles'],
  key: ['a', 'rlm-team', '["a",1]', '["rlm-team","doer"]', '#own', '[]', '[1'],
  user: [ALICE, BOB, 'rlm-team', '#', 'nobody'],
  blob: ['a', '1:a', '1:', '2:a'],
  provider: ['google'],
  asset: ['style.css'],
}
/** Names that mean something to a part of the server. */
const NAMES = [
  'users',
  'token',
  'sync',
  'blob',
  'my',
  '$x',
  '__proto__',
  'constructor',
  '.well-known',
]

const text = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  fc.constantFrom(...NAMES, ALICE, 'rlm-team', 'rlm-public', 'a', '0', '1', '1001', 'null', 'true'),
)
const moment = fc.constantFrom('2030-01-31T12:00:00.000Z', '2030-01-31', 'never', 'NaN')

const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 1e300, 2 ** 60, [], {}),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3 }),
    fc.record({
      $t: fc.constantFrom(
        'Date',
        'number',
        'bigint',
        'Set',
        'Map',
        'Blob',
        'undefined',
        'URL',
        'x',
      ),
      v: fc.oneof(moment, tie('value')),
    }),
    fc.record({ _bt: text, ref: fc.constantFrom('1:a', '1:b', ''), size: tie('value') }),
  ),
})).value

/** An operation of a client that syncs. */
const mut = fc.record(
  {
    txid: fc.constantFrom('t1', 't2', ''),
    type: fc.constantFrom('insert', 'upsert', 'update', 'modify', 'delete', 'x'),
    keys: fc.array(text, { maxLength: 2 }),
    values: fc.array(fc.dictionary(text, value, { maxKeys: 3 }), { maxLength: 2 }),
    changeSpecs: fc.array(fc.dictionary(text, value, { maxKeys: 3 }), { maxLength: 2 }),
    criteria: fc.oneof(value, fc.record({ index: text, type: text, values: value })),
    ts: value,
    rev: value,
  },
  { requiredKeys: ['txid', 'type', 'keys'] },
)

/** A body whose properties are often those that mean something. */
const properties = fc.record(
  Object.fromEntries(
    (
      'id realmId owner name userId email invite roles permissions accepted rejected title due tags ' +
      '_hasBlobRefs a b type data validUntil evalDaysLeft deactivated grant_type client_id ' +
      'client_secret scopes scope claims public_key expires_in not_before otp otp_id intent ' +
      'demo_user code refresh_token time_stamp signing_algorithm signature clientIdentity dbID ' +
      'schema lastPull baseRevs changes'
    )
      .split(' ')
      .map((name) => [name, fc.oneof(value, valuesOf(name))]),
  ),
  { requiredKeys: [] },
)

/** Values that some of these properties take. */
function valuesOf(name: string): fc.Arbitrary<unknown> {
  const grants = 'client_credentials otp otp-email otp-token demo authorization_code refresh_token'
  const known: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    realmId: fc.constantFrom('rlm-team', 'rlm-public', ALICE, 'rlm-none', 'rlm~a'),
    userId: fc.constantFrom(ALICE, BOB, 'carol@example.com'),
    email: fc.constantFrom(ALICE, BOB, 'carol@example.com', 'Carol <c@d>'),
    type: fc.constantFrom('prod', 'eval', 'demo'),
    grant_type: fc.constantFrom(...grants.split(' ')),
    scopes: fc.constantFrom<unknown>(['ACCESS_DB'], [], null, ['ROOT']),
    accepted: fc.record({ $t: fc.constant('Date'), v: moment }),
    validUntil: moment,
    permissions: fc.constantFrom<unknown>({ manage: '*' }, { add: ['todoItems'] }, { add: 1 }),
    intent: fc.constantFrom<unknown>('login', 'register', null),
    schema: fc.record({ todoItems: fc.record({ markedForSync: fc.constant(true) }) }),
    changes: fc.array(fc.record({ table: text, muts: fc.array(mut, { maxLength: 2 }) })),
  }
  return known[name] ?? text
}

const body = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.oneof(properties, fc.array(properties, { maxLength: 3 })).map(toText),
  },
  { weight: 1, arbitrary: value.map(toText) },
  { weight: 1, arbitrary: fc.constantFrom('', '{', '[', '{"id":"a",}', '\u0000', '"\\ud800"') },
)

function toText(json: unknown): string {
  return JSON.stringify(json) ?? ''
}

function requestsOf(server: DocumentServer, path: string, operation: Operation) {
  const parameters = server.parametersOf(operation)
  // Names of tables that other operations have at this address.
  const taken = parameters.flatMap(({ schema }) => {
    const { not } = schema as { readonly not?: { readonly enum: readonly string[] } }
    return not?.enum ?? []
  })
  const nameOf = (name: string) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...(KNOWN[name] ?? ['a'])) },
      text.filter((given) => !taken.includes(given)),
    )
  const inPath = parameters.filter((each) => each.in === 'path')
  const inQuery = parameters.filter((each) => each.in === 'query').map(({ name }) => name)
  const pair = fc.tuple(fc.oneof(fc.constantFrom(...inQuery, 'country', 'realmId'), text), text)
  return fc.record<Request>({
    path: fc
      .tuple(...inPath.map(({ name }) => nameOf(name).filter((given) => given !== '')))
      .map((names) =>
        inPath.reduce(
          (made, { name }, at) => made.replace(`{${name}}`, () => encode(names[at])),
          path,
        ),
      ),
    query: fc
      .oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.array(pair, { maxLength: 3 }))
      .map((pairs) => pairs.map(([name, given]) => `${encode(name)}=${encode(given)}`).join('&')),
    headers: fc.record(
      {
        prefer: fc.constantFrom('return=minimal', 'x'),
        accept: fc.constantFrom('application/json', 'text/html', '*/*'),
        'content-type': fc.constantFrom(
          'application/json',
          'application/x-www-form-urlencoded',
          'text/plain',
        ),
        range: fc.constantFrom('bytes=0-1', 'bytes=9-', 'bytes=-0', 'x'),
        'if-none-match': fc.constantFrom('*', '"x"'),
      },
      { requiredKeys: [] },
    ),
    body: operation.requestBody === undefined ? fc.constant(undefined) : body,
  })
}

/** Dots alone would be resolved before they are sent. */
function encode(given = ''): string {
  return /^\.{1,2}$/.test(given) ? 'dots' : encodeURIComponent(given.toWellFormed())
}

async function faultsOfAnswer(
  server: DocumentServer,
  { operation, method }: DocumentServer['operations'][number],
  { path, query, headers, body: sent }: Request,
  token: string | undefined,
): Promise<string[]> {
  const answer = await fetch(`${server.url}${path}${query === '' ? '' : `?${query}`}`, {
    method,
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      ...headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(sent === undefined ? {} : { body: sent }),
  })
  const given = await answer.text()
  const { status } = answer
  const described = operation.responses[status]
  if (status >= 500) return [`${status}: ${given}`]
  if (described === undefined) return [`${status} is not described: ${given}`]
  if (given === '') return []
  const [type = ''] = (answer.headers.get('content-type') ?? '').split(';', 1)
  // The bytes of a blob are of the type that its uploader named.
  if (described.content?.['*/*'] !== undefined) return []
  const media = described.content?.[type]
  if (media === undefined) return [`${status} with ${type} is not described`]
  if (type !== 'application/json') return []
  return server.faults(media.schema, JSON.parse(given)).map((fault) => `${status}: ${fault}`)
}

describe('promise 33: random requests', () => {
  test('are answered as the document describes, and never with 5xx', async () => {
    await using server = await setupDocument()
    await prepare(server)
    const found: unknown[] = []
    for (const described of server.operations) {
      const { path, method, operation } = described
      const isLast = operation.operationId === 'deleteUser'
      const user = await server.as(ALICE)
      const requests = fc.tuple(requestsOf(server, path, operation), fc.boolean())
      const attempt = async ([request, isUser]: [Request, boolean]) => {
        // Users may delete their own account.
        const caller = isUser ? (isLast ? await server.as(ALICE) : user) : server.root
        const faults = await faultsOfAnswer(server, described, request, caller.token)
        if (faults.length > 0) throw new Error(faults.join('\n'))
      }
      const checked = await fc.check(fc.asyncProperty(requests, attempt), {
        numRuns: RUNS,
        seed: SEED,
      })
      if (checked.failed) {
        found.push({ method, path, request: checked.counterexample, error: checked.errorInstance })
      }
    }
    expect(found).toEqual([])
    expect(server.lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  })
})

async function prepare(server: DocumentServer): Promise<void> {
  const { root } = server
  await server.push({ items: '@id, country, *tags', plain: 'id', pairs: '[a+b]' })
  await root.post('/all/realms', { realmId: 'rlm-team', name: 'Team', owner: BOB })
  await root.post('/all/roles', { realmId: 'rlm-team', name: 'doer', permissions: { add: '*' } })
  await root.send('PUT', '/blob/a', { body: 'bytes' })
  const image = { _bt: 'Blob', ref: '1:a', size: 5 }
  for (const table of ['todoItems', 'items', 'plain']) {
    await root.post(`/all/${table}`, { id: 'a', realmId: 'rlm-public', image, _hasBlobRefs: 1 })
  }
}
