import { foldText } from '../value/fold'
import type { UserFields } from '../store/users'
import { foldEmail } from '../value/email'

/** What users are found, searched in and sorted by besides their columns. */
export interface UserTexts {
  /** The e-mail as it is compared; null when there is none or the user id is it. */
  readonly email: string | null
  /** The display name, folded; null when there is none. */
  readonly name: string | null
  /**
   * User id, e-mail and display name, folded, each on a line of its own: a search has no line
   * breaks. It ends in two, so that no letter of it is without two that follow.
   */
  readonly search: string
}

export function textsOf({ id, data }: Pick<UserFields, 'id' | 'data'>): UserTexts {
  const [userId, email, name] = [id, data?.['email'], data?.['displayName']].map(foldValue)
  const lines = new Set([userId, email, name].filter((line) => typeof line === 'string'))
  return {
    email: emailOf(id, data?.['email']),
    name: name ?? null,
    search: `${[...lines].join('\n')}\n\n`,
  }
}

function emailOf(id: string, value: unknown): string | null {
  // Longer texts are no addresses.
  if (typeof value !== 'string' || value.length > SEARCHED) return null
  const email = foldEmail(value)
  return email === '' || email === id ? null : email.toWellFormed()
}

function foldValue(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return foldText(value.slice(0, SEARCHED)).slice(0, SEARCHED).toWellFormed()
}

/** The searched length of a text, in UTF-16 units: a longer name is found by its beginning. */
const SEARCHED = 1_000
