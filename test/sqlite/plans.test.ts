import { Database as SqliteDatabase } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import type { PageQuery } from '../../src/domain/store/objects'
import type { Database, WriteTx } from '../../src/domain/store/store'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { code } from '../contract/codes'
import { declare, entry, fresh, get, NOW, update, WHOLE } from '../contract/fixture'
import { mail } from '../contract/mails'
import { criteriaOperation } from '../contract/sync'
import { user } from '../contract/user-fixture'
import { type TemporaryFolder, temporaryFolder } from '../setup'
import type { Table } from '../../src/domain/store/tables'
import { USER_ORDERS, type UserQuery } from '../../src/domain/store/users'

/** Tables that are read whole, because they are small or because that is what is asked for. */
const READ_WHOLE = [
  /^SELECT .* FROM (sqlite_schema|database|migrations|tables|indexes)\b/,
  /^SELECT .* FROM (clients|keys|origins|providers|settings|jobs) ORDER BY id$/,
  /^SELECT 1 FROM tombstones LIMIT 1$/,
  /^SELECT run AS id, first FROM runs ORDER BY first$/,
  // The index holds those that are being erased and no others.
  /^SELECT number FROM realm_ids WHERE state = 'erasing'$/,
  // The tables or realms that are asked for, which are no table.
  /FROM tombstones INDEXED BY .* json_each\(\?7\)/,
  /^DELETE FROM applied .* json_each\(\?3?\)/,
  /json_each\(\?2\) place CROSS JOIN blob_refs/,
  /json_each\(\?1?\)(?: AS wanted WHERE EXISTS| CROSS JOIN realm_ids|\) CROSS JOIN o_4)/,
  // So many of the next rows, or fewer.
  /^SELECT count.* \(SELECT realm FROM o_4 ORDER BY seq LIMIT \?2\)/,
  / ORDER BY seq LIMIT 20000\) CROSS JOIN o_4 /,
  // The log is short: it is folded.
  /^SELECT .* FROM realm_moves ORDER BY number/,
  /^UPDATE database SET/,
]

const FIRST_POSITIONS = /^SELECT (?:DISTINCT )?seq FROM .* ORDER BY seq LIMIT \?[35]$/
const FIRST_USERS = / AS value, number AS incarnation FROM users INDEXED BY users_listed /

/** How the statements that decide the speed find their rows. */
const PLANS: readonly [RegExp, RegExp][] = [
  [/FROM o_4 WHERE key = \?$/, /SEARCH o_4 USING INDEX sqlite_autoindex_o_4_1 \(key=\?\)/],
  [
    /FROM o_4 WHERE seq = \(SELECT seq FROM o_4 WHERE key = \?1\)$/,
    /^SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid=\?\)\nSCALAR SUBQUERY.*\nSEARCH o_4 USING COVERING INDEX sqlite_autoindex_o_4_1 \(key=\?\)$/,
  ],
  [/FROM o_4 WHERE seq > \? ORDER BY seq$/, /^SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid>\?\)$/],
  [
    /group_concat\(value, ','\) +AS text, .* ORDER BY seq/,
    /SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid>\?\)/,
  ],
  [
    /group_concat.* revision = /,
    /SEARCH o_4 USING INDEX o_4_realm \(realm=\? AND revision=\? AND rowid>\?\)/,
  ],
  [
    /group_concat.* revision > /,
    /SEARCH o_4 USING INDEX o_4_realm \(realm=\? AND revision>\? AND revision<\?\)/,
  ],
  [
    /^SELECT revision, seq, realm, .* CROSS JOIN o_4/,
    /^SCAN json_each .*\nSEARCH o_4 USING INDEX o_4_realm \(realm=\? AND revision<\?\)$/,
  ],
  [
    /group_concat.* WHERE seq IN/,
    /^SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid=\?\)\nLIST SUBQUERY.*\nSCAN json_each .*\nSEARCH o_4 USING COVERING INDEX o_4_realm \(realm=\?\)$/,
  ],
  [/group_concat.* FILTER/, /SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid>\?\)/],
  [/FROM o_4 WHERE seq = \?$/, /SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid=\?\)/],
  // The rows at located positions.
  [
    /json_each\(\?\)\) CROSS JOIN o_4 ON seq = wanted$/,
    /^SCAN json_each .*\nSEARCH o_4 USING INTEGER PRIMARY KEY \(rowid=\?\)$/,
  ],
  // The next rows of realms.
  [
    /AS near, realm AS place/,
    /^CO-ROUTINE .*\nSEARCH o_4 USING INTEGER PRIMARY KEY \(rowid>\?\)\nSCAN .*\nLIST SUBQUERY.*\nSCAN json_each .*\n(?:CREATE BLOOM FILTER\n)?SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid=\?\)$/,
  ],
  [
    /^SELECT 1 FROM .* CROSS JOIN o_4 INDEXED BY/,
    /^SCAN json_each .*\nSEARCH o_4 USING COVERING INDEX o_4_realm \(realm=\?\)$/,
  ],
  [
    /^SELECT seq FROM .* CROSS JOIN o_4 INDEXED BY/,
    /^SCAN json_each .*\nSEARCH o_4 USING COVERING INDEX o_4_realm \(realm=\?\)\nUSE TEMP B-TREE FOR ORDER BY$/,
  ],
  [
    /^SELECT seq, realm, CASE .* CROSS JOIN o_4 INDEXED/,
    /^SCAN json_each .*\nSEARCH o_4 USING INDEX o_4_realm \(realm=\?\)$/,
  ],
  [
    /^SELECT seq FROM index_entries .* key = \?/,
    /PRIMARY KEY \(index_number=\? AND key=\? AND seq>\?(?: AND seq<\?)?\)$/,
  ],
  [
    /^SELECT (?:1|DISTINCT seq) FROM index_entries .* key < \?/,
    /PRIMARY KEY \(index_number=\? AND key>\? AND key<\?\)/,
  ],
  [
    /FROM o_4 WHERE seq IN \(.* key = \?/,
    /^SEARCH o_4 USING INTEGER PRIMARY KEY \(rowid=\?\)\nLIST SUBQUERY.*\nSEARCH index_entries USING PRIMARY KEY \(index_number=\? AND key=\?(?: AND seq>\?)?\)$/,
  ],
  [/^UPDATE o_4 SET realm/, /SEARCH o_4 USING INTEGER PRIMARY KEY/],
  [/^UPDATE o_4 SET key/, /SEARCH o_4 USING INTEGER PRIMARY KEY/],
  [/^DELETE FROM o_4/, /SEARCH o_4 USING INTEGER PRIMARY KEY/],
  [
    /^SELECT seq, realm, octet.* FROM o_4 WHERE realm/,
    /SEARCH o_4 USING INDEX o_4_realm \(realm=\?\)/,
  ],
  [
    /^SELECT count.* WHERE realm > \? AND realm < \? LIMIT/,
    /SEARCH o_4 USING COVERING INDEX o_4_realm \(realm>\? AND realm<\?\)/,
  ],
  [/FROM o_4 WHERE realm = \? LIMIT 1/, /SEARCH o_4 USING COVERING INDEX o_4_realm \(realm=\?\)/],
  [
    /^DELETE FROM index_entries WHERE index_number = \? AND key/,
    /\(index_number=\? AND key=\? AND seq=\?\)/,
  ],
  [/^DELETE FROM index_entries .* IN/, /\(index_number=\? AND key=\? AND seq=\?\)/],
  [/^DELETE FROM tombstones WHERE table_number/, /\(table_number=\? AND key=\? AND realm=\?\)/],
  [
    /^SELECT revision, table_number .* FROM tombstones (?!.*json_each)/,
    /^SEARCH tombstones USING COVERING INDEX tombstones_of_realm \(realm=\? AND \(revision,table_number,key\)>\(\?,\?,\?\) AND revision<\?\)$/,
  ],
  [
    /^SELECT revision, seq FROM o_4 .* revision = /,
    /^SEARCH o_4 USING COVERING INDEX o_4_realm \(realm=\? AND revision=\? AND rowid>\?\)$/,
  ],
  [
    /^SELECT revision, seq FROM o_4 .* revision > /,
    /^SEARCH o_4 USING COVERING INDEX o_4_realm \(realm=\? AND revision>\? AND revision<\?\)$/,
  ],
  [
    /FROM tombstones WHERE table_number = \? AND key = \?$/,
    /PRIMARY KEY \(table_number=\? AND key=\?\)/,
  ],
  [
    /^SELECT .* FROM sync_clients WHERE subject = \? AND/,
    /INDEX sync_clients_by_identity \(subject=\? AND identity=\?\)/,
  ],
  [
    /^SELECT .* FROM sync_clients WHERE subject = \?$/,
    /INDEX sync_clients_by_identity \(subject=\?\)/,
  ],
  [/^SELECT .* FROM applied WHERE client = /, /PRIMARY KEY \(client=\? AND txid=\?\)/],
  [
    /^SELECT .* FROM applied WHERE client IN /,
    /PRIMARY KEY \(client=\? AND txid=\?\)[^]*INDEX sync_clients_by_identity \(subject=\?\)/,
  ],
  [/^SELECT .* FROM step_keys/, /INDEX step_keys_by_step \(client=\? AND txid=\? AND step=\?\)/],
  [/^DELETE FROM step_keys/, /INDEX step_keys_by_step \(client=\? AND txid=\?\)/],
  [
    /^DELETE FROM applied /,
    /^SEARCH applied USING PRIMARY KEY \(client=\? AND txid=\?\)\nLIST [^]*\nSEARCH applied USING PRIMARY KEY \(client=\?\)/,
  ],
  [
    /^DELETE FROM criteria_ops WHERE .* WHERE subject = \? LIMIT/,
    /SEARCH criteria_ops USING PRIMARY KEY \(subject=\?\)/,
  ],
  [
    /^SELECT .* FROM criteria_ops WHERE subject = \? AND table_number = \? AND revision > /,
    /^SEARCH criteria_ops USING PRIMARY KEY \(subject=\? AND table_number=\? AND revision>\?\)$/,
  ],
  [
    /^SELECT c\.subject, .* FROM memberships/,
    /^SEARCH m USING INDEX memberships_of_realm \(realm=\?\)\nSEARCH c USING PRIMARY KEY \(subject=\? AND table_number=\? AND revision>\?\)/,
  ],
  [
    /json_each\(\?1\) CROSS JOIN realm_ids/,
    /^SCAN json_each .*\nSEARCH realm_ids USING INTEGER PRIMARY KEY \(rowid=\?\)$/,
  ],
  [/^SELECT .* FROM realm_moves ORDER BY number/, /^SCAN realm_moves$/],
  [
    /json_each\(\?\) AS wanted WHERE EXISTS/,
    /SEARCH o_3 EXISTS USING COVERING INDEX o_3_realm \(realm=\?\)$/,
  ],
  [
    /^SELECT realm, permissions, roles FROM memberships/,
    /^SEARCH memberships USING COVERING INDEX memberships_rights_of_user \(user_id=\? AND accepted=\?\)$/,
  ],
  [
    /FROM memberships WHERE user_id = \? AND accepted = 0/,
    /^SEARCH memberships USING INDEX memberships_rights_of_user \(user_id=\? AND accepted=\?\)$/,
  ],
  [
    /^DELETE FROM tombstones .* IN .*realm = \? LIMIT/,
    /SEARCH tombstones USING COVERING INDEX tombstones_of_realm \(realm=\?\)/,
  ],
  [/FROM realm_ids WHERE id = \? AND state = 'live'/, /USING INDEX realm_ids_live \(id=\?\)/],
  [/FROM realm_ids WHERE number = \?/, /SEARCH realm_ids USING INTEGER PRIMARY KEY/],
  [/FROM realm_ids WHERE id = \? AND state = \?/, /USING INDEX realm_ids_by_id \(id=\?\)/],
  [/^UPDATE realm_ids/, /SEARCH realm_ids USING INTEGER PRIMARY KEY/],
  [
    /FROM blob_uploads WHERE realm = \? AND blob = \?/,
    /USING PRIMARY KEY \(realm=\? AND blob=\?\)/,
  ],
  [
    /FROM json_each\(\?2\) place CROSS JOIN blob_refs/,
    /SCAN place VIRTUAL TABLE.*\nSEARCH ref USING PRIMARY KEY \(blob=\? AND realm=\?\)/s,
  ],
  [/FROM blobs WHERE id > \?/, /SEARCH blobs USING PRIMARY KEY \(id>\?\)/],
  [/FROM blob_refs WHERE blob = \?1 AND realm </, /PRIMARY KEY \(blob=\? AND realm<\?\)/],
  [/^DELETE FROM blob_refs/, /PRIMARY KEY \(blob=\? AND realm=\? AND seq=\?\)/],
  [/^SELECT blob FROM blob_uploads/, /SEARCH blob_uploads USING PRIMARY KEY \(realm=\?\)/],
  [
    /\(permissions, roles\) > \(\?3, \?4\)/,
    /^SEARCH memberships USING COVERING INDEX memberships_by_rights \(accepted=\? AND realm=\? AND \(permissions,roles\)>\(\?,\?\)\)$/,
  ],
  [
    /FROM memberships WHERE user_id = \? AND \(realm/,
    /^SEARCH memberships USING INDEX memberships_of_user \(user_id=\? AND \(realm,source\)>\(\?,\?\)\)$/,
  ],
  [/ at, sum FROM former_memberships/, /USING PRIMARY KEY \(subject=\? AND key=\?\)$/],
  [
    /FROM memberships WHERE email = \? AND realm = \?/,
    /^SEARCH memberships USING INDEX memberships_of_email \(email=\? AND realm=\?\)$/,
  ],
  [/FROM memberships WHERE email = \? AND user/, /USING INDEX memberships_of_email \(email=\?\)/],
  [
    /FROM memberships WHERE user_id = \? AND realm = \?/,
    /^SEARCH memberships USING INDEX memberships_of_user \(user_id=\? AND realm=\?\)$/,
  ],
  [
    /FROM memberships WHERE realm = \? AND source > \?/,
    /^SEARCH memberships USING INDEX memberships_of_realm \(realm=\? AND source>\?\)$/,
  ],
  [
    / FROM users WHERE id = \?$/,
    /^SEARCH users USING (COVERING )?INDEX sqlite_autoindex_users_1 \(id=\?\)$/,
  ],
  [/ FROM users WHERE email = \?/, /^SEARCH users USING INDEX users_by_email \(email=\?\)$/],
  [
    /^SELECT id AS value, number AS incarnation FROM users WHERE/,
    /^SEARCH users USING COVERING INDEX sqlite_autoindex_users_1 \(id>\?\)$/,
  ],
  // A step of a search: a range of the index, without a look at a row.
  [
    FIRST_USERS,
    /^SEARCH users USING COVERING INDEX users_listed \(type=\? AND number>\? AND number<\?\)/,
  ],
  [
    /^SELECT count.* FROM users INDEXED BY/,
    /SEARCH users USING COVERING INDEX users_listed \(type=\?\)/,
  ],
  [/^UPDATE users SET last_login/, /^SEARCH users USING INTEGER PRIMARY KEY \(rowid=\?\)$/],
  [/FROM audit .* DESC/, /^SEARCH audit USING INDEX audit_by_time \(at>\? AND at<\?\)$/],
  [/^SELECT .* FROM revoked_logins/, /SEARCH revoked_logins USING PRIMARY KEY \(id=\?\)/],
]

describe('every statement', () => {
  let plansBySql: ReadonlyMap<string, string>
  let folder: TemporaryFolder
  beforeAll(async () => {
    folder = temporaryFolder()
    plansBySql = await planOfEverything(folder.path)
  })
  afterAll(() => folder[Symbol.dispose]())

  test('finds its rows by a key or an index, unless it is to read them all', () => {
    const scans = [...plansBySql]
      .filter(
        ([sql, plan]) => /\bSCAN (?!CONSTANT ROW|\(subquery)/.test(plan) && !mayReadWhole(sql),
      )
      .map(([sql, plan]) => `${sql}\n${plan}`)
    expect(scans).toEqual([])
  })

  test('sorts nothing, unless it lists a small table or finds the first positions', () => {
    const sorts = [...plansBySql]
      .filter(([sql, plan]) => plan.includes('TEMP B-TREE') && !mayReadWhole(sql))
      .filter(([sql]) => !FIRST_POSITIONS.test(sql) && !FIRST_USERS.test(sql))
      .map(([sql, plan]) => `${sql}\n${plan}`)
    expect(sorts).toEqual([])
  })

  test.each(PLANS)('like %p takes its index', (pattern, plan) => {
    const found = [...plansBySql].filter(([sql]) => pattern.test(sql))
    expect(found.length).toBeGreaterThan(0)
    for (const [, actual] of found) expect(actual).toMatch(plan)
  })
})

function mayReadWhole(sql: string): boolean {
  return READ_WHOLE.some((pattern) => pattern.test(sql))
}

/** The plans of all statements that a life of a database prepares, by their text. */
async function planOfEverything(folder: string): Promise<Map<string, string>> {
  const texts = new Set<string>()
  const prepare = spyOn(SqliteDatabase.prototype, 'prepare')
  try {
    await using store = createSqliteStore(folder, { clock: createTestClock(), durability: 'none' })
    await live(await store.create('main'))
    for (const [sql] of prepare.mock.calls) texts.add(sql)
  } finally {
    prepare.mockRestore()
  }
  using db = new SqliteDatabase(join(folder, 'databases', 'main', 'database.sqlite'))
  return new Map(
    [...texts]
      // The table of folders is in another file, and has a row for each database.
      .filter((sql) => /^(select|update|delete)/i.test(sql) && !/ FROM folders\b/.test(sql))
      .map((sql) => [sql, planOf(db, sql)]),
  )
}

function planOf(db: SqliteDatabase, sql: string): string {
  using statement = db.prepare<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${sql}`)
  return statement
    .all()
    .map(({ detail }) => detail)
    .join('\n')
}

/** Calls every method of the seam. */
async function live(database: Database): Promise<void> {
  const table = await database.write(prepareData)
  expect(table.number).toBe(4)
  const index = table.indexes[0]?.number ?? 0
  const lookups = [
    { index, keys: [Uint8Array.of(1)] },
    { index, keys: [Uint8Array.of(1), Uint8Array.of(2)] },
    { index, keys: [], range: { lower: Uint8Array.of(0), upper: Uint8Array.of(9) } },
  ]
  await database.read((tx) => {
    const few = { rows: 10, bytes: 1_000 }
    const small = tx.realms.find('rlm-small')!
    const read = (query: Omit<PageQuery, 'size'>) => {
      // The second time a text is verified, and the second page goes on.
      for (const size of [WHOLE, few, few]) {
        const after = tx.objects.page(table, { ...query, size }).next
        if (after !== undefined) tx.objects.page(table, { ...query, size, after })
      }
    }
    for (const realms of [undefined, new Set([1]), new Set([1, 2]), new Set([small.ref])]) {
      for (const joined of [true, false]) read({ realms, joined })
      for (const lookup of lookups) read({ realms, lookup })
    }
    tx.objects.findText(table, 'a')
    tx.objects.findText(table, 'a', new Set([1]))
    tx.realms.isUsed('rlm-a')
    tx.objects.count(table, 1_000_000)
    const size = { rows: 10, bytes: 1_000 }
    const { next } = tx.objects.changes(new Set([1, 2]), 0, 9, size)
    if (next !== undefined) tx.objects.changes(new Set([1, 2]), next, 9, size)
    tx.objects.changes(new Set([1, 2]), 0, 9, size, new Set(['things']))
    const two = { rows: 2, bytes: 1_000 }
    for (const _ of [1, 2]) {
      const chunk = tx.objects.contents(table, 1, 0, 9, two)
      if (chunk.next !== undefined) tx.objects.contents(table, 1, chunk.next, 9, two)
    }
    tx.objects.contentsTogether(table, [1, 2], 9, size)
    tx.objects.findMany(table, ['k0'])
    tx.realms.bornAt(1)
    tx.syncClients.find('alice', 'identity')
    tx.applied.find(1, 'txid')
    tx.applied.findOfUser('alice', 'txid')
    tx.applied.keysOf(1, 'txid', 0)
    tx.criteriaOps.list(table.number, { subject: 'alice' }, 0, 10)
    tx.criteriaOps.list(table.number, { realm: 1 }, 0, 10)
    tx.audit.list({ at: NOW, seq: 0 }, 10)
    tx.audit.listNewest({ at: NOW, seq: 0 }, 0, 10)
    tx.blobs.find('one')
    tx.blobs.findFor('one', 2, new Set([1, 2]))
    tx.blobs.findFor('one', null, new Set([1]))
    tx.blobs.isUploadedBy('one', 2)
    tx.blobs.isReferencedOutside('one', 2)
    tx.blobs.usage(null)
    tx.blobs.list('', 10)
    tx.blobs.idle(NOW, 10)
    tx.blobs.references('one', 10)
    tx.blobs.uploaders('one')
    tx.blobs.countIdle(NOW)
    tx.blobs.byFile(undefined, 10)
    tx.blobs.isFileUsed('file')
    tx.realms.findByRef(2)
    tx.realms.find('rlm-a')
    tx.realms.isRetired('rlm-a')
    tx.memberships.ofSubject('alice', 'alice@example.com')
    tx.objects.realmsWith(tx.tables.find('roles')!, new Set([1, 2]))
    tx.memberships.ofSubjectIn(null, 'alice@example.com', 1)
    tx.memberships.ofUser('alice', 5)
    tx.memberships.ofUser('alice', 5, { realm: 2, source: 'members:m1' })
    tx.memberships.hadMemberRow('alice', 'alice@example.com', 'key')
    tx.memberships.ofSubjectIn('alice', null, 1)
    tx.memberships.ofRealm(1, '', 5, true)
    tx.memberships.ofRealm(1, '', 5)
    tx.memberships.nextRights(1, true, '["{}","[]"]')
    tx.invitations.find('hash')
    tx.invitations.sent({ inviter: 'alice' }, { after: 0, until: NOW }, 10)
    tx.invitations.sent({ email: 'alice@example.com' }, { after: 0, until: NOW }, 10)
    tx.users.find('alice')
    tx.users.ofEmail('alice@example.com', 2)
    tx.users.count({ type: 'prod', active: true }, 5)
    const page = { isDescending: false, limit: 10, after: { value: 'a', incarnation: 1 } }
    tx.users.search({ ...page, order: 'userId' })
    for (const order of USER_ORDERS) {
      for (const filter of [{ search: 'a' }, { type: 'eval', active: true }, { active: false }]) {
        tx.users.search({ ...page, ...filter, order } as UserQuery, { positions: [], next: 7 })
      }
    }
    tx.refreshTokens.find('hash')
    tx.refreshTokens.findUse('hash', 1)
    tx.codes.find('code')
    tx.codes.ofSubject('alice@example.com', NOW)
    tx.mails.due(1, 10)
    tx.logins.isRevoked('login')
    for (const records of [tx.clients, tx.keys, tx.origins, tx.providers, tx.settings, tx.jobs]) {
      records.find('a')
      records.list()
    }
  })
  await database.write(changeData(table, index))
  await database.write((tx) => tx.objects.dropEntries(10))
  await database.write(eraseData)
}

function prepareData(tx: WriteTx): Table {
  const table = declare(tx, 'things', '@id, title')
  const { ref: realm } = tx.realms.ensure('rlm-a')
  const index = table.indexes[0]?.number ?? 0
  tx.tables.setIndexState(index, 'ready')
  const { ref: small } = tx.realms.ensure('rlm-small')
  // So many that one read cannot return them, and that the positions of few of them are located.
  const puts = Array.from({ length: 4_500 }, (_, n) =>
    fresh(`k${n}`, {
      entries: [entry(index, 1)],
      realm: n % 100 === 99 ? small : n % 2 === 0 ? realm : 1,
      blobs: ['one'],
    }),
  )
  for (const id of ['one', 'two']) {
    tx.blobs.put({ id, hash: id, size: 1, type: 'text/plain', created: NOW, file: id }, realm)
  }
  tx.objects.put(table, puts, NOW)
  return table
}

function changeData(table: Table, index: number) {
  return (tx: WriteTx) => {
    const entries = [entry(index, 1)]
    update(tx, table, 'k0', { realm: 1, previousTraces: { entries, blobs: [] } })
    const previous = get(tx, table, 'k1')
    tx.objects.remove(table, [{ previous, entries, blobs: ['one'] }], NOW)
    tx.objects.findTombstone(table, 'k1')
    tx.objects.addEntries([{ seq: 3, entries: [entry(index, 2)] }])
    tx.blobs.remove('two')
    tx.blobs.setFile('one', 'other')
    tx.memberships.remove('members:1')
    tx.memberships.forgetFormer('alice', 5)
    tx.memberships.removeOfRealm(1)
    for (const name of ['Alice', 'Alva']) {
      tx.users.put(user('alice', { data: { displayName: name } }))
    }
    tx.users.noteLogin('alice', 5, 5)
    const client = tx.syncClients.ensure('alice', 'identity', NOW)
    tx.syncClients.put({ ...client, tables: ['things'], floor: NOW })
    tx.syncClients.noteCorrection(client.number)
    tx.applied.put(client.number, 'txid', NOW)
    tx.applied.put(client.number, 'txid', NOW, { steps: 1 })
    tx.applied.putKeys(client.number, 'txid', 0, ['a'])
    tx.applied.removeKeys(client.number, 'txid')
    tx.applied.prune(client.number, NOW + 1, new Set())
    tx.criteriaOps.put(table.number, criteriaOperation(client.number), NOW, 10)
    for (const kind of ['history', 'syncClients'] as const) tx.prune(kind, NOW + 1, 1)
    tx.syncClients.removeOfSubject('alice')
    tx.users.remove('alice')
    for (const kind of ['codes', 'invitations', 'logins'] as const) tx.prune(kind, NOW, 9)
    for (const kind of ['refreshTokens', 'refreshUses'] as const) tx.prune(kind, 1, 9)
    tx.audit.rename('alice', 'random')
    tx.prune('audit', NOW, 10)
    tx.forgetAddress('alice@example.com')
    for (const holder of [{ clientId: 'c1' }, { user: 1 }, { login: 'login' }]) {
      tx.refreshTokens.removeOf(holder)
    }
    tx.logins.spend('state', NOW)
    tx.logins.revoke('login', NOW)
    tx.codes.put(code('code'))
    tx.mails.put(mail('mail'))
    tx.mails.remove('mail')
    tx.providers.remove('google')
    tx.settings.remove('policy')
    tx.tables.seal(true)
    declare(tx, 'things', '@id')
  }
}

function eraseData(tx: WriteTx): void {
  const realm = tx.realms.find('rlm-a')
  const table = tx.tables.find('things')
  if (realm === undefined || table === undefined) throw new Error('there is nothing to erase')
  tx.realms.markErasing(realm.ref)
  tx.objects.count(table, 1_000_000)
  tx.objects.put(table, [fresh('k2')], NOW)
  const traces = { entries: [entry(1, 1)], blobs: ['one'] }
  while (tx.objects.erase(realm.ref, 1_000, () => traces) !== undefined);
}
