/**
 * A name chosen by a user, as it may be shown in a mail to others or on a page: one short
 * line that turns nothing round and is no address to follow. Empty when there is none.
 */
export function shownName(value: unknown): string {
  if (typeof value !== 'string') return ''
  const line = value.slice(0, READ_CHARACTERS).toWellFormed().replaceAll(BREAKS, ' ').trim()
  if (ADDRESS.test(line)) return ''
  const letters = Array.from(line)
  return letters.length > MAX_CHARACTERS
    ? `${letters.slice(0, MAX_CHARACTERS - 1).join('')}…`
    : line
}

const MAX_CHARACTERS = 80
const READ_CHARACTERS = 1_000
/** Blanks of every kind, and the signs that change the direction of the text after them. */
const BREAKS = /[\s\p{Cc}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]+/gu
/** A bare host is none yet: names and e-mail addresses look like that. */
const ADDRESS = /:\/\/|\bwww\.|\.\p{L}{2,}(?:[/?#]|:\d)/iu
