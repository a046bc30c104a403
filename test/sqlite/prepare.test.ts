import { describe, expect, test } from 'bun:test'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Migration, migrations } from '../../migrations/sqlite/index'
import { SatchelError } from '../../src/domain/value/error'
import { type Connection, openConnection } from '../../src/sqlite/connection'
import { makeBlank, migrate, prepareFile } from '../../src/sqlite/prepare'
import { createTestClock } from '../auth/setup'
import { type TemporaryFolder, temporaryFolder } from '../setup'

const FIRST: Migration = {
  name: '0001_first',
  sql: 'CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT) STRICT; INSERT INTO things VALUES (1, NULL);',
}
const SECOND: Migration = { name: '0002_second', sql: "UPDATE things SET name = 'second';" }
const THIRD: Migration = { name: '0003_third', sql: 'ALTER TABLE things ADD COLUMN more TEXT;' }
const BROKEN: Migration = {
  name: '0003_broken',
  sql: "UPDATE things SET name = 'broken'; CREATE TABLE half (id INTEGER); SELECT nonsense;",
}

describe('migrating', () => {
  test('a new file applies all, each once, in order', () => {
    using file = openFile()
    expect(file.migrate([FIRST, SECOND, THIRD])).toEqual([])
    expect(file.rows('SELECT * FROM things')).toEqual([{ id: 1, name: 'second', more: null }])
    expect(file.rows('SELECT number, name FROM migrations')).toEqual([
      { number: 1, name: '0001_first' },
      { number: 2, name: '0002_second' },
      { number: 3, name: '0003_third' },
    ])
    expect(file.migrate([FIRST, SECOND, THIRD])).toEqual([])
  })

  test('an older file applies what is new, after a backup named by what it had', () => {
    using file = openFile()
    file.migrate([FIRST])
    expect(file.migrate([FIRST, SECOND, THIRD])).toEqual(['0001_first'])
    expect(file.rows('SELECT name, more FROM things')).toEqual([{ name: 'second', more: null }])
  })

  test('refuses a file that a newer program wrote, and leaves it alone', () => {
    using file = openFile()
    file.migrate([FIRST, SECOND])
    expect(file.refusal([FIRST])).toMatchObject({
      code: 'NEWER_DATA',
      message: expect.stringContaining('0002_second'),
    })
    expect(file.refusal([FIRST, SECOND])).toBeUndefined()
  })

  test.each([
    ['edited', [{ ...FIRST, sql: `${FIRST.sql} -- edited` }, SECOND]],
    ['renamed', [{ ...FIRST, name: '0001_other' }, SECOND]],
    ['swapped', [SECOND, FIRST]],
  ])('refuses a history that was %s, naming the migration', (_, list) => {
    using file = openFile()
    file.migrate([FIRST])
    expect(file.refusal(list)).toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining('0001_first'),
    })
    expect(file.rows('SELECT name FROM things')).toEqual([{ name: null }])
  })

  test('tells what to do with data of another build', () => {
    using file = openFile()
    file.migrate([FIRST])
    expect(file.refusal([{ ...FIRST, sql: `${FIRST.sql} -- edited` }])?.message).toBe(
      'Another build of Satchel made this data (its migration 0001_first is not the one here): export it with that build, then import it into a new database here',
    )
  })

  test('leaves the file as it was when one of several fails', () => {
    using file = openFile()
    file.migrate([FIRST])
    const before = file.rows('SELECT * FROM sqlite_schema')
    expect(() => file.migrate([FIRST, SECOND, BROKEN])).toThrow('nonsense')
    expect(file.rows('SELECT * FROM sqlite_schema')).toEqual(before)
    expect(file.rows('SELECT name FROM things')).toEqual([{ name: null }])
    expect(file.migrate([FIRST, SECOND])).toEqual(['0001_first'])
  })

  test('does nothing to a file when its backup fails', () => {
    using file = openFile()
    file.migrate([FIRST])
    const failure = new Error('no room for a copy')
    const attempt = () =>
      migrate(
        file.connection,
        () => {
          throw failure
        },
        [FIRST, SECOND],
      )
    expect(attempt).toThrow(failure)
    expect(file.rows('SELECT name FROM things')).toEqual([{ name: null }])
  })

  test('refuses a database that is not ours', () => {
    using file = openFile()
    file.connection.db.run('CREATE TABLE photos (id INTEGER)')
    expect(file.refusal([FIRST])).toMatchObject({ code: 'STORAGE_FAILED' })
    expect(file.rows('SELECT name FROM sqlite_schema')).toEqual([{ name: 'photos' }])
  })
})

test('the new file in the executable is a migrated one without an identity', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'blank.sqlite')
  writeFileSync(path, makeBlank())
  using blank = openFile(path)
  using file = openFile()
  prepareFile(file.connection, file.path, createTestClock())
  const tables = tablesOf(file)
  expect(tables).toContain('realm_ids')
  for (const table of ['sqlite_schema', ...tables]) {
    const isOwn = table === 'database' || table === 'runs'
    const sql = `SELECT * FROM "${table}"`
    expect({ table, rows: blank.rows(sql) }).toEqual({ table, rows: isOwn ? [] : file.rows(sql) })
  }
  prepareFile(blank.connection, path, createTestClock())
  for (const table of tables) {
    const sql = `SELECT count(*) AS count FROM "${table}"`
    expect({ table, rows: blank.rows(sql) }).toEqual({ table, rows: file.rows(sql) })
  }
  expect(blank.rows('SELECT id FROM database')).not.toEqual(file.rows('SELECT id FROM database'))
})

function tablesOf({ connection }: TestFile): string[] {
  using tables = connection.db.prepare<{ name: string }, []>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name",
  )
  return tables.all().map(({ name }) => name)
}

describe('the backup before a migration', () => {
  test('is a complete database with all commits, for its owner only', () => {
    using file = openFile()
    prepareFile(file.connection, file.path, createTestClock())
    file.connection.db.run("INSERT INTO origins (id, created) VALUES ('https://a.example', 1)")
    const next = { name: '0002_next', sql: 'CREATE TABLE next (id INTEGER) STRICT;' }
    prepareFile(file.connection, file.path, createTestClock(), [...migrations, next])
    const name = `database.sqlite.before-${migrations.at(-1)?.name}`
    expect(readdirSync(file.folder).filter((entry) => entry.includes('before'))).toEqual([name])
    const copy = join(file.folder, name)
    expect(statSync(copy).mode & 0o777).toBe(0o600)
    using old = openFile(copy)
    expect(old.rows('SELECT id FROM origins')).toEqual([{ id: 'https://a.example' }])
    expect(old.rows("SELECT name FROM sqlite_schema WHERE name = 'next'")).toEqual([])
    expect(old.rows('PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }])
  })

  test('replaces one that an earlier attempt left', () => {
    using file = openFile()
    prepareFile(file.connection, file.path, createTestClock())
    const broken = { name: '0002_broken', sql: 'SELECT nonsense;' }
    for (const origin of ['https://a.example', 'https://b.example']) {
      file.connection.db.run('INSERT INTO origins (id, created) VALUES (?, 1)', [origin])
      expect(() =>
        prepareFile(file.connection, file.path, createTestClock(), [...migrations, broken]),
      ).toThrow('nonsense')
    }
    using old = openFile(`${file.path}.before-${migrations.at(-1)?.name}`)
    expect(old.rows('SELECT id FROM origins')).toHaveLength(2)
    expect(file.rows('SELECT id FROM origins')).toHaveLength(2)
  })
})

interface TestFile extends Disposable {
  readonly folder: string
  readonly path: string
  readonly connection: Connection
  rows(sql: string): unknown[]
  /** Migrates; the versions that were backed up. */
  migrate(list: readonly Migration[]): string[]
  refusal(list: readonly Migration[]): SatchelError | undefined
}

function openFile(existing?: string): TestFile {
  const folder: TemporaryFolder = temporaryFolder()
  const path = existing ?? join(folder.path, 'database.sqlite')
  const connection = openConnection(path, 'write', 'none')
  const run = (list: readonly Migration[]) => {
    const versions: string[] = []
    migrate(connection, (version) => versions.push(version), list)
    return versions
  }
  return {
    folder: folder.path,
    path,
    connection,
    rows: (sql) => connection.db.query(sql).all(),
    migrate: run,
    refusal(list) {
      try {
        run(list)
        return undefined
      } catch (error) {
        if (error instanceof SatchelError) return error
        throw error
      }
    },
    [Symbol.dispose]() {
      connection.close()
      folder[Symbol.dispose]()
    },
  }
}
