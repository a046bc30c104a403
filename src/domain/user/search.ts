import { foldText } from '../fold'
import type { UserFields } from './user'

/** What lists of users are searched in and sorted by besides their columns. */
export interface UserTexts {
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
  return { name: name ?? null, search: `${[...lines].join('\n')}\n\n` }
}

function foldValue(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return foldText(value.slice(0, SEARCHED)).slice(0, SEARCHED).toWellFormed()
}

/** So much of a text is searched, in UTF-16 units: whoever has a longer name is found by its beginning. */
const SEARCHED = 1_000
