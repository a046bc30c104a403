import { SatchelError } from '../domain/error'
import type { Ids } from '../domain/id'
import type { Awaitable, WriteTx } from '../domain/store'
import type { Connection } from './connection'
import { storageFailure } from './failure'
import type { Committed } from './state'
import { type Group, SqliteWriteTx } from './tx'

/** A group closes at this many units or after this many ms (design.md §3). */
const GROUP_UNITS = 512
const GROUP_MS = 8
/** How long a unit waits for its turn before it is refused, ms. */
const PATIENCE = 5_000

export interface Writer {
  run<T>(work: (tx: WriteTx) => Awaitable<T>): Promise<T>
  /** Resolves when nothing is waiting or under way. */
  drained(): Promise<void>
}

interface Pending {
  readonly work: (tx: WriteTx) => Awaitable<unknown>
  readonly since: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  result: unknown
  /** It was in a group that SQLite ended, and is run once more. */
  isSecondRun: boolean
}

/** What the writer needs of the database it writes to. */
export interface WriterHooks {
  readonly connection: Connection
  readonly committed: Committed
  readonly ids: Ids
  beginGroup(): Group
  /** Writes the counters and heads of the group, inside its transaction. */
  seal(group: Group): void
  /** Makes the group's changes the committed state, right after its COMMIT. */
  publish(group: Group): void
  /** After a group: time for a checkpoint, between transactions. */
  between(): void
}

/**
 * The one writing connection behind a FIFO queue. Units that wait at the same time share one
 * transaction, each in a savepoint of its own; none is answered before the COMMIT that holds its
 * work. The COMMIT stands alone at the top of a turn of the event loop: a read, which awaits only
 * microtasks, therefore never sees half of before and half of after.
 */
export function createWriter(hooks: WriterHooks): Writer {
  const { connection, committed, ids } = hooks
  const queue: Pending[] = []
  let idle: (() => void)[] = []
  let isRunning = false

  let group: Group | undefined
  let members: Pending[] = []
  let begun = 0

  function run<T>(work: (tx: WriteTx) => Awaitable<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      queue.push({
        work,
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
    if (group !== undefined && (queue.length === 0 || isFull())) commit()
    else if (queue.length > 0) void runUnits().finally(() => setImmediate(turn))
    else rest()
  }

  function isFull(): boolean {
    return members.length >= GROUP_UNITS || performance.now() - begun >= GROUP_MS
  }

  function rest(): void {
    isRunning = false
    const waiting = idle
    idle = []
    for (const resolve of waiting) resolve()
  }

  async function runUnits(): Promise<void> {
    while (queue.length > 0 && !(group !== undefined && isFull())) {
      const pending = queue.shift()
      if (pending === undefined) return
      if (performance.now() - pending.since > PATIENCE && !pending.isSecondRun) {
        pending.reject(
          new SatchelError('BUSY', 'The database is busy: nothing was stored, repeat the request', {
            retryAfter: 1,
          }),
        )
        continue
      }
      try {
        await runUnit(pending, begin())
      } catch (error) {
        pending.reject(storageFailure(error))
        if (!connection.db.inTransaction) abandon(error)
      }
    }
  }

  function begin(): Group {
    if (group !== undefined) return group
    connection.prepare('BEGIN IMMEDIATE').run()
    begun = performance.now()
    group = hooks.beginGroup()
    return group
  }

  async function runUnit(pending: Pending, current: Group): Promise<void> {
    connection.prepare('SAVEPOINT unit').run()
    let revision: number | undefined
    const tx = new SqliteWriteTx(
      connection,
      committed,
      {
        group: current,
        revision() {
          revision ??= current.counters.revision += 1
          return revision
        },
      },
      ids,
    )
    try {
      pending.result = await pending.work(tx)
      connection.prepare('RELEASE unit').run()
      members.push(pending)
    } catch (error) {
      if (connection.db.inTransaction) {
        connection.prepare('ROLLBACK TO unit').run()
        connection.prepare('RELEASE unit').run()
      }
      throw error
    } finally {
      tx.end()
    }
  }

  function commit(): void {
    const closing = group
    const done = members
    if (closing === undefined) return
    try {
      hooks.seal(closing)
      connection.prepare('COMMIT').run()
    } catch (error) {
      if (connection.db.inTransaction) connection.prepare('ROLLBACK').run()
      forget()
      for (const pending of done) pending.reject(storageFailure(error))
      setImmediate(turn)
      return
    }
    forget()
    hooks.publish(closing)
    for (const pending of done) pending.resolve(pending.result)
    hooks.between()
    setImmediate(turn)
  }

  /** SQLite itself ended the transaction (full disk, I/O error): the others run again, once. */
  function abandon(error: unknown): void {
    const lost = members
    forget()
    for (const pending of lost.filter(({ isSecondRun }) => isSecondRun)) {
      pending.reject(storageFailure(error))
    }
    const again = lost.filter(({ isSecondRun }) => !isSecondRun)
    for (const pending of again) pending.isSecondRun = true
    queue.unshift(...again)
  }

  function forget(): void {
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
