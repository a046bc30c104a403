import type { Steps } from '../../src/admin/page/parts/slices'

/** The result of long work, and how often others may have had a turn. */
export function stepsOf<T>(work: Steps<T>): { readonly value: T; readonly steps: number } {
  for (let steps = 0; ; steps += 1) {
    const { done, value } = work.next()
    if (done === true) return { value, steps }
  }
}
