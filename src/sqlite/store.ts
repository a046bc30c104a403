import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { SatchelError, quoted } from '../domain/error'
import { isDatabaseName, requireDatabaseName } from '../domain/database'
import type { Database, Store } from '../domain/store'
import { type DatabaseOptions, openDatabase } from './database'

/**
 * The databases below `<folder>/databases`, one folder each (design.md §2). The caller holds the
 * lock of the data folder.
 */
export function createSqliteStore(folder: string, options: DatabaseOptions): Store {
  const root = join(folder, 'databases')
  const open = new Map<string, Database>()

  const folderOf = (name: string) => join(root, name)
  const has = (name: string) => existsSync(join(folderOf(name), 'database.sqlite'))

  function opened(name: string): Database {
    const found = open.get(name)
    if (found !== undefined) return found
    const onClose = () => open.delete(name)
    const database = openDatabase(name, folderOf(name), { ...options, onClose })
    open.set(name, database)
    return database
  }

  return {
    list: () => (existsSync(root) ? readdirSync(root).filter(has).toSorted() : []),
    has: (name) => isDatabaseName(name) && has(name),
    async open(name) {
      if (!isDatabaseName(name) || !has(name)) {
        throw new SatchelError('UNKNOWN_DATABASE', `There is no database ${quoted(name)} here`)
      }
      return opened(name)
    },
    async create(name) {
      requireDatabaseName(name)
      if (has(name)) throw new SatchelError('CONFLICT', `The database ${name} exists already`)
      mkdirSync(root, { recursive: true, mode: 0o700 })
      return opened(name)
    },
    async remove(name) {
      if (!isDatabaseName(name) || !has(name)) {
        throw new SatchelError('UNKNOWN_DATABASE', `There is no database ${quoted(name)} here`)
      }
      await open.get(name)?.[Symbol.asyncDispose]()
      rmSync(folderOf(name), { recursive: true })
    },
    async [Symbol.asyncDispose]() {
      for (const database of Array.from(open.values())) await database[Symbol.asyncDispose]()
    },
  }
}
