/** Values as they come, until somebody has waited long enough. */
export interface Interruptible<T> extends AsyncIterable<T> {
  /** Ends it with this error: for whoever waits for the next value now, else with the next wait. */
  interrupt(error: unknown): void
}

/** Iterated once. Interrupted or left early, it lets go of `values` without waiting for them. */
export function interruptible<T>(values: AsyncIterable<T>): Interruptible<T> {
  let fail = (_error: unknown) => {}
  let interruption: { readonly error: unknown } | undefined

  async function* iterate(): AsyncGenerator<T> {
    const iterator = values[Symbol.asyncIterator]()
    let isDone = false
    try {
      for (;;) {
        // Not a race with one promise for all of them, which would remember every turn.
        const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T>>()
        fail = reject
        if (interruption !== undefined) throw interruption.error
        iterator.next().then(resolve, reject)
        const next = await promise
        isDone = next.done === true
        if (next.done === true) return
        yield next.value
      }
    } finally {
      if (!isDone) iterator.return?.().catch(() => undefined)
    }
  }

  return {
    [Symbol.asyncIterator]: iterate,
    interrupt(error) {
      interruption ??= { error }
      fail(error)
    },
  }
}
