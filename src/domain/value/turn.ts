/** Resolves in a later turn of the event loop, so that others get theirs. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
