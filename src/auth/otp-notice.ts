import type { Code } from '../domain/code'
import { SatchelError } from '../domain/error'
import type { Letter } from '../domain/mailer'
import type { ReadTx } from '../domain/store'
import { nameOf } from './login-name'
import { findIntent, requireWelcome } from './person'

/**
 * Adds to the mail with a code what its reader should know because the code will not log them in.
 * That is looked up when the mail leaves: step 1 does not look whose address it is (design.md §4
 * Enumeration, promise 22). `now` in ms.
 */
export async function addNotice(tx: ReadTx, letter: Letter, now: number): Promise<Letter> {
  if (letter.kind !== 'otp') return letter
  const code = await tx.codes.find(letter.variables.otp_id)
  if (code === undefined) return letter
  const notice = await findNotice(tx, code, now)
  return { ...letter, variables: { ...letter.variables, notice } }
}

async function findNotice(tx: ReadTx, code: Code, now: number): Promise<string> {
  try {
    await requireWelcome(tx, nameOf(code), findIntent(code.state), now)
    return ''
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    return `The code will not log you in: ${error.message}.`
  }
}
