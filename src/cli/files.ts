import { statSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { UsageError } from '../config/config'
import type { Cli } from './command'

export interface Input {
  readonly bytes: ReadableStream<Uint8Array>
  /** In bytes, or null when unknown. */
  readonly size: number | null
}

/** A file, or standard input for `-`. Throws `UsageError` when there is none. */
export function openInput({ terminal }: Cli, path: string): Input {
  if (path === '-') return { bytes: terminal.input(), size: null }
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) throw new UsageError(`There is no file ${path}`)
  if (stats.isDirectory()) throw new UsageError(`${path} is a folder: give a file`)
  return { bytes: Bun.file(path).stream(), size: stats.isFile() ? stats.size : null }
}

/**
 * Lets `work` write the file `path`. The file appears, or replaces an older one, when it is complete. Throws `UsageError` when it cannot be written.
 */
export async function writeWhole<T>(
  path: string,
  work: (write: (bytes: Uint8Array) => Promise<void>) => Promise<T>,
): Promise<T> {
  const draft = `${path}.part`
  const file = await openDraft(draft, path)
  try {
    const result = await work((bytes) => file.appendFile(bytes))
    await file.sync()
    await file.close()
    await rename(draft, path)
    return result
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(draft, { force: true })
    throw error
  }
}

async function openDraft(draft: string, path: string): Promise<FileHandle> {
  try {
    return await open(draft, 'w', 0o600)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${path} cannot be written: ${reason}`, { cause: error })
  }
}
