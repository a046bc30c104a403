import { Database as SqliteDatabase } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../src/domain/store/store'
import { declareIn, ensureRealm, eraseAll, fresh, NOW } from '../contract/fixture'
import { until } from '../timing'
import { setupDatabase } from './setup'

const MARK = 'marked-for-erasure'

test('the bytes of erased rows are in no file, although nobody writes afterwards', async () => {
  await using opened = setupDatabase()
  const { database, folder, file, reports } = opened
  await writeMarked(database)
  expect(marked(folder)).not.toEqual([])
  await erase(database)
  await until(() => statSync(`${file}-wal`).size === 0)
  expect(marked(folder)).toEqual([])
  expect(reports).toEqual([])
})

test('a reader keeps erased rows in the log until it is gone', async () => {
  await using opened = setupDatabase()
  const { database, folder, file, reports } = opened
  await writeMarked(database)
  const reader = new SqliteDatabase(file)
  reader.run('BEGIN')
  reader.query('SELECT count(*) FROM o_4').get()
  await erase(database)
  expect(marked(folder)).not.toEqual([])
  reader.run('COMMIT')
  reader.close()
  await until(() => statSync(`${file}-wal`).size === 0)
  expect(marked(folder)).toEqual([])
  expect(reports).toEqual([])
})

/** Rows of every size that a page, a part of one and a chain of pages hold. */
async function writeMarked(database: Database): Promise<void> {
  const table = await declareIn(database, 'things')
  const realm = await ensureRealm(database, 'rlm-gone')
  await database.write((tx) => {
    const rows = Array.from({ length: 60 }, (_, at) => {
      const value = JSON.stringify({ text: `${MARK} ${'x'.repeat(at * 400)}` })
      return fresh(`key${at}`, { realm, value })
    })
    tx.objects.put(table, rows, NOW)
  })
}

async function erase(database: Database): Promise<void> {
  const realm = await ensureRealm(database, 'rlm-gone')
  await database.write((tx) => tx.realms.markErasing(realm))
  await eraseAll(database, realm)
}

/** The files of the folder in which the mark can be read. */
function marked(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(MARK))
}
