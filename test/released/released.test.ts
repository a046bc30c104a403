import { Database as SqliteDatabase } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { type Migration, migrations } from '../../migrations/sqlite/index'
import * as schema from '../../src/sqlite/schema'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock, refusalOf } from '../auth/setup'
import { runSatchel } from '../cli/setup'
import { temporaryFolder, startAgain } from '../setup'
import { getTableName } from 'drizzle-orm'
import { pack, unpack } from './archive'
import { contentOf, databaseFile, rowsAsIn } from './content'
import { type Facts, makeData } from './generate'
import { archiveOf, RELEASED } from './releases'

/** The migration that a later version adds. */
const NEXT: Migration = { name: '9999_next', sql: 'ALTER TABLE jobs ADD COLUMN more TEXT;' }

/** Half a megabyte in a checkout for each release. */
const MOST_BYTES = 1_000_000

let made: Promise<Uint8Array> | undefined

/** The folder that this version makes, packed as the next release is. */
function makeOwn(): Promise<Uint8Array> {
  return (made ??= (async () => {
    using folder = temporaryFolder()
    return await pack(folder.path, await makeData(folder.path))
  })())
}

describe.each([...RELEASED.map((release) => release.version), 'this one'])(
  'a data folder of version %s',
  (release) => {
    const bytes = async () =>
      release === 'this one' ? await makeOwn() : readFileSync(archiveOf(release))

    test('is small', async () => {
      expect((await bytes()).length).toBeLessThan(MOST_BYTES)
    })

    test('holds all that it held, and the job that was half done is completed', async () => {
      using folder = temporaryFolder()
      const { content } = await unpack<Facts>(await bytes(), folder.path)
      const jobs = () => rowsIn(databaseFile(folder.path), 'SELECT kind, done FROM jobs')
      expect(jobs()).toEqual([{ kind: 'erase', done: 100 }])
      await expectContent(folder.path, content)
      await runSatchel(['db', 'compact', 'main', '--data', folder.path])
      expect(jobs()).toEqual([])
      expect(rowsIn(databaseFile(folder.path), LEAVING)).toEqual([{ left: 0 }])
      await expectContent(folder.path, content)
      for (const command of ['verify', 'blob verify']) {
        const args = [...command.split(' '), '--data', folder.path]
        expect(await runSatchel(args)).toMatchObject({ exitCode: 0, stderr: '' })
      }
    })

    test('is served: its client logs in, and reads what is there', async () => {
      using folder = temporaryFolder()
      const { client } = await unpack<Facts>(await bytes(), folder.path)
      await using server = await startAgain(folder.path)
      const token = await fetch(`${server.url}/main/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          grant_type: 'client_credentials',
          client_id: client.clientId,
          client_secret: client.clientSecret,
          scopes: ['ACCESS_DB', 'GLOBAL_READ'],
        }),
      })
      expect(token.status).toBe(200)
      const { accessToken } = (await token.json()) as { accessToken: string }
      const headers = { authorization: `Bearer ${accessToken}` }
      const picture = await fetch(`${server.url}/main/blob/1:picture`, { headers })
      expect(await picture.text()).toBe('the bytes of a picture')
    })

    test('is copied before a later version changes it, which this version refuses then', async () => {
      using folder = temporaryFolder()
      const { content } = await unpack<Facts>(await bytes(), folder.path)
      const file = databaseFile(folder.path)
      const [before] = rowsIn(file, 'SELECT name FROM migrations ORDER BY number DESC')
      const options = { clock: createTestClock(), durability: 'none' } as const
      const later = { ...options, migrations: [...migrations, NEXT] }
      {
        await using store = createSqliteStore(folder.path, later)
        const database = await store.open('main')
        expect(await database.read((tx) => tx.jobs.list())).toMatchObject([{ done: 100 }])
      }
      expect(rowsAsIn(folder.path, content.rows)).toEqual(content.rows)
      await using store = createSqliteStore(folder.path, options)
      const refusal = await refusalOf(() => store.open('main'))
      expect(refusal).toMatchObject({
        code: 'NEWER_DATA',
        message: expect.stringContaining(
          `written by Satchel ${version} (migration 9999_next), and this is Satchel ${version}`,
        ),
      })
      // The copy is the way back.
      using old = temporaryFolder()
      mkdirSync(join(old.path, 'databases', 'main'), { recursive: true })
      const copy = `${file}.before-${String(before?.['name'])}`
      await Bun.write(databaseFile(old.path), Bun.file(copy))
      expect(rowsAsIn(old.path, content.rows)).toEqual(content.rows)
    })
  },
)

test('the folder has rows in every table', async () => {
  using folder = temporaryFolder()
  await unpack<Facts>(await makeOwn(), folder.path)
  const file = databaseFile(folder.path)
  const tables = Object.values(schema).map((table) => getTableName(table))
  const empty = tables.filter((table) => rowsIn(file, `SELECT 1 FROM "${table}"`).length === 0)
  expect(empty).toEqual([])
  const kept = readdirSync(join(folder.path, 'databases', 'main'))
  expect(kept.toSorted()).toEqual(['blobs', 'database.sqlite', 'secret.key'])
})

const LEAVING = "SELECT count(*) AS left FROM o_5 WHERE key GLOB 'leaving*'"

async function expectContent(data: string, content: Facts['content']): Promise<void> {
  const { shown, exported } = await contentOf(data)
  // Commands of the test add lines.
  const known = content.shown['audit'] as { readonly data: readonly unknown[] }
  const audit = shown['audit'] as typeof known
  shown['audit'] = { ...audit, data: audit.data.slice(0, known.data.length) }
  expect({ shown, exported, rows: rowsAsIn(data, content.rows) }).toEqual({ ...content })
}

function rowsIn(file: string, sql: string): readonly Readonly<Record<string, unknown>>[] {
  using db = new SqliteDatabase(file)
  return db.query(sql).all() as Readonly<Record<string, unknown>>[]
}
