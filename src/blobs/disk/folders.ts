import { mkdirSync, readdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncPath } from '../../disk'
import { randomToken } from '../../domain/value/id'
import { isMissing, onDisk } from './failure'

/** The paths: `<folder>/ab/cd…` for a content (design.md §2), `<folder>/incoming` for uploads. */
export interface Folders {
  contentOf(hash: string): string
  shelfOf(hash: string): string
  /** Lies there while no record needs the content yet: after a crash it says where to look. */
  markOf(hash: string): string
  /** Where something new is written. No mark is called like this. */
  newDraft(): string
  /** Unfinished uploads: hashes of marks, and paths of all files in the folder. */
  unfinished(): Promise<{ readonly hashes: readonly string[]; readonly paths: readonly string[] }>
  /** All hashes, in no order. */
  contents(): AsyncGenerator<string>
  /** Makes what is missing of the folders; once. */
  prepare(): Promise<void>
}

const INCOMING = 'incoming'
const HASH = /^[\da-f]{64}$/
const SHELF = /^[\da-f]{2}$/
const REST = /^[\da-f]{62}$/
const SHELVES = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, '0'))

export function createFolders(folder: string, isDurable: boolean): Folders {
  const incoming = join(folder, INCOMING)
  let prepared: Promise<void> | undefined

  const shelfOf = (hash: string) => `${folder}/${requireHash(hash).slice(0, 2)}`

  /** All shelves at once: a new one would cost every early upload a wait for the disk. */
  async function make(): Promise<void> {
    const isNew = mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined
    const found = new Set(readdirSync(folder))
    const missing = [...SHELVES, INCOMING].filter((name) => !found.has(name))
    for (const name of missing) mkdirSync(join(folder, name), { mode: 0o700 })
    if (isDurable && missing.length > 0) await syncPath(folder)
    if (isDurable && isNew) await syncPath(dirname(folder))
  }

  return {
    shelfOf,
    contentOf: (hash) => `${shelfOf(hash)}/${hash.slice(2)}`,
    markOf: (hash) => `${incoming}/${requireHash(hash)}`,
    newDraft: () => `${incoming}/${randomToken(12)}`,
    async unfinished() {
      const names = await namesIn(incoming)
      const paths = names.map((name) => join(incoming, name))
      return { hashes: names.filter((name) => HASH.test(name)), paths }
    },
    async *contents() {
      for (const shelf of await namesIn(folder, SHELF)) {
        for (const rest of await namesIn(join(folder, shelf), REST)) yield shelf + rest
      }
    },
    prepare() {
      prepared ??= onDisk(make).catch((error: unknown) => {
        prepared = undefined
        throw error
      })
      return prepared
    },
  }
}

/** Nothing else becomes part of a path (promise 27). */
function requireHash(hash: string): string {
  if (!HASH.test(hash)) throw new Error('a content is named by its hash')
  return hash
}

async function namesIn(folder: string, pattern = /./): Promise<string[]> {
  try {
    return (await onDisk(() => readdir(folder))).filter((name) => pattern.test(name))
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}
