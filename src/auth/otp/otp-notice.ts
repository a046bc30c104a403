import { SatchelError } from '../../domain/value/error'
import type { Letter } from '../../domain/store/mailer'
import type { ReadTx } from '../../domain/store/store'
import { type LoginName, nameOf } from '../person/login-name'
import { findIntent, requireWelcome } from '../person/person'
import type { Code } from '../../domain/store/credentials'

/**
 * Adds to the mail with a code whom it logs in, or what its reader should know because it will not.
 * That is looked up when the mail leaves: step 1 does not look whose address it is (design.md §4
 * Enumeration, promise 22). `now` in ms.
 */
export async function addNotice(tx: ReadTx, letter: Letter, now: number): Promise<Letter> {
  if (letter.kind !== 'otp') return letter
  const code = await tx.codes.find(letter.variables.otp_id)
  if (code === undefined) return letter
  const name = nameOf(code)
  const notice = await findNotice(tx, code, name, now)
  // Any caller may request a code “as” any text; it is mailed only to users who may act as that user.
  const email = notice === '' ? (name.as ?? name.email) : name.email
  return { ...letter, variables: { ...letter.variables, email, notice } }
}

async function findNotice(
  tx: ReadTx,
  { state }: Code,
  name: LoginName,
  now: number,
): Promise<string> {
  try {
    await requireWelcome(tx, name, findIntent(state), now)
    return ''
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    return `The code will not log you in: ${error.message}.`
  }
}
