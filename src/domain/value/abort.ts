/** The result of the work, or the reason of the signal as soon as it is aborted, however long the work goes on. */
export async function untilAborted<T>(work: PromiseLike<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return await work
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const end = () => reject(signal.reason as Error)
  signal.addEventListener('abort', end, { once: true })
  work.then(resolve, reject)
  if (signal.aborted) end()
  try {
    return await promise
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** The values as they come, also while one is awaited until the signal is aborted: then its reason is thrown. */
export async function* eachUntilAborted<T>(
  values: AsyncIterable<T>,
  signal?: AbortSignal,
): AsyncGenerator<T> {
  const iterator = values[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await untilAborted(iterator.next(), signal)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // A source that hangs would hold up this end, too: it is closed when it goes on.
    const closed = Promise.resolve(iterator.return?.())
    await untilAborted(closed, signal).catch(() => undefined)
  }
}
