import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { hasErrno } from '../disk'
import { parseSchemaFile } from '../domain/json/schema-file'
import { pushSchema } from '../domain/object/tables'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { OpenDatabase } from '../host/host'
import { because } from '../net/system-error'
import { importInto } from './transfers'

/** The path of a file or, for a seed, of a folder; or the bytes that came from standard input. */
export type Source = string | Blob

const STANDARD_INPUT = '-'
const NEWLINE = 10

/**
 * Reads standard input for the setting that is `-`. When both are, its first line is the schema and the
 * rest the seed.
 */
export async function readSources(
  schema: string | null,
  seed: string | null,
): Promise<{ readonly schema: Source | null; readonly seed: Source | null }> {
  if (schema !== STANDARD_INPUT && seed !== STANDARD_INPUT) return { schema, seed }
  const input = await Bun.stdin.bytes()
  if (seed !== STANDARD_INPUT) return { schema: new Blob([input]), seed }
  if (schema !== STANDARD_INPUT) return { schema, seed: new Blob([input]) }
  const end = input.includes(NEWLINE) ? input.indexOf(NEWLINE) : input.length
  return { schema: new Blob([input.subarray(0, end)]), seed: new Blob([input.subarray(end + 1)]) }
}

/**
 * Declares the tables of a schema file, or of the schema in an import file, as `satchel schema push`
 * does. Throws what it throws, with the path of the file.
 */
export async function declareSchema(
  { database, clock }: OpenDatabase,
  source: Source,
): Promise<void> {
  const { name, bytes } = fileAt(source)
  await naming(name, async () => {
    const schemas = parseSchemaFile(await bytes.text())
    await database.write((tx) => pushSchema(tx, schemas, clock.now()))
  })
}

/**
 * Imports a file, or all files of a folder in the order of their names, as `satchel import` does. Throws
 * what it throws, with the path of the file.
 */
export async function importSeed(
  folder: DataFolder,
  opened: OpenDatabase,
  source: Source,
): Promise<void> {
  for (const { name, bytes } of await filesAt(source)) {
    await naming(name, () =>
      importInto(folder, opened, bytes.stream(), {
        target: null,
        isAtomic: false,
        isDryRun: false,
        size: bytes.size,
        name: basename(name),
        progress: () => undefined,
        allow: () => undefined,
        signal: undefined,
      }),
    )
  }
}

interface SourceFile {
  /** The path, for errors. */
  readonly name: string
  readonly bytes: Blob
}

async function filesAt(source: Source): Promise<SourceFile[]> {
  if (typeof source !== 'string') return [fileAt(source)]
  const stats = await naming(source, () => stat(source))
  if (!stats.isDirectory()) return [fileAt(source)]
  const names = await readdir(source)
  return names
    .filter((name) => !name.startsWith('.'))
    .toSorted()
    .map((name) => fileAt(join(source, name)))
}

function fileAt(source: Source): SourceFile {
  if (typeof source !== 'string') return { name: 'standard input', bytes: source }
  return { name: source, bytes: Bun.file(source) }
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
