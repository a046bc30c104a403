/** Long work that yields where others may have their turn. */
export type Work<T = void> = Generator<undefined, T, undefined>

/** Does short work at once. */
export function atOnce<T>(work: Work<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}
