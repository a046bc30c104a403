import { SatchelError } from '../../src/domain/value/error'

/** The refusal that `work` ends with; fails when there is none. */
export function refusal(work: () => unknown): SatchelError {
  try {
    work()
  } catch (error) {
    if (error instanceof SatchelError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}
