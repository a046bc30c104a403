import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hasErrno } from '../disk'
import { parseSchemaFile } from '../domain/json/schema-file'
import { pushSchema } from '../domain/object/tables'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { Host } from '../host/host'
import { because } from '../net/system-error'
import { importInto } from './transfers'

/**
 * Declares the tables of a schema file, or of the schema in an import file, as `satchel schema push`
 * does. Throws what it throws, with the path of the file.
 */
export async function declareSchema({ database, clock }: Host, path: string): Promise<void> {
  await naming(path, async () => {
    const schemas = parseSchemaFile(await Bun.file(path).text())
    await database.write((tx) => pushSchema(tx, schemas, clock.now()))
  })
}

/**
 * Imports a file, or all files of a folder in the order of their names, as `satchel import` does. Throws
 * what it throws, with the path of the file.
 */
export async function importSeed(folder: DataFolder, host: Host, path: string): Promise<void> {
  for (const file of await filesAt(path)) {
    await naming(file, () =>
      importInto(folder, host, Bun.file(file).stream(), {
        target: null,
        isAtomic: false,
        isDryRun: false,
        size: Bun.file(file).size,
        name: basename(file),
        progress: () => undefined,
        signal: undefined,
      }),
    )
  }
}

async function filesAt(path: string): Promise<string[]> {
  const stats = await naming(path, () => stat(path))
  if (!stats.isDirectory()) return [path]
  const names = await readdir(path)
  return names
    .filter((name) => !name.startsWith('.'))
    .toSorted()
    .map((name) => join(path, name))
}

async function naming<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SatchelError) {
      throw new SatchelError(error.code, `${path}: ${error.message}`, { cause: error })
    }
    if (hasErrno(error, 'ENOENT', 'EACCES', 'EISDIR')) {
      throw new SatchelError('INVALID_REQUEST', `${path} cannot be read${because(error)}`, {
        cause: error,
      })
    }
    throw error
  }
}
