import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { listOldCopies, OLD_COPIES_KEPT_MS, removeOldCopies } from '../../src/sqlite/old-copies'
import { temporaryFolder } from '../setup'

const NOW = Date.UTC(2030, 0, 31)

test('copies from before an upgrade are listed by age, with their bytes, and removed when they are too old', () => {
  using folder = temporaryFolder()
  const young = put(
    folder.path,
    'todo',
    'database.sqlite.before-0002_more',
    NOW - OLD_COPIES_KEPT_MS,
  )
  const old = put(
    folder.path,
    'main',
    'database.sqlite.before-0001_init',
    NOW - OLD_COPIES_KEPT_MS - 1,
  )
  const files = ['database.sqlite', 'database.sqlite-wal', 'secret.key'].map((name) =>
    put(folder.path, 'main', name, 0),
  )
  const copies = [
    { database: 'main', file: old, bytes: 4, made: NOW - OLD_COPIES_KEPT_MS - 1 },
    { database: 'todo', file: young, bytes: 4, made: NOW - OLD_COPIES_KEPT_MS },
  ]
  expect(listOldCopies(folder.path)).toEqual(copies)
  expect(removeOldCopies(folder.path, NOW)).toEqual(copies.slice(0, 1))
  expect([existsSync(old), existsSync(young), ...files.map((file) => existsSync(file))]).toEqual([
    false,
    true,
    ...files.map(() => true),
  ])
})

test('a data folder without databases has no copies', () => {
  using folder = temporaryFolder()
  expect(listOldCopies(folder.path)).toEqual([])
})

function put(folder: string, database: string, name: string, made: number): string {
  const place = join(folder, 'databases', database)
  mkdirSync(place, { recursive: true })
  const file = join(place, name)
  writeFileSync(file, 'copy')
  utimesSync(file, made / 1000, made / 1000)
  return file
}
