import type { Step, WriteTx } from '../domain/store/store'
import type { WriteContext } from './context'
import { MOST_OWED, paying } from './entries'
import { beginPart } from './part'
import { SqliteWriteTx } from './tx'

/** Gives the work a transaction that is dead when it returns. */
export function runIn<T>(
  { connection, committed, unit }: WriteContext,
  work: (tx: WriteTx) => T,
): T {
  const tx = new SqliteWriteTx(connection, committed, unit)
  try {
    const result = work(tx)
    requirePlain(result)
    return result
  } finally {
    tx.end()
  }
}

/** Throws for work that is an asynchronous function: it would go on when its transaction is over. */
export function requirePlain(result: unknown): void {
  if (!(result instanceof Promise)) return
  // The failure of such work is the one that is thrown here.
  result.catch(() => undefined)
  throw new Error('the work of a unit is a plain function: it awaits nothing')
}

/** Does what a unit owes. Others get their turn meanwhile, and the unit may be ended. */
export async function pay(context: WriteContext): Promise<void> {
  const { unit } = context
  if (unit.owed.isNothing) return
  for (const slices of [unit.owed.payingRows(), paying(context)]) {
    for (const _ of slices) {
      unit.uses += 1
      await unit.breathe()
      if (unit.ended !== undefined) throw unit.ended
    }
  }
}

/** Runs the steps of a unit. Fails with the error of a step that failed without an attempt around it, even if it was caught. */
export async function runSteps<T>(
  context: WriteContext,
  work: (step: Step) => Promise<T>,
): Promise<T> {
  const { unit } = context
  let failure: { readonly error: unknown } | undefined
  let isOver = false

  async function run<R>(one: (tx: WriteTx) => R): Promise<R> {
    if (unit.ended !== undefined) throw unit.ended
    if (isOver) throw new Error('this unit is over: its steps must not outlive it')
    unit.uses += 1
    let result: R
    try {
      result = runIn(context, one)
    } catch (error) {
      failure ??= { error }
      throw error
    }
    if (unit.owed.count >= MOST_OWED || unit.owed.hasRows) await pay(context)
    await unit.breathe()
    return result
  }

  async function attempt<R>(some: () => Promise<R>): Promise<R> {
    await pay(context)
    const part = beginPart(context)
    try {
      const result = await some()
      if (failure !== undefined) throw failure.error
      part.keep()
      return result
    } catch (error) {
      failure = undefined
      throw part.undo(error)
    }
  }

  try {
    const result = await work(Object.assign(run, { attempt }))
    if (failure !== undefined) throw failure.error
    return result
  } finally {
    isOver = true
  }
}
