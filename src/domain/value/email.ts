import { domainToASCII, domainToUnicode } from 'node:url'
import { type ErrorCode, SatchelError } from './error'

/**
 * An e-mail address that a mail can be sent to, in the form in which addresses are stored and
 * compared. Stricter than a user id that looks like one: nothing in it means something in a header.
 * Throws `code`, with the property that holds it as `reason` if there is one.
 */
export function requireEmail(
  value: unknown,
  code: ErrorCode = 'INVALID_REQUEST',
  property?: string,
): string {
  if (typeof value === 'string') {
    const email = foldEmail(value)
    const isAddress = email.length <= MAX_LENGTH && ADDRESS.test(email) && email.isWellFormed()
    if (isAddress && !value.includes(KELVIN) && isOwnDomain(email)) return email
  }
  const sentence = 'That is not an e-mail address: it must look like alice@example.com'
  throw new SatchelError(code, sentence, { reason: property })
}

/** Where demo users are, and no mail server is (protocol.md §7). */
export const DEMO_DOMAIN = '@demo.local'

/** RFC 5321 §4.5.3.1.3. */
const MAX_LENGTH = 254
/** Local part of RFC 5322 without quotes and comments, in any script; a domain of labels. */
const ADDRESS =
  /^(?!\.)(?!.*\.\.)[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64}(?<!\.)@[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]*[\p{L}\p{M}\p{N}])?)*$/u
/** The one letter beyond ASCII whose lower case is in it: `k`, which is another mailbox. */
const KELVIN = '\u212a'

/**
 * False for a domain that mail servers take for another one (UTS 46): with `ｇmail.com` one mailbox
 * would be thousands of people.
 */
function isOwnDomain(email: string): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1)
  const ascii = domainToASCII(domain)
  return ascii !== '' && (domain === ascii || domain === domainToUnicode(ascii))
}

export function isEmail(text: string): boolean {
  return /^\s*[^\s@]+@[^\s@]+\s*$/u.test(text)
}

/** The form in which addresses are stored and compared: that of the clients (protocol.md §2.5). */
export function foldEmail(email: string): string {
  return email.trim().toLowerCase()
}
