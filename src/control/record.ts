import { type AuditLine, lineOfServer } from '../domain/store/audit'
import type { WriteTx } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import { serverLog } from '../log/log'
import type { Caller } from './caller'

/** Keeps the line about a change, in the unit that makes it. */
export type Recorder = (tx: WriteTx, result?: 'done' | 'begun') => void

/** A change that is under way. */
export interface Change {
  readonly folder: Pick<DataFolder, 'audit' | 'clock' | 'hosts'>
  readonly operation: string
  readonly caller: Caller
}

/**
 * Runs a change of a database, which records itself in its unit. When it fails after that, the line has the code of
 * the error, or stays as it is when its caller has left; a change that was refused before has none.
 */
export async function recordInDatabase<Output>(
  change: Change,
  database: string,
  run: (record: Recorder) => Promise<Output>,
): Promise<Output> {
  const line = lineOf(change)
  // Also known when the unit runs again, or fails: the operation has tried.
  let recorded: string | undefined
  try {
    const output = await run((tx, result = 'done') => {
      tx.audit.put({ ...line, result })
      recorded = result
    })
    if (recorded === 'begun') await recordEnd(change, database, { ...line, result: 'done' })
    return output
  } catch (error) {
    if (recorded !== undefined && !isInterruption(error)) {
      await recordEnd(change, database, { ...line, result: codeOf(error) })
    }
    throw error
  }
}

/**
 * Runs a change of the server, which no unit makes: it has a line before it begins, which has its result at the end.
 * What it changes in a database is recorded there too. On a full disk the line is in the log of the server alone: a
 * backup must be made then, and a database may be deleted to make room.
 */
export async function recordInServer<Output>(
  change: Change,
  run: (record: Recorder) => Promise<Output>,
): Promise<Output> {
  const line = lineOf(change)
  const { audit } = change.folder
  try {
    audit.put({ ...line, result: 'begun' })
  } catch (error) {
    const isFull = error instanceof SatchelError && error.code === 'STORAGE_FULL'
    if (!isFull) throw error
    serverLog.warning('The disk is full: an operation is recorded only here', { ...line })
  }
  function end(result: string): void {
    try {
      audit.put({ ...line, result })
    } catch (error) {
      reportFailure(change, error)
    }
  }
  try {
    const output = await run((tx, result = 'done') => tx.audit.put({ ...line, result }))
    end('done')
    return output
  } catch (error) {
    if (!isInterruption(error)) end(codeOf(error))
    throw error
  }
}

function lineOf({ folder, operation, caller }: Change): Omit<AuditLine, 'result'> {
  const { actor, door, uid, address, session } = caller
  const client = actor.credential?.facts.clientId ?? null
  const user = actor.subject === client ? null : actor.subject
  const line = lineOfServer(operation, folder.clock.now())
  return { ...line, door, uid, client, user, address, session }
}

async function recordEnd(change: Change, name: string, line: AuditLine): Promise<void> {
  try {
    using held = await change.folder.hosts.hold(name)
    await held.opened.database.write((tx) => tx.audit.put(line))
  } catch (error) {
    reportFailure(change, error)
  }
}

function reportFailure({ operation }: Change, error: unknown): void {
  serverLog.error('The result of an operation was not recorded', { operation, error })
}

/** The error of a signal that was aborted without a reason. */
function isInterruption(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}

function codeOf(error: unknown): string {
  return error instanceof SatchelError ? error.code : 'INTERNAL'
}
