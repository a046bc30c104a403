import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { syncPathNow } from '../disk'
import { SatchelError, quoted } from '../domain/value/error'
import { isDatabaseName, requireDatabaseName } from '../domain/database/name'
import type { Database, Store } from '../domain/store/store'
import { type DatabaseOptions, openDatabase } from './database'
import { createLeftovers } from './leftovers'

/**
 * The databases below `<folder>/databases`, one folder each (design.md §2). The caller holds the
 * lock of the data folder.
 */
export function createSqliteStore(folder: string, options: DatabaseOptions): Store {
  const root = join(folder, 'databases')
  const open = new Map<string, Database>()
  const leaving = new Set<string>()
  const syncRoot = () => (options.durability === 'none' ? undefined : syncPathNow(root))
  const leftovers = createLeftovers(root, syncRoot, (name, error) => options.report?.(name, error))

  const folderOf = (name: string) => join(root, name)
  const has = (name: string) =>
    isDatabaseName(name) && existsSync(join(folderOf(name), 'database.sqlite'))

  function requireKnown(name: string): void {
    if (has(name) && !leaving.has(name)) return
    throw new SatchelError('UNKNOWN_DATABASE', `There is no database ${quoted(name)} here`)
  }

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
    has,
    async open(name) {
      requireKnown(name)
      return opened(name)
    },
    async create(name) {
      requireDatabaseName(name)
      if (has(name)) throw new SatchelError('CONFLICT', `The database ${name} exists already`)
      const isNew = !existsSync(folderOf(name))
      try {
        const database = opened(name)
        // What is in a new folder is safe from power loss when the names on the way to it are.
        if (options.durability !== 'none') [folderOf(name), root, folder].forEach(syncPathNow)
        return database
      } catch (error) {
        await open.get(name)?.[Symbol.asyncDispose]()
        if (isNew && existsSync(folderOf(name))) await leftovers.discard(folderOf(name))
        throw error
      }
    },
    async remove(name) {
      requireKnown(name)
      leaving.add(name)
      try {
        await open.get(name)?.[Symbol.asyncDispose]()
        await leftovers.discard(folderOf(name))
      } finally {
        leaving.delete(name)
      }
    },
    async [Symbol.asyncDispose]() {
      for (const database of Array.from(open.values())) await database[Symbol.asyncDispose]()
      await leftovers[Symbol.asyncDispose]()
    },
  }
}
