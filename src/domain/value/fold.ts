/**
 * The text as searches and sorting see it: without case and accents (design.md §6 "fuzzy search").
 * Two spellings of one word are one text; a part of a text is a part of its folded text.
 */
export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase()
  return text
    .toWellFormed()
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(ACCENTS, '')
    .replaceAll(LETTERS, (letter) => PLAIN_LETTERS.get(letter) ?? letter)
    .replaceAll(CONTROLS, ' ')
    .normalize('NFC')
}

const PLAIN = /^[ -~]*$/
/** Marks that stand above or below a letter; those that are vowels in their script stay. */
const ACCENTS = /[\u0300-\u036f]|[\u1ab0-\u1aff]|[\u1dc0-\u1dff]|[\u20d0-\u20ff]|[\ufe20-\ufe2f]/g
const CONTROLS = /\p{Cc}/gu

/** Letters that are made of another one, but not of it and a mark. */
const PLAIN_LETTERS = new Map([
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ø', 'o'],
  ['ł', 'l'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ħ', 'h'],
  ['ı', 'i'],
  ['ŧ', 't'],
  ['ς', 'σ'],
])
const LETTERS = new RegExp(`[${[...PLAIN_LETTERS.keys()].join('')}]`, 'gu')
