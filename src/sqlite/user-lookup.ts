import type { UserFilter } from '../domain/user/query'

/** A part of a statement, with what it is to be run with. */
export interface Condition {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

export function condition(sql: string, ...parameters: (string | number)[]): Condition {
  return { sql, parameters }
}

export function where(conditions: readonly Condition[]): Condition {
  if (conditions.length === 0) return condition('')
  return {
    sql: `WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`,
    parameters: conditions.flatMap(({ parameters }) => parameters),
  }
}

/** Selects numbers of users, each once. */
export interface Lookup extends Condition {
  /** They come in order. */
  readonly isSorted: boolean
}

/**
 * Selects the numbers of the users who may pass a filter, and of hardly anybody else; undefined when
 * there is no index that would find them.
 */
export function lookup({ search, type, active }: UserFilter): Lookup | undefined {
  if (search !== undefined) return lookupText(search)
  if (type !== undefined) {
    const state = active === undefined ? '' : ` AND deactivated IS ${active ? '' : 'NOT '}NULL`
    const sql = `SELECT number FROM users INDEXED BY users_by_type WHERE type = ?${state}`
    return { sql, parameters: [type], isSorted: true }
  }
  if (active === false) {
    const sql = 'SELECT number FROM users INDEXED BY users_inactive WHERE deactivated IS NOT NULL'
    return { sql, parameters: [], isSorted: false }
  }
  return undefined
}

/** Enough of them to find hardly anybody else. */
const MOST_TRIGRAMS = 16

function lookupText(search: string): Lookup {
  // Code points, as the tokenizer counts them.
  const letters = Array.from(search)
  if (letters.length < 3) {
    // Every letter of a text begins a trigram: one or two are the beginning of one.
    const sql = 'SELECT DISTINCT doc AS number FROM user_trigrams WHERE term >= ? AND term < ?'
    return { sql, parameters: [search, `${search}\u{10ffff}`], isSorted: false }
  }
  // One beside the other, and the last: as a phrase all of them would be compared place by place.
  const trigrams = Array.from({ length: Math.ceil(letters.length / 3) }, (_, at) => {
    const begin = Math.min(at * 3, letters.length - 3)
    return letters.slice(begin, begin + 3).join('')
  })
  const phrases = trigrams
    .slice(0, MOST_TRIGRAMS)
    .map((trigram) => `"${trigram.replaceAll('"', '""')}"`)
  const sql = 'SELECT rowid AS number FROM user_search WHERE user_search MATCH ?'
  return { sql, parameters: [phrases.join(' AND ')], isSorted: true }
}
