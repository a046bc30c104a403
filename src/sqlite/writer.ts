import type { Clock } from '../clock'
import { SatchelError } from '../domain/value/error'
import type { Ids } from '../domain/value/id'
import type { WriteTx } from '../domain/store/store'
import type { Connection } from './connection'
import { storageFailure } from './failure'
import { type Group, beginGroup } from './group'
import type { Committed } from './state'
import { SqliteWriteTx } from './tx'
import { runPart, Unit } from './unit'
import type { Awaitable } from '../domain/store/records'

/** A group closes at this many units or after this many ms (design.md §3). */
const GROUP_UNITS = 512
const GROUP_MS = 8
/** A unit that waits longer than this for its turn is rejected, ms. */
const QUEUE_TIMEOUT = 5_000
/** The pause before the write lock of another process is tried again, ms. */
const LOCK_RETRY = 20

export interface Writer {
  /** `origin`: announced with the unit. */
  run<T>(work: (tx: WriteTx) => Awaitable<T>, origin?: string | null): Promise<T>
  /** Resolves when nothing is waiting or under way. */
  drained(): Promise<void>
}

interface Pending {
  readonly work: (tx: WriteTx) => Awaitable<unknown>
  readonly origin: string | null
  readonly since: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  result: unknown
  /** SQLite ended the transaction of its group, and it runs again. */
  isSecondRun: boolean
}

/** The parts of its database that the writer needs. */
export interface WriterHooks {
  readonly connection: Connection
  readonly committed: Committed
  readonly ids: Ids
  readonly clock: Clock
  /** Writes what the units of the group share, inside its transaction. */
  seal(group: Group): void
  /** Makes the group's changes the committed state, right after its COMMIT. Must not throw. */
  publish(group: Group): void
  /** Between transactions; the next one begins when the promise has resolved. Must not throw. */
  between(): Promise<void> | undefined
}

/**
 * The one writing connection behind a FIFO queue. Units that wait at the same time share one
 * transaction, each in a savepoint of its own; none is answered before the COMMIT that holds its
 * work. The COMMIT stands alone at the top of a turn of the event loop: a read, which awaits only
 * microtasks, therefore never sees half of before and half of after.
 */
export function createWriter(hooks: WriterHooks): Writer {
  const { connection, committed, ids, clock } = hooks
  const queue: Pending[] = []
  let idle: (() => void)[] = []
  let isRunning = false

  let group: Group | undefined
  let members: Pending[] = []
  let begun = 0

  function run<T>(work: (tx: WriteTx) => Awaitable<T>, origin: string | null = null): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      queue.push({
        work,
        origin,
        since: performance.now(),
        resolve: resolve as (value: unknown) => void,
        reject,
        result: undefined,
        isSecondRun: false,
      })
      if (isRunning) return
      isRunning = true
      setImmediate(turn)
    })
  }

  function turn(): void {
    if (group !== undefined && (queue.length === 0 || isFull())) {
      commit(group)
      setImmediate(rest)
    } else if (queue.length > 0) {
      void runUnits().finally(() => setImmediate(turn))
    } else {
      stop()
    }
  }

  /** Runs after the answers of the group were sent. */
  function rest(): void {
    const pause = hooks.between()
    if (pause === undefined) turn()
    else void pause.then(turn)
  }

  function isFull(): boolean {
    return members.length >= GROUP_UNITS || performance.now() - begun >= GROUP_MS
  }

  function stop(): void {
    isRunning = false
    const waiting = idle
    idle = []
    for (const resolve of waiting) resolve()
  }

  async function runUnits(): Promise<void> {
    while (group === undefined || !isFull()) {
      rejectLate()
      const pending = queue.shift()
      if (pending === undefined) return
      try {
        group ??= begin()
        pending.result = await runUnit(pending, group)
        members.push(pending)
      } catch (error) {
        const failure = storageFailure(error)
        if (group === undefined && isBusy(failure)) {
          queue.unshift(pending)
          await Bun.sleep(LOCK_RETRY)
          continue
        }
        pending.reject(failure)
        if (!connection.db.inTransaction) retryGroup(failure)
      }
    }
  }

  /** Rejects units that waited too long, but none that already ran once. */
  function rejectLate(): void {
    const now = performance.now()
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      if (next.isSecondRun || now - next.since <= QUEUE_TIMEOUT) return
      queue.shift()
      next.reject(
        new SatchelError('BUSY', 'The database is busy: nothing was stored, repeat the request', {
          retryAfter: 1,
        }),
      )
    }
  }

  function begin(): Group {
    rollBack()
    connection.prepare('BEGIN IMMEDIATE').run()
    begun = performance.now()
    return beginGroup(committed)
  }

  async function runUnit({ work, origin }: Pending, current: Group): Promise<unknown> {
    const unit = new Unit(current, ids, clock, origin)
    const tx = new SqliteWriteTx(connection, committed, unit, rejectLate)
    try {
      return await runPart(connection, unit, () => work(tx))
    } finally {
      tx.end()
    }
  }

  function commit(closing: Group): void {
    const done = members
    leaveGroup()
    // Pages that failed units restored would be written unchanged, and synced.
    if (done.length === 0) {
      rollBack()
      return
    }
    try {
      hooks.seal(closing)
      connection.prepare('COMMIT').run()
    } catch (error) {
      rollBack()
      for (const pending of done) pending.reject(storageFailure(error))
      return
    }
    hooks.publish(closing)
    for (const pending of done) pending.resolve(pending.result)
  }

  function rollBack(): void {
    try {
      if (connection.db.inTransaction) connection.prepare('ROLLBACK').run()
    } catch {
      // Nothing was kept either way, and the next group tries again before it begins.
    }
  }

  /** SQLite itself ended the transaction (full disk, I/O error): the others run again, once. */
  function retryGroup(failure: unknown): void {
    const lost = members
    leaveGroup()
    for (const pending of lost.filter(({ isSecondRun }) => isSecondRun)) pending.reject(failure)
    const again = lost.filter(({ isSecondRun }) => !isSecondRun)
    for (const pending of again) pending.isSecondRun = true
    queue.unshift(...again)
  }

  function leaveGroup(): void {
    group = undefined
    members = []
  }

  return {
    run,
    drained: () =>
      isRunning
        ? new Promise((resolve) => {
            idle.push(resolve)
          })
        : Promise.resolve(),
  }
}

function isBusy(failure: unknown): boolean {
  return failure instanceof SatchelError && failure.code === 'BUSY'
}
