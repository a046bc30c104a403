import { expect, test } from 'bun:test'
import { Database as File } from 'bun:sqlite'
import type { ReadTx } from '../../src/domain/store/store'
import { verifyDatabase } from '../../src/domain/rows/verification'
import { codeOf } from '../auth/setup'
import { declare, fresh, NOW, refreshToken } from '../contract/fixture'
import { emptyFile } from '../../src/sqlite/empty'
import { renewIdentity } from '../../src/sqlite/registry'
import { temporaryFolder } from '../setup'
import { openIn } from './setup'

type Case = readonly [table: string, sql: string, read: ((tx: ReadTx) => unknown) | undefined]

const ROWS: readonly Case[] = [
  [
    'realm_ids',
    "UPDATE realm_ids SET state = 'erased' WHERE id = 'rlm1'",
    (tx) => tx.realms.findByRef(2),
  ],
  [
    'refresh_tokens',
    "UPDATE refresh_tokens SET subject = 'eve'",
    (tx) => tx.refreshTokens.find('token'),
  ],
  ['blobs', "UPDATE blobs SET type = 'text/html'", (tx) => tx.blobs.find('pic')],
  [
    'blobs',
    'UPDATE blobs SET created = created + 1',
    (tx) => tx.blobs.findFor('pic', 2, new Set()),
  ],
  ['blobs', "UPDATE blobs SET file = 'there'", (tx) => tx.blobs.find('pic')],
  // An index may lead to another row.
  ['refresh_tokens', "UPDATE refresh_tokens SET hash = 'other'", undefined],
  ['step_keys', "UPDATE step_keys SET keys = '[]'", (tx) => tx.applied.keysOf(1, 'tx1', 0)],
]

/** Reads before and after damage that gives no error. */
const INSTEAD: readonly (readonly [
  table: string,
  sql: string,
  read: (tx: ReadTx) => unknown,
  before: unknown,
  after: unknown,
])[] = [
  [
    'former_memberships',
    'UPDATE former_memberships SET realm = 9',
    (tx) => tx.memberships.hadMemberRow('eve', null, 'mmb1'),
    true,
    false,
  ],
  [
    'applied',
    "UPDATE applied SET rejection = '{}'",
    (tx) => tx.applied.find(1, 'tx1')?.rejection,
    { name: 'CONFLICT', message: 'No' },
    null,
  ],
  [
    'blob_uploads',
    "UPDATE blob_uploads SET blob = 'pig'",
    (tx) => tx.blobs.isUploadedBy('pig', 2),
    false,
    false,
  ],
]

/** A stopped database with a row of each kind. */
async function setup() {
  const folder = temporaryFolder()
  {
    await using opened = openIn(folder.path)
    await opened.database.write((tx) => {
      const { ref } = tx.realms.ensure('rlm1')
      tx.refreshTokens.put(refreshToken('token', { subject: 'bob' }))
      const rights = { accepted: true, rejected: false, permissions: {}, roles: [] }
      const member = { source: 'members:mmb1', realm: ref, email: null, ...rights }
      tx.memberships.put({ ...member, userId: 'eve' })
      tx.memberships.remove(member.source)
      const blob = { id: 'pic', hash: 'hash', file: 'here', size: 3, type: 'image/png', created: 1 }
      tx.blobs.put(blob, ref)
      const { number: client } = tx.syncClients.ensure('bob', 'device', 1)
      const rejection = { name: 'CONFLICT', message: 'No' }
      tx.applied.put(client, 'tx1', 1, { rejection })
      tx.applied.putKeys(client, 'tx1', 0, ['a'])
      const table = declare(tx, 'notes', '@id')
      const value = JSON.stringify({ id: 'a', realmId: 'rlm1' })
      tx.objects.put(table, [fresh('a', { realm: ref, value })], NOW)
    })
  }
  const file = `${folder.path}/database.sqlite`
  return {
    file,
    open: () => openIn(folder.path),
    change(sql: string) {
      using db = new File(file)
      expect(db.run(sql).changes).toBe(1)
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

const rowsOf = (faults: readonly { problem: string; table: string }[]) =>
  faults.map(({ problem, table }) => `${problem} ${table}`)

test.each(ROWS)('a damaged row of %s by %s is not used, and named', async (table, sql, read) => {
  using place = await setup()
  {
    await using sound = place.open()
    if (read !== undefined) expect(await sound.database.read(read)).toBeDefined()
    expect((await verifyDatabase(sound.database, { accepts: false })).faults).toEqual([])
  }
  place.change(sql)
  await using opened = place.open()
  const { database } = opened
  if (read !== undefined) expect(await codeOf(() => database.read(read))).toBe('DAMAGED')
  const { faults } = await verifyDatabase(database, { accepts: false })
  expect(rowsOf(faults)).toEqual([`damaged ${table}`])
})

test.each(INSTEAD)(
  'a damaged row of %s by %s is not relied on, and named',
  async (table, sql, read, before, after) => {
    using place = await setup()
    {
      await using sound = place.open()
      expect(await sound.database.read(read)).toEqual(before as never)
    }
    place.change(sql)
    {
      await using opened = place.open()
      expect(await opened.database.read(read)).toEqual(after as never)
      const { faults } = await verifyDatabase(opened.database, { accepts: false })
      expect(rowsOf(faults)).toEqual([`damaged ${table}`])
      expect((await verifyDatabase(opened.database, { accepts: true })).faults).toEqual([])
    }
    await using accepted = place.open()
    expect((await verifyDatabase(accepted.database, { accepts: false })).faults).toEqual([])
  },
)

test('a row that was written by hand can be accepted, and removed', async () => {
  using place = await setup()
  place.change("UPDATE refresh_tokens SET subject = 'eve'")
  await using opened = place.open()
  const { database } = opened
  await database.write((tx) => tx.forgetAddress('eve'))
  await verifyDatabase(database, { accepts: true })
  expect((await verifyDatabase(database, { accepts: false })).faults).toEqual([])
  expect(await database.read((tx) => tx.refreshTokens.find('token'))).toMatchObject({
    subject: 'eve',
  })
})

test.each([
  ['emptied', emptyFile],
  ['given a new identity', renewIdentity],
] as const)('a database that was %s has sound rows', async (_, change) => {
  using place = await setup()
  change(place.file)
  await using opened = place.open()
  const { faults } = await verifyDatabase(opened.database, { accepts: false })
  expect(faults).toEqual([])
})

test('a damaged index is not used, and can be accepted', async () => {
  using place = await setup()
  {
    await using opened = place.open()
    await opened.database.write((tx) =>
      tx.tables.put({
        name: 'things',
        primaryKey: ['id'],
        compound: false,
        generated: false,
        idPrefix: 'thg',
        stores: 'id, country',
        hidden: false,
        indexes: [{ name: 'country', multi: false }],
      }),
    )
  }
  place.change("UPDATE indexes SET name = 'county'")
  {
    await using opened = place.open()
    const table = await opened.database.read((tx) => tx.tables.find('things'))
    expect(table?.indexes).toEqual([])
    expect(rowsOf((await verifyDatabase(opened.database, { accepts: false })).faults)).toEqual([
      'damaged indexes',
    ])
  }
  place.change("UPDATE indexes SET name = 'country'")
  await using mended = place.open()
  expect((await verifyDatabase(mended.database, { accepts: false })).faults).toEqual([])
})
