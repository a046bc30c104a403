import type { Steps } from '../parts/slices'

/** The first place at which a text is no object of JSON. */
export interface JsonFault {
  /** UTF-16 units from the beginning. */
  readonly offset: number
  /** "Line 3, column 5: a comma or } is expected" */
  readonly sentence: string
}

/** The reason why the text is no object, in the same words in every browser; undefined when it is one. */
export function findFault(text: string): JsonFault | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? undefined : faultAt(text, 0, NO_OBJECT)
  } catch {
    const [offset, expected] = findUnexpected(text)
    return faultAt(text, offset, `${expected} is expected`)
  }
}

/** `findFault` for a long text, step by step. */
export function* faultSteps(text: string): Steps<JsonFault | undefined> {
  const [offset, expected] = yield* unexpectedSteps(text)
  if (offset < text.length || expected !== NAMES.end) {
    return faultAt(text, offset, `${expected} is expected`)
  }
  return text[endOf(SPACES, text, 0)] === '{' ? undefined : faultAt(text, 0, NO_OBJECT)
}

const NO_OBJECT = 'an object is expected, in braces'

function faultAt(text: string, offset: number, reason: string): JsonFault {
  const before = text.slice(0, offset).split('\n')
  const column = (before.at(-1)?.length ?? 0) + 1
  return { offset, sentence: `Line ${before.length}, column ${column}: ${reason}` }
}

/** The tokens that may come next. */
type Wanted = 'value' | 'value or ]' | 'key' | 'key or }' | 'colon' | 'comma' | 'end'

const NAMES: Readonly<Record<Wanted, string>> = {
  value: 'a value',
  'value or ]': 'a value or ]',
  key: 'a name in quotation marks',
  'key or }': 'a name in quotation marks or }',
  colon: 'a colon',
  comma: 'a comma',
  end: 'the end of the text',
}

const SPACES = /[ \t\n\r]*/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** Where a text that is no JSON ceases to be some, and what is expected there. Reads without recursion. */
export function findUnexpected(text: string): readonly [offset: number, expected: string] {
  const steps = unexpectedSteps(text)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** So many tokens are read in one step. */
const STEP = 5_000

function* unexpectedSteps(text: string): Steps<readonly [offset: number, expected: string]> {
  /** The closing brackets of the containers that are open. */
  const open: string[] = []
  let wanted: Wanted = 'value'
  let at = 0
  for (let tokens = 1; ; tokens += 1) {
    if (tokens % STEP === 0) yield
    at = endOf(SPACES, text, at)
    const sign = text[at] ?? ''
    const close = open.at(-1) ?? ''
    const isKey: boolean = wanted.startsWith('key')
    const isValue: boolean = wanted.startsWith('value')
    if (sign !== '' && sign === close && (wanted === 'comma' || wanted.endsWith(` ${close}`))) {
      open.pop()
      wanted = open.length === 0 ? 'end' : 'comma'
      at += 1
    } else if (wanted === 'comma' && sign === ',') {
      wanted = close === '}' ? 'key' : 'value'
      at += 1
    } else if (wanted === 'colon' && sign === ':') {
      wanted = 'value'
      at += 1
    } else if (isValue && (sign === '{' || sign === '[')) {
      open.push(sign === '{' ? '}' : ']')
      wanted = sign === '{' ? 'key or }' : 'value or ]'
      at += 1
    } else if ((isValue || isKey) && sign === '"') {
      const [end, fault] = readString(text, at)
      if (fault !== undefined) return [end, fault]
      at = end
      wanted = isKey ? 'colon' : afterValue()
    } else if (isValue && endOf(SCALAR, text, at) > at) {
      at = endOf(SCALAR, text, at)
      wanted = afterValue()
    } else {
      return [at, wanted === 'comma' ? `${NAMES.comma} or ${close}` : NAMES[wanted]]
    }
  }

  function afterValue(): Wanted {
    return open.length === 0 ? 'end' : 'comma'
  }
}

// eslint-disable-next-line no-control-regex
const PLAIN = /[^"\\\u0000-\u001f]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

/** The end of the string that begins at `start`, or the place of its fault and the sign that is expected there. */
function readString(text: string, start: number): readonly [end: number, expected?: string] {
  let at = start + 1
  for (;;) {
    at = endOf(PLAIN, text, at)
    const sign = text[at]
    if (sign === '"') return [at + 1]
    if (sign === undefined || sign === '\n') return [at, 'a closing quotation mark']
    if (sign < ' ') return [at, 'an escape such as \\t']
    const next = endOf(ESCAPE, text, at)
    if (next === at) return [at, 'an escape such as \\n, \\" or \\u00e9']
    at = next
  }
}

/** The end of what the expression finds at this place; the place itself when it finds nothing. */
function endOf(sticky: RegExp, text: string, at: number): number {
  sticky.lastIndex = at
  return sticky.test(text) ? sticky.lastIndex : at
}
