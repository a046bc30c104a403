import { renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPathNow } from '../disk'
import type { Compacted } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import type { Durability } from './durability'
import { checkStructure, runFileTask } from './file-task'
import { removeCopy } from './prepare'
import { sizeOf } from './private-file'

/** How often the progress is looked at, ms. */
const LOOK_EVERY_MS = 200

/**
 * Writes a database file anew, which is not open, so that nothing is left of removed rows: neither in gaps of its
 * pages nor in its log. `progress` gets bytes. Throws `STORAGE_FULL` and `STORAGE_FAILED`; then the file is as it was.
 */
export async function compactFile(
  file: string,
  durability: Durability,
  progress: (done: number, total: number) => void = () => undefined,
): Promise<Compacted> {
  const draft = draftOf(file)
  const before = sizeOf(file)
  try {
    const timer = setInterval(
      () => progress(Math.min(sizeOf(draft), before), before),
      LOOK_EVERY_MS,
    )
    try {
      await runFileTask({ kind: 'rewrite', file, draft, durability })
      await requireSound(draft)
    } finally {
      clearInterval(timer)
    }
    exchange(draft, file)
  } catch (error) {
    removeCopy(draft)
    throw explained(error, file, before)
  }
  return { before, after: sizeOf(file) }
}

/** Removes what a rewriting that was interrupted has left. */
export function removeDraft(file: string): void {
  removeCopy(draftOf(file))
}

function draftOf(file: string): string {
  return `${file}.compacting`
}

/** SQLite would mix the new file with a log of the old one: that is gone, for good, before. */
function exchange(draft: string, file: string): void {
  if (sizeOf(`${file}-wal`) > 0) throw new Error('another process works on it')
  for (const log of [`${file}-wal`, `${file}-shm`]) rmSync(log, { force: true })
  syncPathNow(dirname(file))
  renameSync(draft, file)
  syncPathNow(dirname(file))
}

async function requireSound(file: string): Promise<void> {
  const [damage] = await checkStructure(file, 'none')
  if (damage !== undefined) throw new Error(`it cannot be written anew: ${damage}`)
}

function explained(error: unknown, file: string, bytes: number): unknown {
  if (error instanceof SatchelError && error.code !== 'STORAGE_FULL') return error
  if (error instanceof SatchelError) {
    return new SatchelError(
      'STORAGE_FULL',
      `${file} needs room to be written anew, up to ${bytes} bytes: free some space. Nothing was changed`,
      { cause: error },
    )
  }
  const words = error instanceof Error ? error.message : String(error)
  return new SatchelError('STORAGE_FAILED', `${file} is as it was: ${words}`, { cause: error })
}
