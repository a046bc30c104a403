import { closeSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createOwnFile, hasErrno } from '../disk'
import { SatchelError } from '../domain/value/error'
import { serverLog } from '../log/log'

/** The process that holds the lock of a data folder, and its address (design.md §2). */
export interface Holder {
  readonly pid: number
  /** The machine or container. */
  readonly host: string
  /** The path of the socket of the control listener; null while there is none. */
  readonly address: string | null
  /** The bearer token of the control listener, new at every start. */
  readonly token: string | null
}

/** This process, which answers no commands yet. */
export function thisProcess(): Holder {
  return { pid: process.pid, host: hostname(), address: null, token: null }
}

/** Tells other processes who holds the folder. */
export interface Announcement extends Disposable {
  /** On a full disk as soon as there is room: reads go on meanwhile. Throws `READ_ONLY`. */
  put(holder: Holder): void
}

const ANNOUNCE_EVERY_MS = 1_000

/** `explain` translates errors of the file system. */
export function createAnnouncement(
  folder: string,
  explain: (error: unknown) => unknown,
): Announcement {
  let timer: Timer | undefined

  function put(holder: Holder): void {
    clearTimeout(timer)
    try {
      writeHolder(folder, holder)
    } catch (error) {
      const failure = explain(error)
      if (!(failure instanceof SatchelError) || failure.code !== 'STORAGE_FULL') throw failure
      if (timer === undefined) {
        serverLog.warning(
          'The disk is full: commands cannot reach this process until there is room',
          { folder },
        )
      }
      // The last holder is gone.
      removeHolder(folder)
      timer = setTimeout(putAgain, ANNOUNCE_EVERY_MS, holder)
      timer.unref()
    }
  }

  function putAgain(holder: Holder): void {
    try {
      put(holder)
    } catch (error) {
      serverLog.error('Commands cannot reach this process', { error })
    }
  }

  return { put, [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Records the holder of the folder in `holder.json`. Only the holder of the lock calls this. Throws `READ_ONLY`. */
export function writeHolder(folder: string, holder: Holder): void {
  const draft = join(folder, 'holder.json.new')
  rmSync(draft, { force: true })
  using undo = new DisposableStack()
  writeFileSync(undo.adopt(createDraft(draft), closeSync), `${JSON.stringify(holder)}\n`)
  renameSync(draft, join(folder, 'holder.json'))
}

function createDraft(draft: string): number {
  try {
    return createOwnFile(draft)
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error
    throw new SatchelError(
      'READ_ONLY',
      `Another program has just made ${draft}, which only Satchel may make: look at what works in this folder`,
      { cause: error },
    )
  }
}

export function removeHolder(folder: string): void {
  for (const name of ['holder.json', 'holder.json.new']) {
    rmSync(join(folder, name), { force: true })
  }
}

/** The last process that held the folder; it may be gone. Undefined when it is unknown. */
export function readHolder(folder: string): Holder | undefined {
  let holder: unknown
  try {
    holder = JSON.parse(readFileSync(join(folder, 'holder.json'), 'utf8'))
  } catch {
    return undefined
  }
  if (typeof holder !== 'object' || holder === null) return undefined
  const { pid, host, address = null, token = null } = holder as Partial<Holder>
  return typeof pid === 'number' && typeof host === 'string'
    ? { pid, host, address, token }
    : undefined
}

/** "process 4711", with its machine if that is another one, for messages about the folder. */
export function nameHolder(holder: Holder | undefined): string {
  if (holder === undefined) return 'another process'
  const isHere = holder.host === hostname()
  return `process ${holder.pid}${isHere ? '' : ` on ${holder.host}`}`
}
