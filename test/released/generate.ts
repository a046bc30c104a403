import { join } from 'node:path'
import { startJob } from '../../src/domain/job/job'
import { MAINTENANCE } from '../../src/domain/object/maintenance'
import type { Database } from '../../src/domain/store/store'
import { openDatabase } from '../../src/sqlite/database'
import { createTestClock } from '../auth/setup'
import { code } from '../contract/codes'
import { fresh, NOW, refreshToken } from '../contract/fixture'
import { criteriaOperation } from '../contract/sync'
import { mail } from '../contract/mails'
import { ALICE, BOB, type DataServer, setupData } from '../http/setup'
import { type Content, contentOf } from './content'

/** The expectations of a folder that `makeData` has made. */
export interface Facts {
  readonly content: Content
  readonly client: { readonly clientId: string; readonly clientSecret: string }
}

const CARL = 'carl@example.com'
const MUCH_LATER = Date.UTC(2040, 0, 1)

/**
 * Makes a data folder with every noun of this version: by a server as far as it has addresses and commands for
 * them, and rows that come and go beside these. One job is half done. Returns the expectations of it.
 */
export async function makeData(data: string): Promise<Facts> {
  const client = await fill(data)
  await withDatabase(data, putRows)
  const content = await contentOf(data)
  await withDatabase(data, leaveHalfDone)
  return { client, content }
}

async function fill(data: string) {
  await using server = await setupData({ data })
  await configure(server)
  const { root } = server
  const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
  await requireDone(
    alice.post('/my/realms', { realmId: 'rlmTeam', name: 'Team' }),
    alice.post('/my/realms', { realmId: 'rlmGone', name: 'Gone' }),
    root.post('/users', { userId: CARL, type: 'prod', data: { displayName: 'Carl' } }),
  )
  const members = ['bob', 'dora', 'erik'].map((name) => ({
    id: `mmb-${name}`,
    realmId: 'rlmTeam',
    email: `${name}@example.com`,
    invite: name === 'dora',
    permissions: { add: ['plain'] },
    roles: name === 'bob' ? ['helper'] : [],
  }))
  const picture = { body: 'the bytes of a picture' }
  await requireDone(alice.post('/my/members', members), alice.send('PUT', '/blob/picture', picture))
  await requireDone(
    alice.post('/my/roles', {
      realmId: 'rlmTeam',
      name: 'helper',
      permissions: { update: { plain: ['text'] } },
    }),
    alice.post('/my/items', ITEMS),
    alice.post('/my/pairs', [{ a: 1, b: 'two' }]),
    alice.post('/my/plain', [{ id: 'shared', realmId: 'rlmTeam', text: 'one' }, ...TYPED]),
    bob.post('/my/plain', { id: 'his', text: 'x'.repeat(9_000) }),
    root.post('/public/plain', { id: 'public', text: '😀 \u0000 é' }),
  )
  await requireDone(alice.remove('/my/plain/removed'), alice.remove('/my/members/mmb-erik'))
  await requireDone(alice.send('POST', '/sync', sync(ALICE)), alice.remove('/my/realms/rlmGone'))
  await server.commands.run('user.delete', { database: 'main', user: BOB })
  return server.client
}

const ITEMS = Array.from({ length: 40 }, (_, n) => ({ country: `c${n % 5}`, tags: [`t${n}`, 'b'] }))
const TYPED = [
  { id: 'removed', text: 'soon' },
  {
    id: 'typed',
    when: { $t: 'Date', v: '2030-01-01T00:00:00.000Z' },
    picture: { _bt: 'Blob', ref: '1:picture', size: 22 },
    deep: [{ list: [1, null, true] }],
  },
]

async function configure({ commands }: DataServer): Promise<void> {
  const database = 'main'
  const upload = (text: string) => ({ upload: new Blob([text]).stream() })
  await commands.run('db.offload', { database, rule: 'off', reset: false })
  await commands.run('db.address', { database, url: 'https://todo.example.com', reset: false })
  await commands.run('origin.add', { database, origin: 'https://app.example.com', force: false })
  await commands.run('blob.quota', { database, total: 1_000_000 })
  const sender = 'Todo <todo@example.com>'
  await commands.run('mail.set', { database, sender }, upload('smtp://127.0.0.1:1'))
  await commands.run('template.set', { database, name: 'otp-subject' }, upload('{{{otp}}}'))
  await commands.run('provider.add', { database, type: 'google', clientId: 'x' }, upload('secret'))
  await commands.run('key.rotate', { database })
}

/** A client that inserts and removes objects. */
function sync(userId: string) {
  const mut = { userId, ts: NOW, keys: [] }
  const muts = [
    { ...mut, type: 'insert', txid: 'first', keys: ['a', 'b'], values: [{ n: 1 }, { n: 2 }] },
    { ...mut, type: 'delete', txid: 'second', keys: ['b'] },
  ]
  const body = {
    v: 3,
    clientIdentity: 'phone',
    schema: { plain: { markedForSync: true, initiallySynced: true, primaryKey: 'id' } },
    baseRevs: [],
    changes: [{ table: 'plain', muts }],
  }
  return { headers: { 'content-type': 'application/tson' }, body: JSON.stringify(body) }
}

/** Rows of logins and of an operation in steps, which come and go. */
async function putRows(database: Database): Promise<void> {
  await database.write((tx) => {
    const later = { expires: MUCH_LATER }
    tx.codes.put(code('asked', later))
    tx.codes.put(code('used', { ...later, kind: 'authorization', hash: null, used: NOW }))
    tx.refreshTokens.put(refreshToken('hash', { subject: CARL }))
    tx.refreshTokens.recordUse('hash', 1_000, NOW)
    tx.mails.put(mail('waiting', { ...later, due: MUCH_LATER }))
    tx.logins.spend('state', MUCH_LATER)
    tx.logins.revoke('login', MUCH_LATER)
    const { number } = tx.syncClients.ensure(CARL, 'laptop', NOW)
    tx.applied.put(number, 'rejected', NOW, { rejection: { name: 'E', message: 'no' } })
    tx.applied.put(number, 'large', NOW, { steps: 1 })
    tx.applied.putKeys(number, 'large', 1, ['a', 'b'])
    const operation = criteriaOperation(number, { subject: CARL })
    tx.criteriaOps.put(tx.tables.find('plain')!.number, operation, NOW, 10)
  })
}

const GONE_ROWS = 250

/** A realm that is erased in steps, of which one was made. */
async function leaveHalfDone(database: Database): Promise<void> {
  const job = await database.write((tx) => {
    const { ref } = tx.realms.ensure('rlm-leaving')
    const table = tx.tables.find('plain')!
    const rows = Array.from({ length: GONE_ROWS }, (_, n) => fresh(`leaving${n}`, { realm: ref }))
    tx.objects.put(table, rows, NOW)
    tx.realms.markErasing(ref)
    return startJob(tx, 'erase', { realm: ref }, NOW)
  })
  if ((await MAINTENANCE.erase?.(database, job)) !== 'more') throw new Error('no job is half done')
}

async function withDatabase(data: string, work: (database: Database) => Promise<void>) {
  const folder = join(data, 'databases', 'main')
  await using database = openDatabase('main', folder, {
    clock: createTestClock(),
    durability: 'none',
  })
  await work(database)
}

async function requireDone(
  ...answers: Promise<{ readonly status: number; readonly text: string }>[]
): Promise<void> {
  for (const { status, text } of await Promise.all(answers)) {
    if (status >= 300) throw new Error(`${status} ${text}`)
  }
}
