/** A value of an object as a person reads it. */
export type Described =
  | { readonly kind: 'null' | 'special'; readonly text: string }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'number' | 'boolean' | 'bigint'; readonly text: string }
  | { readonly kind: 'date'; readonly text: string; readonly at: number }
  | { readonly kind: 'link'; readonly text: string; readonly href: string }
  /** Bytes inside the object, or a reference to a blob. */
  | { readonly kind: 'bytes'; readonly text: string; readonly ref?: string }
  | ({ readonly kind: 'list' | 'object'; readonly text: string } & Members)

/** A name and a value inside another value. */
export type Entry = readonly [name: string, value: unknown]

/** The values inside a list or an object. */
export interface Members {
  readonly count: number
  /** The first of them: there may be a million. */
  readonly first: (most: number) => readonly Entry[]
}

/** The most characters of a text in one line of a table. */
const LINE = 240

/** Reads a stored value: plain JSON, `$t` values of TSON, and references to blobs (`_bt`). */
export function describe(value: unknown): Described {
  if (value === null || value === undefined) return { kind: 'null', text: 'null' }
  if (typeof value === 'string') return describeText(value)
  if (typeof value === 'number') return { kind: 'number', text: String(value) }
  if (typeof value === 'boolean') return { kind: 'boolean', text: String(value) }
  if (Array.isArray(value)) return describeList(value)
  if (typeof value !== 'object') return { kind: 'special', text: typeof value }
  const record = value as Readonly<Record<string, unknown>>
  const type = own(record, '$t')
  if (typeof type === 'string') return describeTyped(type, record)
  const blob = own(record, '_bt')
  if (typeof blob === 'string') return describeBlob(blob, record)
  return describeObject('', record)
}

function describeText(text: string): Described {
  const isLink = /^https?:\/\/\S+$/.test(text) && URL.canParse(text)
  return isLink ? { kind: 'link', text, href: text } : { kind: 'string', text }
}

function describeTyped(type: string, record: Readonly<Record<string, unknown>>): Described {
  const v = own(record, 'v')
  const text = typeof v === 'string' ? v : ''
  switch (type) {
    case 'Date': {
      const at = Date.parse(text)
      if (Number.isNaN(at)) return { kind: 'special', text: 'Invalid date' }
      return { kind: 'date', text, at }
    }
    case 'number':
      return { kind: 'number', text }
    case 'bigint':
      return { kind: 'bigint', text: `${text}n` }
    case 'undefined':
      return { kind: 'special', text: 'undefined' }
    case 'URL': {
      const href = own(record, 'href')
      return typeof href === 'string' ? describeText(href) : { kind: 'special', text: 'URL' }
    }
    case 'Set':
      return Array.isArray(v)
        ? { ...describeList(v), text: `Set of ${v.length}` }
        : describeObject(type, record)
    case 'Map':
      return Array.isArray(v) ? describeMap(v) : describeObject(type, record)
    default:
      if (!/^(?:Blob|File|ArrayBuffer|DataView|\w+Array)$/.test(type)) {
        return describeObject(type, record)
      }
      return {
        kind: 'bytes',
        text: [type, sizeText(bytesIn(text)), nameOf(record)].join(' ').trim(),
      }
  }
}

function describeBlob(type: string, record: Readonly<Record<string, unknown>>): Described {
  const size = own(record, 'size')
  const ref = own(record, 'ref')
  const text = [
    type,
    typeof size === 'number' ? sizeText(size) : '',
    typeof own(record, 'ct') === 'string' ? String(own(record, 'ct')) : '',
  ]
  return {
    kind: 'bytes',
    text: text.filter((part) => part !== '').join(' '),
    ...(typeof ref === 'string' ? { ref } : {}),
  }
}

function describeList(list: readonly unknown[]): Described {
  const shown: string[] = []
  let length = 0
  for (const each of list) {
    if (length > LINE) break
    const text = lineOf(each)
    shown.push(text)
    length += text.length
  }
  const text = `[${shown.join(', ')}]`
  return { kind: 'list', text, ...membersOf(list, (each, at) => [String(at), each]) }
}

function describeMap(pairs: readonly unknown[]): Described {
  const members = membersOf(pairs, (pair, at) =>
    Array.isArray(pair) ? [lineOf(pair[0]), pair[1]] : [String(at), pair],
  )
  return { kind: 'object', text: `Map of ${pairs.length}`, ...members }
}

function describeObject(type: string, record: Readonly<Record<string, unknown>>): Described {
  const members = propertiesOf(record)
  const shown: string[] = []
  let length = 0
  for (const [name, value] of members.first(LINE)) {
    if (length > LINE) break
    const text = `${name}: ${lineOf(value)}`
    shown.push(text)
    length += text.length
  }
  return { kind: 'object', text: `${type}{${shown.join(', ')}}`, ...members }
}

/** The properties of an object. */
export function propertiesOf(record: Readonly<Record<string, unknown>>): Members {
  return membersOf(Object.keys(record), (name) => [name, record[name]])
}

function membersOf<T>(all: readonly T[], entry: (each: T, at: number) => Entry): Members {
  return { count: all.length, first: (most) => all.slice(0, most).map(entry) }
}

/** A value in one line. Values deep inside are three dots. */
function lineOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? '[]' : '[…]'
  if (typeof value === 'string') return value.slice(0, LINE)
  if (typeof value !== 'object' || value === null) return String(value)
  const type = own(value, '$t') ?? own(value, '_bt')
  if (typeof type !== 'string') return '{…}'
  const { text } = describe(value)
  return text.slice(0, LINE)
}

function nameOf(record: Readonly<Record<string, unknown>>): string {
  const name = own(record, 'name') ?? own(record, 'type')
  return typeof name === 'string' ? name : ''
}

/** How many bytes a text in base64 or b64lex stands for. */
function bytesIn(text: string): number {
  let { length } = text
  while (length > 0 && '-='.includes(text.charAt(length - 1))) length -= 1
  return Math.floor((length * 3) / 4)
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** A number of bytes for people: `48.3 kB`. */
export function sizeText(bytes: number): string {
  let size = bytes
  let unit = 0
  while (Math.abs(size) >= 999.5 && unit < UNITS.length - 1) {
    size /= 1000
    unit += 1
  }
  const digits = unit === 0 || size >= 100 ? 0 : 1
  return `${size.toFixed(digits)} ${UNITS[unit]}`
}

/** An own property: names such as `__proto__` are data. */
function own(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}
