import type { Clock } from '../clock'
import { findDeletion, markForDeletion, unmarkForDeletion } from '../domain/database/deletion'
import { lineOfServer, type ServerAudit } from '../domain/store/audit'
import type { Write } from '../domain/store/store'
import { HOUR } from '../domain/value/time'
import { serverLog } from '../log/log'
import type { OpenDatabase } from './host'
import type { Hosts } from './hosts'

/** Databases that are marked for deletion, and their removal when their time has come. */
export interface Deletions extends Disposable {
  /** Marks the database, in a unit that `write` runs. Returns when it will be removed, ms. */
  mark(host: OpenDatabase, write?: Write): Promise<number>
  /** False when it was not marked. */
  unmark(host: OpenDatabase, write?: Write): Promise<boolean>
  /** Removes the databases whose time has come. */
  sweep(): Promise<void>
}

/** Looks once an hour; `audit` gets a line about each removal. A server opens every database at its start, so that all marks are known. */
export function createDeletions(hosts: Hosts, clock: Clock, audit: ServerAudit): Deletions {
  const dueByName = new Map<string, number>()
  /** Resolves when the marks of all opened databases are known. */
  let known: Promise<unknown> = Promise.resolve()
  const timer = setInterval(() => void sweep(), HOUR)
  timer.unref()

  hosts.watch({
    opened(host) {
      const read = async () => note(host.name, await host.database.read(findDeletion))
      const reading = read().catch((error: unknown) => report(host.name, error))
      known = Promise.all([known, reading])
    },
    disconnected() {},
    removed: (name) => void dueByName.delete(name),
  })

  function note(name: string, due: number | undefined): void {
    if (due === undefined) dueByName.delete(name)
    else dueByName.set(name, due)
  }

  async function sweep(): Promise<void> {
    await known
    for (const [name, due] of dueByName) {
      if (due > clock.now()) continue
      try {
        const { database } = await hosts.open(name)
        // A mark is forgotten only by a commit: the stored one counts.
        const stored = await database.read(findDeletion)
        note(name, stored)
        if (stored === undefined || stored > clock.now()) continue
        const line = lineOfServer('db.delete', clock.now())
        audit.put({ ...line, result: 'begun' })
        await hosts.remove(name)
        audit.put({ ...line, result: 'done' })
        serverLog.info('A database was removed 30 days after it was deleted', { database: name })
      } catch (error) {
        report(name, error)
      }
    }
  }

  return {
    async mark(host, write: Write = (work) => host.database.write(work)) {
      const due = await write((tx) => markForDeletion(tx, clock.now()))
      note(host.name, due)
      return due
    },
    async unmark(host, write: Write = (work) => host.database.write(work)) {
      const wasMarked = await write(unmarkForDeletion)
      note(host.name, undefined)
      return wasMarked
    },
    sweep,
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

function report(database: string, error: unknown): void {
  serverLog.error('A deleted database could not be removed', { database, error })
}
