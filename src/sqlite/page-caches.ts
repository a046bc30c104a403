import type { Connection } from './connection'

const MIB = 1024 * 1024
/** The page caches of all databases of a store, in bytes: one alone may have all of it. */
const BUDGET_BYTES = 48 * MIB
/** The page caches of one database at least, however many are in use. */
const MIN_BYTES = MIB / 2
/** How often to look for databases that are no longer used, ms. */
const LOOK_EVERY_MS = 20_000

/** The page caches of the databases of a store, which share one budget of memory. */
export type PageCaches = ReturnType<typeof createPageCaches>

interface Member {
  readonly writing: Connection
  readonly reading: Connection
  /** Used since the last look, or since it was idle. */
  isUsed: boolean
  isIdle: boolean
}

/**
 * Divides the budget among the databases in use; one that was not used between two looks keeps no page.
 * A single database has as much as it would have alone (design.md §2).
 */
export function createPageCaches({ lookEvery = LOOK_EVERY_MS } = {}) {
  const members = new Set<Member>()
  let active = 0
  let size = sizeFor(0)
  const timer = setInterval(look, lookEvery)
  timer.unref()

  function look(): void {
    for (const member of members) {
      if (!member.isUsed && !member.isIdle) {
        member.isIdle = true
        active -= 1
        setSize(member, MIN_BYTES)
        release(member)
      }
      member.isUsed = false
    }
    resize()
  }

  function activate(member: Member): void {
    member.isIdle = false
    active += 1
    setSize(member, sizeFor(active))
    resize()
  }

  /** Seldom: the size changes only when the number of active databases has doubled or halved. */
  function resize(): void {
    const found = sizeFor(active)
    if (found === size) return
    size = found
    for (const member of members) if (!member.isIdle) setSize(member, size)
  }

  return {
    /** Adds the caches of a database that was opened. Disposing returns their memory to the others. */
    add(writing: Connection, reading: Connection) {
      const member: Member = { writing, reading, isUsed: true, isIdle: true }
      members.add(member)
      activate(member)
      return {
        /** Called at each use of the database. Does almost nothing unless it was idle. */
        use(): void {
          member.isUsed = true
          if (member.isIdle) activate(member)
        },
        [Symbol.dispose]() {
          if (!members.delete(member)) return
          if (!member.isIdle) active -= 1
          resize()
        },
      }
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** The memory for each database when this many are in use, in bytes. */
function sizeFor(active: number): number {
  const rounded = 2 ** Math.ceil(Math.log2(Math.max(1, active)))
  return Math.max(MIN_BYTES, BUDGET_BYTES / rounded)
}

/** Readers use two thirds: the writer seldom needs a page twice. Surplus pages are freed at once. */
function setSize({ writing, reading }: Member, bytes: number): void {
  const all = Math.floor(bytes / 1024)
  const forWriter = Math.floor(all / 3)
  writing.db.run(`PRAGMA cache_size = -${forWriter}`)
  reading.db.run(`PRAGMA cache_size = -${all - forWriter}`)
}

/** Frees all pages that no running statement uses. */
function release({ writing, reading }: Member): void {
  for (const { db } of [writing, reading]) db.run('PRAGMA shrink_memory')
}
