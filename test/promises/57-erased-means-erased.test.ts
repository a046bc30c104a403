import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runJson, runSatchel } from '../cli/setup'
import { BOB, setupData } from '../http/setup'
import { temporaryFolder } from '../setup'

const MARK = 'marked-for-erasure'
const USER = `${MARK}@example.com`

/** A client that inserts an object, and one by criteria, and is remembered. */
const MUT = { txid: MARK, userId: USER, ts: Date.UTC(2030, 0, 1), keys: [] }
const SYNC = {
  headers: { 'content-type': 'application/tson' },
  body: JSON.stringify({
    v: 3,
    clientIdentity: MARK,
    schema: { plain: { markedForSync: true, initiallySynced: true, primaryKey: 'id' } },
    baseRevs: [],
    changes: [
      {
        table: 'plain',
        muts: [
          { ...MUT, type: 'insert', keys: [`${MARK}-synced`], values: [{ text: MARK }] },
          {
            ...MUT,
            txid: `${MARK}2`,
            type: 'modify',
            criteria: { index: null, range: { type: 1, lower: MARK, upper: MARK } },
            changeSpec: { seen: MARK },
          },
        ],
      },
    ],
  }),
}

/** Promise 57: no file of the data folder has a byte of a user after `user delete` and `db compact`. */
test('promise 57: after user delete and db compact no file has marked bytes, with the server running', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  await using server = await setupData({ data })
  const { root } = server
  const alice = await server.as(USER)
  const bob = await server.as(BOB)
  expect((await alice.post('/my/realms', { realmId: 'rlmTeam', name: 'Team' })).status).toBe(200)
  const member = { realmId: 'rlmTeam', userId: BOB, permissions: { add: ['plain'] } }
  expect((await root.post('/all/members', member)).status).toBe(200)
  for (let batch = 0; batch < 10; batch += 1) {
    const rows = Array.from({ length: 40 }, (_, n) => ({
      id: `${MARK}-${batch}-${n}`,
      text: `${MARK} ${'x'.repeat(n * 300)}`,
    }))
    expect((await alice.post('/my/plain', rows)).status).toBe(200)
    const items = rows.map((_, n) => ({ country: `${MARK}${n}`, tags: [MARK, 'b'] }))
    expect((await alice.post('/my/items', items)).status).toBe(200)
    // Others write between them, into the same pages.
    expect(
      (await bob.post('/my/plain', { id: `his-${batch}`, text: 'y'.repeat(500) })).status,
    ).toBe(200)
  }
  const bytes = `${MARK} ${'z'.repeat(50_000)}`
  expect((await alice.send('PUT', '/blob/picture', { body: bytes })).status).toBe(200)
  expect((await alice.send('POST', '/sync', SYNC)).status).toBe(200)
  const profile = { userId: USER, type: 'prod', data: { displayName: MARK, email: USER } }
  expect((await root.post('/users', profile)).status).toBe(200)
  expect(marked(data).length).toBeGreaterThan(1)
  const deleted = await runSatchel(['user', 'delete', USER, '--yes', '--data', data])
  expect(deleted.stdout).toContain('some can stay in gaps of pages until satchel db compact')
  const compacted = await runJson(['db', 'compact', 'main', '--data', data])
  expect(compacted).toEqual({
    name: 'main',
    before: expect.any(Number),
    after: expect.any(Number),
    oldCopies: [],
  })
  expect(marked(data)).toEqual([])
  expect((await bob.get('/my/plain')).body).toHaveLength(10)
  expect((await root.get(`/users/${USER}`)).status).toBe(404)
})

/** The files below a folder in which the mark can be read. */
function marked(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(MARK))
}
