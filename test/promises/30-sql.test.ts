import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { join } from 'node:path'
import { ALICE, type Caller, callerOf, type DataServer, setupData } from '../http/setup'

/**
 * Promise 30: names and values from clients never reach SQL text. Every statement that the process
 * prepares is recorded while hostile names go everywhere a caller can put one; none of them may be
 * in one. Afterwards the database is whole and has what it should have.
 */

const CANARY = 'CaNaRy30'

/** Records the text of every statement until disposed. */
function recordSql(): Disposable & { readonly texts: Set<string> } {
  const texts = new Set<string>()
  const prototype = Database.prototype as unknown as Record<string, (...args: unknown[]) => unknown>
  const names = ['prepare', 'query', 'run', 'exec'] as const
  const originals = names.map((name) => [name, prototype[name]] as const)
  for (const [name, original] of originals) {
    prototype[name] = function record(this: unknown, ...args: unknown[]) {
      texts.add(String(args[0]))
      return original?.apply(this, args)
    }
  }
  return {
    texts,
    [Symbol.dispose]() {
      for (const [name, original] of originals)
        if (original !== undefined) prototype[name] = original
    },
  }
}

const PAYLOADS = [
  "'",
  '"',
  '`',
  ';',
  '--',
  "' OR '1'='1",
  "'; DROP TABLE o_4; --",
  '"; DROP TABLE users; --',
  "') UNION SELECT * FROM clients --",
  "x' AND 1=(SELECT COUNT(*) FROM keys) AND 'x'='x",
  '1; ATTACH DATABASE "/tmp/x" AS y',
  "' || (SELECT secret FROM clients) || '",
  '\\',
  "\\'",
  '%',
  '_',
  '?',
  '?1',
  ':name',
  '@name',
  '$name',
  'o_1',
  'sqlite_master',
  'rowid',
  '[a]',
  '/*',
  '*/',
  '{fn x}',
  'NULL',
  "x'00'",
  '\u02bc',
  '＇',
]

const hostile = fc.oneof(
  fc.constantFrom(...PAYLOADS),
  fc.tuple(fc.constantFrom(...PAYLOADS), fc.string({ maxLength: 10 })).map((both) => both.join('')),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)

/** The payload with the canary in its middle. */
const marked = hostile.map((text) => `${text}${CANARY}${text}`)

interface Callers {
  readonly server: DataServer
  readonly alice: Caller
  readonly root: Caller
}

/** Everything a caller can put a name or a value into. */
async function attack({ server, alice, root }: Callers, text: string): Promise<void> {
  const path = encodeURIComponent(text.toWellFormed())
  const compound = encodeURIComponent(JSON.stringify([text.toWellFormed(), 1]))
  const requests: (() => Promise<{ status: number; text: string }>)[] = [
    () => alice.get(`/my/${path}`),
    () => alice.get(`/my/plain/${path}`),
    () => alice.get(`/my/pairs/${compound}`),
    () => alice.get(`/my/items?${path}=${path}`),
    () => alice.get(`/my/items?country=${path}&country=x&tags=${path}`),
    () => alice.get(`/my/items?realmId=${path}`),
    () => alice.get(`/my/items?$limit=${path}`),
    () => alice.get(`/my/items?$after=${path}`),
    () => alice.get(`/my/items?$${path}=1`),
    () => root.get(`/all/items?${path}.x=${path}&realmId=${path}`),
    () => root.get(`/all/members?userId=${path}&email=${path}`),
    () => alice.post('/my/plain', { id: text, [text]: text }),
    () => alice.post('/my/items', { country: text, tags: [text, [text]] }),
    () => alice.post('/my/items', { country: text, realmId: text }),
    () => alice.post('/my/pairs', { a: text, b: 1, [text]: { [text]: text } }),
    () => root.post('/all/plain', { id: text, realmId: text, owner: text }),
    () => alice.post('/my/realms', { realmId: `rlm${text}`, name: text, represents: text }),
    () => root.post('/all/members', { realmId: 'rlm-public', userId: text, email: text }),
    () => root.post('/public/roles', { name: text, permissions: { update: { [text]: [text] } } }),
    () => alice.remove(`/my/plain/${path}`),
    () => root.remove(`/all/${path}/${path}`),
    () => callerOf(`${server.url}/${path}`).get('/public/items'),
    () => server.anyone.post('/token', { grant_type: 'client_credentials', client_id: text }),
    () =>
      server.anyone.post('/token', {
        grant_type: 'refresh_token',
        refresh_token: text,
        scopes: ['ACCESS_DB'],
        time_stamp: 1,
        signing_algorithm: 'RSASSA-PKCS1-v1_5',
        signature: text,
      }),
  ]
  for (const [position, request] of requests.entries()) {
    const { status, text: body } = await request()
    if (status >= 500) throw new Error(`request ${position} with ${text}: ${status} ${body}`)
    // In the words of SQLite, none of which is in a payload.
    if (/SQLITE_|SQL logic|syntax error|no such (?:table|column)|near "/.test(body)) {
      throw new Error(`request ${position} speaks of SQL: ${body}`)
    }
  }
}

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 60)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 30)

describe('promise 30', () => {
  test('no name or value from a caller is ever in a statement', async () => {
    using sql = recordSql()
    await using server = await setupData()
    const callers = { server, alice: await server.as(ALICE), root: server.root }
    await callers.alice.post('/my/items', [{ country: 'SE' }, { country: 'NO' }])
    for (const text of PAYLOADS) await attack(callers, `${text}${CANARY}`)
    await fc.assert(
      fc.asyncProperty(marked, (text) => attack(callers, text)),
      { numRuns: RUNS, seed: SEED },
    )
    const found = [...sql.texts].filter((text) => text.includes(CANARY))
    expect(found).toEqual([])
    expect(sql.texts.size).toBeGreaterThan(20)
    const seen = await callers.alice.get('/my/items?country=SE&country=NO')
    expect(seen.body).toBeArrayOfSize(2)
    expect(server.lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  })

  test('nor a name from a schema, an origin or a command', async () => {
    using sql = recordSql()
    await using server = await setupData()
    const { root } = server
    const run = server.commands.run.bind(server.commands)
    const declared: string[] = []
    for (const payload of PAYLOADS) {
      const name = `${payload}${CANARY}`
      const wasDeclared = await server.push({ [name]: `id, ${CANARY}, in.${CANARY}` }).then(
        () => true,
        () => false,
      )
      if (wasDeclared) declared.push(name)
      await server.push({ odd: `id, ${name}` }).catch(() => undefined)
      await run('db.create', { name }).catch(() => undefined)
      await run('client.revoke', { database: 'main', id: name }).catch(() => undefined)
      await run('origin.add', { database: 'main', origin: name, force: true }).catch(
        () => undefined,
      )
      const created = { database: 'main', scopes: ['ACCESS_DB'], name, email: null }
      await run('client.create', created).catch(() => undefined)
    }
    expect(declared.length).toBeGreaterThan(10)
    for (const name of declared) {
      const path = `/all/${encodeURIComponent(name)}`
      const object = { id: name, realmId: 'rlm-public', [CANARY]: name, in: { [CANARY]: name } }
      expect((await root.post(path, object)).status).toBe(200)
      const query = `${CANARY}=${encodeURIComponent(name)}&in.${CANARY}=${encodeURIComponent(name)}`
      expect((await root.get(`${path}?${query}`)).body).toMatchObject([{ id: name }])
      expect((await root.remove(`${path}/${encodeURIComponent(name)}`)).status).toBe(204)
    }
    expect([...sql.texts].filter((text) => text.includes(CANARY))).toEqual([])
  })

  test('leaves the database whole', async () => {
    await using server = await setupData()
    const callers = { server, alice: await server.as(ALICE), root: server.root }
    for (const text of PAYLOADS) await attack(callers, text)
    const file = join(server.folder, 'databases', 'main', 'database.sqlite')
    using database = new Database(file, { readonly: true })
    expect(database.query('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    const tables = database
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_master WHERE name LIKE 'o\\_%' ESCAPE '\\' AND type = 'table'",
      )
      .all()
      .map(({ name }) => name)
    expect(tables.toSorted()).toEqual(['o_1', 'o_2', 'o_3', 'o_4', 'o_5', 'o_6'])
  })
})
