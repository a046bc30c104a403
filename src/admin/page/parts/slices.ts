/** Long work, which yields often: there a person may have a turn. */
export type Steps<T> = Generator<void, T>

/** So long a person does not notice, ms. */
const SLICE_MS = 12

/** Does long work between what a person does. Throws the reason of `signal` when it is aborted. */
export async function inSlices<T>(work: Steps<T>, signal?: AbortSignal): Promise<T> {
  let begun = performance.now()
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
    if (performance.now() - begun < SLICE_MS) continue
    await new Promise((resolve) => setTimeout(resolve))
    signal?.throwIfAborted()
    begun = performance.now()
  }
}

/** Long work, with its result as soon as it is there. */
export interface Made<T> {
  readonly work: Steps<T>
  result?: { readonly value: T }
}

/** Does long work for as long as a person does not notice. */
export function firstSlice<T>(work: Steps<T>): Made<T> {
  const begun = performance.now()
  do {
    const { done, value } = work.next()
    if (done === true) return { work, result: { value } }
  } while (performance.now() - begun < SLICE_MS)
  return { work }
}
