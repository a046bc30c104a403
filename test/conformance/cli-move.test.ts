import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runJson, runSatchel } from '../cli/setup'
import { callerOf, objectsOf } from '../http/setup'
import { setupServer, temporaryFolder } from '../setup'
import { login, setupDexieCloud } from './dexie-cloud'

/**
 * The steps of “Move from Dexie Cloud” in docs/dexie-cloud-cli.md, as they stand there, with the
 * published `dexie-cloud` 3.0.7. Dexie Cloud itself is played: a server that answers the three requests
 * of an export with the lines that its documentation shows (protocol.md §9.4), and with bytes of no
 * meaning for blobs and Yjs documents, whose formats are private. The zip is made by the client.
 */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'
const LIST = 'rlm0shopping0list0000000'

const LINES = [
  { type: 'header', version: 1 },
  { type: 'schema', tables: { todoLists: '@id', todoItems: '@id' }, sealed: false },
  { type: 'demoUsers', users: { 'foo@demo.local': {} } },
  {
    type: 'roles',
    roles: { editor: { displayName: 'Editor', permissions: { update: { todoItems: ['done'] } } } },
  },
  row(ALICE, 'todoItems', 'itm1', { title: 'Only for Alice', owner: ALICE }),
  row(LIST, 'realms', LIST, { name: 'Shopping', owner: ALICE }),
  row(LIST, 'members', 'mmb1', {
    userId: BOB,
    email: BOB,
    accepted: { $t: 'Date', v: '2029-01-31T12:00:00.000Z' },
    roles: ['editor'],
    owner: ALICE,
  }),
  row(LIST, 'todoItems', 'itm2', {
    title: 'Milk',
    picture: { _bt: 'Blob', ref: '1:picture-1', size: 5000, ct: 'image/png' },
    _hasBlobRefs: 1,
    owner: ALICE,
  }),
]

function row(realm: string, table: string, id: string, data: object) {
  return { realm, table, id, data: { ...data, realmId: realm } }
}

/** The requests of an export, in their order, and how Dexie Cloud is played. */
const PLAYED: Readonly<Record<string, () => Response>> = {
  'POST /z0old/token': () => Response.json({ type: 'tokens', accessToken: 'old-token' }),
  'GET /z0old/export/stream': () =>
    new Response(LINES.map((line) => `${JSON.stringify(line)}\n`).join(''), {
      headers: { 'content-type': 'application/x-ndjson' },
    }),
  'GET /z0old/export/blobs': () => new Response(`DCBL${'x'.repeat(100)}`),
  'GET /z0old/export/yjs': () => new Response(`DCYJ${'x'.repeat(100)}`),
}

function playDexieCloud() {
  const asked: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch({ method, url }) {
      const request = `${method} ${new URL(url).pathname}`
      asked.push(request)
      return PLAYED[request]?.() ?? new Response(null, { status: 404 })
    },
  })
  const dbUrl = `${server.url.href}z0old`
  return { dbUrl, asked, [Symbol.dispose]: () => void server.stop(true) }
}

/** The first shell block of a section of the guide. */
function stepsOf(section: string): string {
  const guide = readFileSync(join(import.meta.dir, '../../docs/dexie-cloud-cli.md'), 'utf8')
  const [, text = ''] = guide.split(`## ${section}\n`)
  const [, steps = ''] = /```\n([\s\S]*?)```/.exec(text) ?? []
  return steps
}

test('the guide moves a database of Dexie Cloud with its ids, owners and rights', async () => {
  await using server = await setupServer({ memory: true, test: true })
  using original = playDexieCloud()
  using cli = setupDexieCloud()
  const config = JSON.stringify({ dbUrl: original.dbUrl })
  const key = { clientId: 'a', clientSecret: 'b' }
  cli.write('dexie-cloud.json', config)
  cli.write('dexie-cloud.key', JSON.stringify({ [original.dbUrl]: key }))

  const steps = stepsOf('Move from Dexie Cloud').replace('http://127.0.0.1:7080', server.url)
  const moved = await cli.shell(steps, login(server, ALICE))
  expect(moved.text).toContain('Import complete!')
  expect(moved.text).toContain('https://app.example.com')
  expect(moved.exitCode).toBe(0)
  expect(original.asked).toEqual(Object.keys(PLAYED))
  // The folder of the old database is as it was.
  expect(cli.read('dexie-cloud.json')).toBe(config)

  const { dbUrl } = cli.json('new/dexie-cloud.json') as { dbUrl: string }
  const client = (cli.json('new/dexie-cloud.key') as Record<string, typeof key>)[dbUrl]
  expect(dbUrl).toStartWith(server.url)
  const tokenOf = async (sub: string) => {
    const { body } = await callerOf(dbUrl).post('/token', {
      grant_type: 'client_credentials',
      client_id: client?.clientId,
      client_secret: client?.clientSecret,
      scopes: ['ACCESS_DB'],
      claims: { sub, email: sub, email_verified: true },
    })
    return callerOf(dbUrl, (body as { accessToken: string }).accessToken)
  }
  const alice = await tokenOf(ALICE)
  const bob = await tokenOf(BOB)
  expect(objectsOf(await alice.get('/my/todoItems'))).toMatchObject([
    { id: 'itm1', title: 'Only for Alice', owner: ALICE, realmId: ALICE },
    { id: 'itm2', title: 'Milk', owner: ALICE, realmId: LIST },
  ])
  expect(objectsOf(await bob.get('/my/todoItems'))).toMatchObject([{ id: 'itm2' }])
  const [milk = {}] = objectsOf(await bob.get('/my/todoItems'))
  const change = (property: object) => bob.post('/my/todoItems', { ...milk, ...property })
  expect(await change({ done: true })).toMatchObject({ status: 200 })
  expect(await change({ title: 'Cream' })).toMatchObject({ status: 403 })
  const demo = { grant_type: 'demo', demo_user: 'foo@demo.local', scopes: ['ACCESS_DB'] }
  expect(await callerOf(dbUrl).post('/token', demo)).toMatchObject({ status: 200 })
  // As the guide says, files that were stored as blobs are missing.
  expect(await alice.get('/blob/1:picture-1')).toMatchObject({ status: 404 })

  // The same on the machine of the server.
  using folder = temporaryFolder()
  const data = ['--data', folder.path]
  await runJson(['db', 'create', 'moved', ...data])
  const file = join(cli.folder, 'backup.zip')
  const imported = await runSatchel(['import', file, '--db', 'moved', ...data])
  expect(imported).toMatchObject({ exitCode: 0 })
})
