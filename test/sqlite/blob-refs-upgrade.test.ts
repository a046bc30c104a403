import { describe, expect, test } from 'bun:test'
import { ANONYMOUS } from '../../src/domain/access/actor'
import { declareTables } from '../../src/domain/object/declare'
import { storedTraces } from '../../src/domain/object/traces'
import { parseStores } from '../../src/domain/value/schema'
import { administrator, alice, bob, readersOf, refTo, uploadText } from '../domain/blob/setup'
import { openOldDatabase, VERSIONS } from './old-database'

const EARLIER = VERSIONS.slice(0, VERSIONS.indexOf('0006_blobs'))

/** A database with a table whose objects lie in the public realm, that of alice, and one that goes. */
const OLD = [
  `INSERT INTO database VALUES (1, 'id', 'epoch', 9, 1, 1, 100, 0, 0, 0)`,
  `INSERT INTO realm_ids (number, id, state, head) VALUES (1, 'rlm-public', 'live', 9), (2, 'alice', 'live', 9), (3, 'rlm-gone', 'erasing', 9)`,
  ...['realms', 'members', 'roles', 'files'].flatMap((name, position) => [
    `INSERT INTO tables (number, name, primary_key, compound, generated, id_prefix, stores, hidden, built_in) VALUES (${position + 1}, '${name}', '["id"]', 0, 1, 'x${position}x', '@id', 0, ${name === 'files' ? 0 : 1})`,
    `CREATE TABLE o_${position + 1} (seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, realm INTEGER NOT NULL, owner TEXT, revision INTEGER NOT NULL, updated_at INTEGER NOT NULL, stamps TEXT, value TEXT NOT NULL) STRICT`,
    `CREATE INDEX o_${position + 1}_realm ON o_${position + 1} (realm, revision)`,
  ]),
  ...[
    { realm: 1, value: { id: 'a', list: [[{ deep: [refTo('public')] }], refTo('both')] } },
    { realm: 2, value: { id: 'b', file: refTo('private'), more: [refTo('both'), refTo('both')] } },
    { realm: 3, value: { id: 'c', file: refTo('gone') } },
    { realm: 1, value: { id: 'd', text: 'only "_bt": and "ref": in a text' } },
    { realm: 1, value: { id: 'e', inline: { _bt: 'Blob', ref: '1:inline', v: 'AAAA' } } },
  ].map(
    ({ realm, value }, position) =>
      `INSERT INTO o_4 VALUES (${position + 1}, '${value.id}', ${realm}, NULL, 1, 0, NULL, '${JSON.stringify(value)}')`,
  ),
]

const IDS = ['public', 'both', 'private', 'gone', 'inline']

describe.each(EARLIER)('a database of %s', (version) => {
  test('knows which blobs its objects reference, once these are there', async () => {
    await using old = await openOldDatabase(version, ...OLD)
    for (const id of IDS) await uploadText(old, administrator, id)
    const readers: Record<string, unknown> = {}
    for (const id of IDS) readers[id] = await readersOf(old, id, [alice, bob, ANONYMOUS])
    expect(readers).toEqual({
      public: ['alice', 'bob', null],
      both: ['alice', 'bob', null],
      private: ['alice'],
      gone: [],
      inline: [],
    })
    const idle = await old.database.read((tx) => tx.blobs.idle(old.clock.now(), 10))
    expect(idle.map(({ id }) => id)).toEqual(['inline'])
  })

  test('forgets them with their objects', async () => {
    await using old = await openOldDatabase(version, ...OLD)
    await uploadText(old, administrator, 'private')
    await old.database.write(async (tx) => {
      await declareTables(tx, parseStores({ notes: '@id' }), 0)
      await tx.realms.markErasing(2)
      while ((await tx.objects.erase(2, 100, storedTraces)) > 0);
    })
    expect(await old.database.read((tx) => tx.blobs.references('private', 10))).toEqual([])
    expect(await old.database.read((tx) => tx.blobs.references('both', 10))).toHaveLength(1)
  })
})
