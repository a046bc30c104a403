import type { Database } from 'bun:sqlite'

/** The event that an acknowledged write survives: power loss, the end of the process, or none (design.md §3). */
export type Durability = 'full' | 'relaxed' | 'none'

const SYNCHRONOUS: Readonly<Record<Durability, string>> = {
  full: 'FULL',
  relaxed: 'NORMAL',
  none: 'OFF',
}

/**
 * Sets how a connection syncs. Every connection that writes or runs checkpoints needs it.
 * On macOS a plain fsync leaves data in the cache of the drive; elsewhere `fullfsync` changes nothing.
 */
export function setDurability(db: Database, durability: Durability): void {
  db.run(`PRAGMA synchronous = ${SYNCHRONOUS[durability]}`)
  db.run('PRAGMA fullfsync = ON')
  db.run('PRAGMA checkpoint_fullfsync = ON')
}
