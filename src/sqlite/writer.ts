import type { Clock } from '../clock'
import { aborted, SatchelError } from '../domain/value/error'
import type { Ids } from '../domain/value/id'
import type { Meter } from '../domain/store/meter'
import type { Step, WriteOptions, WriteTx } from '../domain/store/store'
import type { Connection } from './connection'
import type { WriteContext } from './context'
import { storageFailure } from './failure'
import { type Group, beginGroup } from './group'
import type { Committed } from './state'
import { beginPart, beginUndivided, type Part } from './part'
import { pay, runIn, runSteps } from './steps'
import { Unit } from './unit'

/** A group closes at this many units or after this many ms (design.md §3). */
const UNITS_PER_GROUP = 512
const GROUP_MS = 8
/** A unit that waits longer than this for its turn is rejected, ms. */
const QUEUE_TIMEOUT_MS = 5_000
/** The time budget of a unit, ms: the others wait for it. */
const UNIT_TIMEOUT_MS = 10_000
/** A unit that leaves its transaction unused for longer than this is ended, ms. */
const IDLE_TIMEOUT_MS = 4_000
/** So many looks in a row must have seen it unused: a computation, however long, lets it look once. */
const IDLE_LOOKS = 3
/** How often the writer looks for units that wait or take too long, ms. */
const WATCH_EVERY_MS = 100
/** How long the units of a database that is closed may go on, ms. */
const CLOSE_TIMEOUT_MS = 1_000
/** The pause before the write lock of another process is tried again, ms. */
const LOCK_RETRY_MS = 20

export type Writer = ReturnType<typeof createWriter>

interface Pending {
  /** Does the work in a unit that the writer has begun; a promise is that of its steps. */
  readonly perform: (context: WriteContext, pending: Pending) => unknown
  readonly options: WriteOptions
  readonly since: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  result: unknown
  /** The transaction of its group was undone, and it runs again. */
  isSecondRun: boolean
}

/** The parts of its database that the writer needs. */
interface WriterHooks {
  readonly connection: Connection
  readonly committed: Committed
  readonly ids: Ids
  readonly clock: Clock
  /** Milliseconds since some moment, for waits and time budgets. Never goes back. */
  readonly elapsed: () => number
  /** Absent: nothing is counted. */
  readonly meter?: Meter | undefined
  /** Writes what the units of the group share, inside its transaction. */
  seal(group: Group): void
  /** Makes the group's changes the committed state, right after its COMMIT. Must not throw. */
  publish(group: Group): void
  /** Between transactions; the next one begins when the promise has resolved. Must not throw. */
  between(): Promise<void> | undefined
}

/**
 * The one writing connection behind a FIFO queue. Units that wait at the same time share one
 * transaction, each in a savepoint of its own, unless all so far rarely fail: when one of these fails
 * after a change, the others run again. None is answered before the COMMIT that holds its work. The COMMIT stands alone at the top of a turn of the event loop: a read, which awaits only
 * microtasks, therefore never sees half of before and half of after.
 */
export function createWriter(hooks: WriterHooks) {
  const { connection, committed, ids, clock, elapsed, meter } = hooks
  const queue: Pending[] = []
  let idle: (() => void)[] = []
  let isRunning = false

  /** The unit under way. */
  let running: Running | undefined
  let watch: Timer | undefined

  let group: Group | undefined
  let members: Pending[] = []
  let begun = 0
  /** The group may still be undone as a whole: none of its units runs for the second time. */
  let isRepeatable = true

  function enqueue<T>(
    perform: (context: WriteContext, pending: Pending) => T | Promise<T>,
    options: WriteOptions = NO_OPTIONS,
  ): Promise<T> {
    const { signal } = options
    if (signal?.aborted === true) return Promise.reject(aborted())
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const pending: Pending = {
      perform,
      options,
      since: elapsed(),
      resolve: resolve as (value: unknown) => void,
      reject,
      result: undefined,
      isSecondRun: false,
    }
    queue.push(pending)
    watch ??= setTimeout(look, WATCH_EVERY_MS).unref()
    if (!isRunning) {
      isRunning = true
      setImmediate(turn)
    }
    return signal === undefined ? promise : abortable(promise, signal, pending)
  }

  /** A request has one signal for thousands of units, which would hold all of them until it is answered. */
  async function abortable<T>(
    promise: Promise<T>,
    signal: AbortSignal,
    pending: Pending,
  ): Promise<T> {
    const end = () => abort(pending)
    signal.addEventListener('abort', end, { once: true })
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', end)
    }
  }

  /** A unit whose work is done already is committed with its group. */
  function abort(pending: Pending): void {
    const index = queue.indexOf(pending)
    if (index >= 0) {
      queue.splice(index, 1)
      pending.reject(aborted())
    } else if (running?.pending === pending) {
      running.end(aborted())
    }
  }

  /** Runs on a timer, because the unit under way may never end by itself. */
  function look(): void {
    watch = isRunning ? setTimeout(look, WATCH_EVERY_MS).unref() : undefined
    const now = elapsed()
    rejectLate(now)
    if (running === undefined) return
    const { unit, pending } = running
    if (running.uses !== unit.uses) {
      running.uses = unit.uses
      running.used = now
      running.idleLooks = 0
    } else running.idleLooks += 1
    const isIdle = running.idleLooks >= IDLE_LOOKS && now - running.used >= IDLE_TIMEOUT_MS
    if (isIdle) running.end(stuck())
    else if (now - running.begun >= UNIT_TIMEOUT_MS && pending.options.isUnbounded !== true) {
      running.end(tooLong())
    }
  }

  function turn(): void {
    if (group !== undefined && (queue.length === 0 || isFull(elapsed()))) {
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

  function isFull(now: number): boolean {
    return members.length >= UNITS_PER_GROUP || now - begun >= GROUP_MS
  }

  function stop(): void {
    isRunning = false
    const waiting = idle
    idle = []
    for (const resolve of waiting) resolve()
  }

  async function runUnits(): Promise<void> {
    for (;;) {
      // Each look at the clock takes as long as to make a unit.
      const now = elapsed()
      if (group !== undefined && isFull(now)) return
      rejectLate(now)
      const pending = queue.shift()
      if (pending === undefined) return
      meter?.waits.observe((now - pending.since) / 1000)
      try {
        group ??= begin()
        const result = runUnit(pending, group)
        pending.result = result instanceof Promise ? await result : result
        members.push(pending)
        isRepeatable &&= isUndivided(pending)
      } catch (error) {
        const failure = storageFailure(error)
        if (group === undefined && isBusy(failure)) {
          queue.unshift(pending)
          await Bun.sleep(LOCK_RETRY_MS)
          continue
        }
        pending.reject(failure)
        if (!connection.db.inTransaction) retryGroup(failure)
      }
    }
  }

  /** Rejects units that waited too long, but none that already ran once. */
  function rejectLate(now: number): void {
    let index = 0
    while (queue[index]?.isSecondRun === true) index += 1
    for (let next = queue[index]; next !== undefined; next = queue[index]) {
      if (now - next.since <= QUEUE_TIMEOUT_MS) return
      queue.splice(index, 1)
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
    begun = elapsed()
    isRepeatable = true
    return beginGroup(committed)
  }

  /** At once when the work is done and nothing is owed: a promise would cost as much as the checks of an object. */
  function runUnit(pending: Pending, current: Group): unknown {
    const { options } = pending
    const { programPart = null, subject = null, client = null } = options
    const unit = new Unit(current, ids, clock, { programPart, subject, client })
    const context = { connection, committed, unit, loads: NO_LOADS }
    const part = isRepeatable && isUndivided(pending) ? beginUndivided(context) : beginPart(context)
    try {
      const result = pending.perform(context, pending)
      if (result instanceof Promise || !unit.owed.isNothing) return finish(part, context, result)
      part.keep()
      return result
    } catch (error) {
      throw part.undo(error)
    }
  }

  async function finish(part: Part, context: WriteContext, result: unknown): Promise<unknown> {
    try {
      const value = await result
      await pay(context)
      part.keep()
      return value
    } catch (error) {
      throw part.undo(error)
    } finally {
      running = undefined
    }
  }

  /** The result of a unit, unless it is ended before: then its work finds its transaction dead. */
  function watched<T>(unit: Unit, pending: Pending, result: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const now = elapsed()
      const end = (error: unknown) => {
        unit.ended ??= error
        reject(error)
      }
      running = { pending, unit, end, begun: now, uses: unit.uses, used: now, idleLooks: 0 }
      result.then(resolve, reject)
    })
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
    if (meter !== undefined) meter.commits += 1
    for (const pending of done) pending.resolve(pending.result)
  }

  function rollBack(): void {
    try {
      if (connection.db.inTransaction) connection.prepare('ROLLBACK').run()
    } catch {
      // Nothing was kept either way, and the next group tries again before it begins.
    }
  }

  /**
   * The transaction is over: SQLite ended it (full disk, I/O error), or a unit without a savepoint has
   * failed. The others run again, once.
   */
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

  /** Resolves when nothing is waiting or under way. */
  function drained(): Promise<void> {
    return isRunning
      ? new Promise((resolve) => {
          idle.push(resolve)
        })
      : Promise.resolve()
  }

  return {
    /** How many units wait for their turn. */
    get waiting(): number {
      return queue.length
    },
    run: <T>(work: (tx: WriteTx) => T, options?: WriteOptions): Promise<T> =>
      enqueue((context) => runIn(context, work), options),
    runSteps: <T>(work: (step: Step) => Promise<T>, options?: WriteOptions): Promise<T> =>
      enqueue(
        (context, pending) => watched(context.unit, pending, runSteps(context, work)),
        options,
      ),
    drained,
    /** `drained` that ends units which are not done after a second with the error of `refuse`. */
    async close(refuse: () => SatchelError): Promise<void> {
      const timer = setTimeout(() => {
        for (const pending of queue.splice(0)) pending.reject(refuse())
        running?.end(refuse())
      }, CLOSE_TIMEOUT_MS)
      await drained()
      clearTimeout(timer)
      clearTimeout(watch)
    },
  }
}

const NO_OPTIONS: WriteOptions = {}
const NO_LOADS: readonly never[] = []

/** A unit whose work has returned a promise. */
interface Running {
  readonly pending: Pending
  readonly unit: Unit
  readonly end: (error: unknown) => void
  readonly begun: number
  /** How often it had used its transaction when the writer last looked, and when that changed. */
  uses: number
  used: number
  /** The looks in a row that found it as at the one before. */
  idleLooks: number
}

function isUndivided({ options, isSecondRun }: Pending): boolean {
  return options.rarelyFails === true && !isSecondRun
}

function tooLong(): SatchelError {
  return new SatchelError(
    'BUSY',
    `The request took longer than ${UNIT_TIMEOUT_MS / 1000} s and nothing was stored: write less at once`,
    { retryAfter: 1 },
  )
}

/** A mistake of ours: the caller cannot do anything about it. */
function stuck(): Error {
  return new Error(
    `a unit did not use its transaction for ${IDLE_TIMEOUT_MS / 1000} s: it awaits something else, such as another write`,
  )
}

function isBusy(failure: unknown): boolean {
  return failure instanceof SatchelError && failure.code === 'BUSY'
}
