import { existsSync, readdirSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { isDatabaseName } from '../domain/value/database-name'
import { lastDoneIn } from '../sqlite/registry'

/** A data folder as anybody sees it who may read its files: nothing is locked, opened or written. */
export interface FolderView {
  readonly databases: readonly DatabaseView[]
  readonly disk: DiskView
  /** When the latest backup that was sent as a whole began, ms; null when none of the last year is known. */
  readonly lastBackup: number | null
}

export interface DatabaseView {
  readonly name: string
  /** The file with its rows, and the log before it. */
  readonly bytes: number
  readonly logBytes: number
}

/** The disk below a folder. */
export interface DiskView {
  readonly freeBytes: number
  readonly sizeBytes: number
}

/** Looks at a data folder, whether a server has it or not. Throws what the file system says. */
export async function viewFolder(path: string): Promise<FolderView> {
  const root = join(path, 'databases')
  const names = existsSync(root) ? readdirSync(root).filter(isDatabaseName).toSorted() : []
  return {
    databases: names.flatMap((name) => viewDatabase(name, join(root, name, 'database.sqlite'))),
    disk: await viewDisk(path),
    lastBackup: lastDoneIn(path, ['backup', 'backup.make']),
  }
}

/** None for a folder that has no database. */
function viewDatabase(name: string, file: string): DatabaseView[] {
  const bytes = sizeOf(file)
  return bytes === undefined ? [] : [{ name, bytes, logBytes: sizeOf(`${file}-wal`) ?? 0 }]
}

function sizeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.size
}

export async function viewDisk(path: string): Promise<DiskView> {
  const { bavail, blocks, bsize } = await statfs(path)
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
}
