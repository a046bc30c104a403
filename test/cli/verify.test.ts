import { describe, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Verification } from '../../src/domain/rows/verification'
import { byHand } from '../sqlite/by-hand'
import { setupData } from '../http/setup'
import { temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

/** A stopped data folder with a bit of everything, and a command line on it. */
async function setup() {
  const folder = temporaryFolder()
  const data = ['--data', folder.path]
  {
    await using server = await setupData({ data: folder.path })
    const { root } = server
    await root.post('/all/realms', { realmId: 'rlm1', owner: 'alice' })
    for (const n of [1, 2, 3, 4]) {
      await root.post('/all/members', { id: `mmb${n}`, realmId: 'rlm1', userId: `user${n}` })
    }
    for (const sub of ['bob', 'eve']) await server.token({ sub })
    await root.send('PUT', '/blob/pic', { body: 'a picture' })
    const items = ['a', 'b', 'c', 'd', 'e'].map((id, n) => ({
      id: `itm${id}`,
      realmId: 'rlm1',
      country: n === 0 ? 'DE' : 'FR',
      tags: [id],
      file: { _bt: 'Blob', ref: '1:pic' },
    }))
    await root.post('/all/items', items)
    await root.remove('/all/items/itmc')
  }
  return {
    data,
    path: folder.path,
    say: (...args: string[]) => runSatchel([...args, ...data]),
    verify: async (...args: string[]) => {
      const { exitCode, stdout } = await runSatchel(['verify', ...args, ...data, '--json'])
      return { exitCode, ...(JSON.parse(stdout) as Verification) }
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

/** Changes by hand, and the fault that each of them is. */
const ACCEPTED = [
  [
    "UPDATE o_4 SET value = replace(value, 'DE', 'SE') WHERE key = 'itma'",
    'damaged',
    'items',
    'itma',
  ],
  ["UPDATE o_4 SET entered = entered - 1 WHERE key = 'itmb'", 'damaged', 'items', 'itmb'],
  ["UPDATE o_2 SET revision = revision - 1 WHERE key = 'mmb1'", 'damaged', 'members', 'mmb1'],
  ["UPDATE users SET type = 'demo' WHERE id = 'bob'", 'damaged', 'users', 'bob'],
  ["UPDATE users SET search = 'ewe' WHERE id = 'eve'", 'missing entry', 'users', 'eve'],
  [
    "DELETE FROM index_entries WHERE seq = (SELECT seq FROM o_4 WHERE key = 'itmd')",
    'missing entry',
    'items',
    'itmd',
  ],
  [
    "INSERT INTO index_entries SELECT index_number, x'05', 9999 FROM index_entries LIMIT 1",
    'stale entry',
    'items',
    '',
  ],
  [
    "UPDATE blob_refs SET realm = 1 WHERE seq = (SELECT seq FROM o_4 WHERE key = 'itme')",
    'missing entry',
    'items',
    'itme',
  ],
  ['UPDATE blob_refs SET realm = 1 WHERE realm = 1', 'stale entry', 'blob references', 'pic'],
  [
    'UPDATE memberships SET permissions = \'{"manage":"*"}\' WHERE source = \'members:mmb2\'',
    'missing entry',
    'members',
    'mmb2',
  ],
  [
    "UPDATE memberships SET permissions = '{' WHERE source = 'members:mmb3'",
    'missing entry',
    'members',
    'mmb3',
  ],
  [
    "UPDATE memberships SET source = 'members:mmb9' WHERE source = 'members:mmb4'",
    'stale entry',
    'members',
    'mmb9',
  ],
] as const

const REFUSED = [
  ["UPDATE o_4 SET value = '{' WHERE key = 'itma'", 'damaged', 'items', 'itma'],
  ["UPDATE o_4 SET key = 'itmz' WHERE key = 'itmb'", 'damaged', 'items', 'itmz'],
  ["UPDATE users SET data = '{' WHERE id = 'bob'", 'damaged', 'users', 'bob'],
  [
    "INSERT INTO clients (id, secret_hash, scopes, created) VALUES ('c', '', '[', 1)",
    'damaged',
    'clients',
    'c',
  ],
  ["UPDATE realm_ids SET id = 'rlm2' WHERE id = 'rlm1'", 'contradictory', 'members', 'mmb1'],
  [
    "UPDATE database SET next_seq = (SELECT seq FROM o_4 WHERE key = 'itme')",
    'contradictory',
    'items',
    'itme',
  ],
] as const

describe('satchel verify', () => {
  test('finds nothing in a sound database, stopped or served', async () => {
    using satchel = await setup()
    const { exitCode, stdout } = await satchel.say('verify')
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^Checked \d+ rows\nNo problems were found\n$/),
    })
    expect(await satchel.verify('--accept')).toMatchObject({ exitCode: 0, found: 0 })
    await using server = await setupData()
    const served = await runJson<Verification>(['verify', '--data', server.folder])
    expect(served).toMatchObject({ found: 0, faults: [] })
  })

  test('names each kind of damage, and accepts it when it is told to', async () => {
    using satchel = await setup()
    for (const [sql] of ACCEPTED) expect(byHand(satchel.path, sql), sql).toBeGreaterThan(0)
    const { exitCode, faults } = await satchel.verify()
    expect(exitCode).toBe(1)
    for (const [, ...fault] of ACCEPTED) {
      expect(faults.map(({ problem, table, key }) => [problem, table, key])).toContainEqual(fault)
    }
    expect(await satchel.verify('--accept')).toMatchObject({ exitCode: 0, found: 0 })
    expect(await satchel.verify()).toMatchObject({ exitCode: 0, found: 0 })
  })

  test('does not accept rows that contradict themselves', async () => {
    using satchel = await setup()
    for (const [sql] of REFUSED) expect(byHand(satchel.path, sql), sql).toBeGreaterThan(0)
    const { exitCode, faults } = await satchel.verify('--accept')
    expect(exitCode).toBe(1)
    for (const [, ...fault] of REFUSED) {
      expect(faults.map(({ problem, table, key }) => [problem, table, key])).toContainEqual(fault)
    }
    const { stderr, stdout } = await satchel.say('verify', '--accept')
    expect(stderr).toMatch(/problems cannot be accepted: replace or delete/)
    expect(stdout).toMatch(/^Checked \d+ rows\nPROBLEM +TABLE +KEY\n/)
  })

  test('gives accepted objects a new revision, and finds them by their new values', async () => {
    using satchel = await setup()
    byHand(satchel.path, "UPDATE o_4 SET value = replace(value, 'DE', 'SE') WHERE key = 'itma'")
    expect(await satchel.verify('--accept')).toMatchObject({ exitCode: 0 })
    const { stdout } = await satchel.say('export', '--table', 'items')
    expect(stdout).toContain('"country":"SE"')
    expect(await satchel.verify()).toMatchObject({ exitCode: 0 })
  })

  test('names what SQLite finds in the structure of the file', async () => {
    using satchel = await setup()
    const file = join(satchel.path, 'databases', 'main', 'database.sqlite')
    const bytes = readFileSync(file)
    // The first entry of the index stands at the end of its page, and ends in the position of its row.
    const end = PAGE * rootOf(file, 'o_4_realm')
    bytes[end - 1] = (bytes[end - 1] ?? 0) + 100
    writeFileSync(file, bytes)
    const { exitCode, faults } = await satchel.verify()
    expect(exitCode).toBe(1)
    expect(faults[0]).toMatchObject({ problem: 'broken file', table: 'database.sqlite' })
  })
})

const PAGE = 4096

function rootOf(file: string, name: string): number {
  using db = new Database(file, { readonly: true })
  using statement = db.prepare<{ rootpage: number }, [string]>(
    'SELECT rootpage FROM sqlite_schema WHERE name = ?',
  )
  return statement.get(name)?.rootpage ?? 0
}

describe('satchel export', () => {
  test.each(['ndjson', 'json', 'zip'])(
    'as %s names damaged objects, goes on and ends with 1',
    async (format) => {
      using satchel = await setup()
      byHand(satchel.path, "UPDATE o_4 SET value = replace(value, 'DE', 'SE') WHERE key = 'itma'")
      const file = join(satchel.path, `all.${format}`)
      const { exitCode, stdout, stderr } = await satchel.say('export', file)
      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr:
          'satchel: 1 object is damaged and left out (satchel verify lists all damage):\n  "itma" of "items"\n',
      })
      expect(stdout).toStartWith('Exported ')
      using other = temporaryFolder()
      await runJson(['db', 'create', 'main', '--data', other.path])
      const imported = await runJson<{ objects: number }>(['import', file, '--data', other.path])
      // Three other items, a realm and its four members.
      expect(imported.objects).toBe(8)
    },
  )
})
