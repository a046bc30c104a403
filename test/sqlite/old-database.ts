import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { migrations } from '../../migrations/sqlite/index'
import { openConnection } from '../../src/sqlite/connection'
import { migrate } from '../../src/sqlite/migrate'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

/** Every version there was, by the name of its last migration. */
export const VERSIONS: readonly string[] = migrations.map(({ name }) => name)

/**
 * The database `main`, opened by the program of now after `version` made it and these statements were
 * run on it.
 */
export async function openOldDatabase(version: string, ...statements: string[]) {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const place = join(folder.path, 'databases', 'main')
  mkdirSync(place, { recursive: true })
  const connection = openConnection(join(place, 'database.sqlite'), 'write', 'none')
  migrate(connection, () => undefined, migrations.slice(0, VERSIONS.indexOf(version) + 1))
  for (const statement of statements) connection.db.run(statement)
  connection.close()
  const clock = createTestClock()
  const store = undo.use(createSqliteStore(folder.path, { clock, durability: 'none' }))
  const database = await store.open('main')
  const parts = undo.move()
  return { database, clock, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}
