import { type ErrorCode, SatchelError } from '../../domain/value/error'
import type { Database } from '../../domain/store/store'
import type { Code } from '../../domain/store/credentials'

/**
 * Does what a code is good for that was used up a moment ago. When it could not be decided about its
 * holder it is given back, one try poorer: they need no new one to ask again.
 */
export async function withRedeemed<T>(
  database: Database,
  code: Code,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SatchelError && UNDECIDED.includes(error.code)) {
      await giveBack(database, code)
    }
    throw error
  }
}

const UNDECIDED: readonly ErrorCode[] = ['WEBHOOK_ERROR', 'TOO_MANY_REQUESTS', 'BUSY']

async function giveBack(database: Database, code: Code): Promise<void> {
  try {
    await database.write(async (tx) => {
      // A second use in the meantime has ended this login (promise 17).
      if (await tx.logins.isRevoked(code.id)) return
      await tx.codes.put({ ...code, attempts: code.attempts + 1 })
    })
  } catch {
    // The first error is reported. The code stays used, and the user requests another one.
  }
}
