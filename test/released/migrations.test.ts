import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Migration, migrations } from '../../migrations/sqlite/index'
import { openConnection } from '../../src/sqlite/connection'
import { migrate } from '../../src/sqlite/prepare'
import { temporaryFolder } from '../setup'
import { hashOf, type Release, RELEASED } from './releases'

const FIRST: Migration = { name: '0001_first', sql: 'CREATE TABLE a (id INTEGER) STRICT;' }
const SECOND: Migration = { name: '0002_second', sql: 'ALTER TABLE a ADD COLUMN more TEXT;' }
const SYNTHETIC: readonly Release[] = [
  { version: '0.1.0', hashes: [hashOf(FIRST)] },
  { version: '0.2.0', hashes: [FIRST, SECOND].map(hashOf) },
]

describe('a database', () => {
  test.each([
    ...RELEASED.map((release) => [release.version, release, migrations] as const),
    ...SYNTHETIC.map(
      (release) => [`synthetic ${release.version}`, release, [FIRST, SECOND]] as const,
    ),
  ])('of version %s becomes one of this version', (_, release, list) => {
    expect(upgradedFrom(release, list)).toEqual(schemaOf(list))
  })
})

describe('the comparison', () => {
  test.each([
    ['edited', [{ ...FIRST, sql: `${FIRST.sql} -- edited` }, SECOND]],
    ['removed', [SECOND]],
    ['reordered', [SECOND, FIRST]],
  ])('notices a released migration that was %s', (_, list) => {
    for (const release of SYNTHETIC)
      expect(() => upgradedFrom(release, list)).toThrow(release.version)
  })

  test('notices one that does not run on released data', () => {
    const broken = { name: '0003_broken', sql: 'ALTER TABLE b ADD COLUMN more TEXT;' }
    for (const release of SYNTHETIC) {
      expect(() => upgradedFrom(release, [FIRST, SECOND, broken])).toThrow('no such table: b')
    }
  })
})

/** The schema of a file that a release made and this list migrated. */
function upgradedFrom({ version, hashes }: Release, list: readonly Migration[]): unknown[] {
  const released = list.slice(0, hashes.length)
  if (hashes.some((hash, position) => hash !== hashOf(released[position]))) {
    throw new Error(`the migrations of version ${version} were edited after its release`)
  }
  return schemaOf(released, list)
}

/** The schema that the lists lead to, one after the other. */
function schemaOf(...lists: readonly (readonly Migration[])[]): unknown[] {
  using folder = temporaryFolder()
  const connection = openConnection(join(folder.path, 'database.sqlite'), 'write', 'none')
  try {
    for (const list of lists) migrate(connection, () => undefined, list)
    expect(connection.db.query('PRAGMA integrity_check').values()).toEqual([['ok']])
    return connection.db.query('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
  } finally {
    connection.close()
  }
}
