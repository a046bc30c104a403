import { lstatSync, readdirSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { isWritable } from '../disk'
import { openFailure } from '../sqlite/failure'
import { peek } from '../sqlite/peek'
import type { DatabaseFacts, FolderFacts } from './facts'

/** The numbers of network file systems (statfs(2)). */
const NETWORKS: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x01021997: '9P',
  0x00c36400: 'CephFS',
  0x5346414f: 'AFS',
  0x0bd00bd0: 'Lustre',
  0x47504653: 'GPFS',
}

/** How many foreign files are named. */
const MAX_NAMES = 20

/** The names that upgrades, removals and restores leave behind when they are interrupted, or for a way back. */
const LEFTOVER = /^(?:database\.sqlite\.before-.+|\.removed-.+|\.restoring-.+|holder\.json\.new)$/

/** Looks at a data folder and the disk below it. Throws what the file system says. */
export async function lookAtFolder(path: string): Promise<FolderFacts> {
  const { mode, uid, gid } = statSync(path)
  const { type, bavail, blocks, bsize, files, ffree } = await statfs(path)
  const entries = [...walk(path, '')]
  return {
    path,
    mode: mode & 0o7777,
    uid,
    gid,
    isWritable: isWritable(path),
    foreign: entries
      .filter((entry) => entry.uid !== uid)
      .map((entry) => entry.path)
      .slice(0, MAX_NAMES),
    network: nameOfNetwork(type),
    freeBytes: bavail * bsize,
    sizeBytes: blocks * bsize,
    freeFiles: files === 0 ? null : ffree,
    leftovers: entries
      .filter(({ name }) => LEFTOVER.test(name))
      .map((entry) => ({ path: entry.path, bytes: bytesBelow(join(path, entry.path)) })),
    since: Math.floor(Math.min(Date.now(), ...entries.map(({ birth }) => birth))),
  }
}

/** The network file system with this number; null for a local one. */
export function nameOfNetwork(type: number): string | null {
  return NETWORKS[type >>> 0] ?? null
}

interface Entry {
  /** Below the data folder. */
  readonly path: string
  readonly name: string
  readonly uid: number
  readonly birth: number
}

/** The data folder, the folders of databases and what is in these: blobs, which may be millions, are not read. */
function* walk(root: string, below: string, depth = 0): Generator<Entry> {
  for (const name of readdirSync(join(root, below)).toSorted()) {
    const path = join(below, name)
    const stats = lstatSync(join(root, path), { throwIfNoEntry: false })
    if (stats === undefined) continue
    yield { path, name, uid: stats.uid, birth: stats.birthtimeMs || stats.ctimeMs }
    const isOurs = depth > 0 || name === 'databases' || name === 'acme'
    if (stats.isDirectory() && isOurs && depth < 2 && !LEFTOVER.test(name)) {
      yield* walk(root, path, depth + 1)
    }
  }
}

function bytesBelow(path: string): number {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory() !== true) return stats?.size ?? 0
  return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name)), 0)
}

/** Looks at a database that is not open, without changing its file. */
export function lookAtDatabase(folder: string, name: string): DatabaseFacts {
  const file = join(folder, 'databases', name, 'database.sqlite')
  try {
    return { name, fault: null, ...peek(file) }
  } catch (error) {
    return { name, fault: openFailure(error, file).message, latestTime: null, stoppedJobs: null }
  }
}
