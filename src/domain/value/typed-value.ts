import { isIsoText } from './time'

/**
 * Why the official clients could not read this typed value, as the end of a sentence about it;
 * undefined when they can, and when they do not know its type (design.md §6 "typed values",
 * protocol.md §1.2). `members` are its own, `$t` among them. Clients revive a whole answer at once, so
 * one value that they cannot revive costs every reader all objects of that answer.
 */
export function typedProblem(type: string, members: Members): string | undefined {
  const rule = RULES.get(type)
  return rule === undefined ? undefined : (rule(members) ?? memberProblem(members))
}

/** True for the types that clients revive: an object of one is no object to them. */
export function isRevivedType(type: string): boolean {
  return RULES.has(type)
}

/** The types that hold bytes, and how many an element has: readers cannot restore part of one. */
export const BINARY_TYPES: ReadonlyMap<string, number> = new Map([
  ['ArrayBuffer', 1],
  ['DataView', 1],
  ['Int8Array', 1],
  ['Uint8Array', 1],
  ['Uint8ClampedArray', 1],
  ['Int16Array', 2],
  ['Uint16Array', 2],
  ['Int32Array', 4],
  ['Uint32Array', 4],
  ['Float32Array', 4],
  ['Float64Array', 8],
  ['BigInt64Array', 8],
  ['BigUint64Array', 8],
])

type Members = Readonly<Record<string, unknown>>

/** The end of a sentence, or undefined for a value that is right. */
type Rule = (members: Members) => string | undefined

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  [
    'Date',
    ({ v }) => unless(v === 'NaN' || (isText(v) && isIsoText(v)), 'an ISO 8601 date or "NaN"'),
  ],
  ['number', ({ v }) => unless(isText(v) && NUMBERS.has(v), '"NaN", "Infinity" or "-Infinity"')],
  [
    'bigint',
    ({ v }) => unless(isText(v) && /^-?\d{1,1000}$/.test(v), 'text with 1 to 1000 digits'),
  ],
  ['undefined', () => undefined],
  ['Set', ({ v }) => unless(Array.isArray(v), 'an array')],
  ['Map', ({ v }) => unless(isPairs(v), 'an array of arrays of two elements')],
  ['Blob', ({ v, type }) => fileProblem(v, [type])],
  ['File', ({ v, type, name, lastModified }) => fileProblem(v, [type, name, lastModified])],
  ['URL', ({ href }) => unless(isText(href) && URL.canParse(href), 'an absolute URL', 'href')],
  ['PropModification', () => 'is an operation of sync and cannot be stored'],
  ...Array.from(BINARY_TYPES, ([type, size]): [string, Rule] => [
    type,
    ({ v }) => unless(isBytes(v, LEX, size), 'its bytes in b64lex, a whole number of elements'),
  ]),
  // Clients look types up in an ordinary object, and find these in every one.
  ...Object.getOwnPropertyNames(Object.prototype).map((name): [string, Rule] => [
    name,
    () => 'is a name that clients cannot read as a type',
  ]),
])

const NUMBERS: ReadonlySet<string> = new Set(['NaN', 'Infinity', '-Infinity'])

function unless(isRight: boolean, expected: string, member = 'v'): string | undefined {
  return isRight ? undefined : `needs a "${member}" that is ${expected}`
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isPairs(v: unknown): boolean {
  return Array.isArray(v) && v.every((entry) => Array.isArray(entry) && entry.length === 2)
}

function fileProblem(v: unknown, texts: readonly unknown[]): string | undefined {
  if (!isBytes(v, STANDARD, 1)) return 'needs a "v" that is its bytes in base64, with padding'
  const areTexts = texts.every((text) => text === undefined || isText(text))
  return areTexts ? undefined : 'may have a "type", "name" and "lastModified" that are strings'
}

/** How 64 digits and the padding are written. */
interface Alphabet {
  /** Any number of digits, then at most two characters of padding. */
  readonly form: RegExp
  readonly padding: string
  /** The last digits before one character of padding, and before two: no bits are left over. */
  readonly last: readonly [string, string]
}

const STANDARD: Alphabet = {
  form: /^[A-Za-z0-9+/]*={0,2}$/,
  padding: '=',
  last: ['AEIMQUYcgkosw048', 'AQgw'],
}
/** protocol.md §1.3. */
const LEX: Alphabet = {
  form: /^[\w|]*-{0,2}$/,
  padding: '-',
  last: ['048CGKOSW_dhlptx', '0GWl'],
}

/** True for bytes as the clients write them: every decoder reads those alike. Linear, without a copy. */
function isBytes(v: unknown, { form, padding, last }: Alphabet, size: number): boolean {
  if (!isText(v) || v.length % 4 !== 0 || !form.test(v)) return false
  const padded = v.endsWith(padding + padding) ? 2 : Number(v.endsWith(padding))
  const digits = last[padded - 1]
  if (digits !== undefined && !digits.includes(v.charAt(v.length - padded - 1))) return false
  return ((v.length / 4) * 3 - padded) % size === 0
}

/**
 * Clients rename members that begin with `$` and keep undefined ones by notes on the value that they
 * revive, and put them on the wrong one when it was replaced.
 */
function memberProblem(members: Members): string | undefined {
  const name = Object.keys(members).find((key) => isMisplaced(key, members[key]))
  return name === undefined
    ? undefined
    : `has a member ${JSON.stringify(name).slice(0, 100)} too many`
}

function isMisplaced(name: string, value: unknown): boolean {
  if (name.startsWith('$')) return name !== '$t'
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, '$t') &&
    (value as Members)['$t'] === 'undefined'
  )
}
