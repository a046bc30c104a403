import { describe, expect, test } from 'bun:test'
import { b64LexEncode } from 'dexie-cloud-common'
import * as fc from 'fast-check'
import {
  ARRAY_RANGE,
  candidateKeys,
  encodeKey,
  hasOwnKey,
  indexedValues,
  indexKey,
  isCutKey,
  MAX_KEY_BYTES,
} from '../../../src/domain/value/index-key'
import { parseTable } from '../../../src/domain/value/schema'

describe('encodeKey', () => {
  test('gives bytes in the order of the values', () => {
    fc.assert(
      fc.property(indexable(), indexable(), (a, b) => {
        const order = compareBytes(encodeKey(a), encodeKey(b))
        expect(order).toBe(compareValues(a, b))
      }),
      { numRuns: 5000 },
    )
  })

  test('gives values that differ late, or not at all, in their order', () => {
    fc.assert(
      fc.property(fc.array(indexable()), indexable(), indexable(), (start, a, b) => {
        const [left, right] = [
          [...start, a],
          [...start, b],
        ]
        expect(compareBytes(encodeKey(left), encodeKey(right))).toBe(compareValues(a, b))
        expect(compareBytes(encodeKey(start), encodeKey(left))).toBe(-1)
      }),
      { numRuns: 2000 },
    )
  })

  test('orders kinds like IndexedDB, with null and booleans before them', () => {
    const values = [
      null,
      false,
      true,
      { $t: 'number', v: '-Infinity' },
      -Number.MAX_VALUE,
      -1,
      -Number.MIN_VALUE,
      0,
      Number.MIN_VALUE,
      0.5,
      1,
      255,
      256,
      Number.MAX_SAFE_INTEGER,
      { $t: 'number', v: 'Infinity' },
      date(-8.64e15),
      date(-1),
      date(0),
      date(1795225370627),
      '',
      '\u0000',
      'A',
      'AA',
      'a',
      '~',
      '\u007f',
      '\u0080',
      'é',
      '\u407e',
      '\u407f',
      '\ud83d\ude00',
      '\uffff',
      binary(),
      binary(0),
      binary(0, 0),
      binary(1),
      binary(255),
      [],
      [null],
      [null, null],
      ['a', 1],
      ['a', 'a'],
      ['aa'],
      [[]],
      [[], 1],
    ]
    const keys = values.map(encodeKey)
    for (let i = 1; i < keys.length; i++) expect(compareBytes(keys[i - 1], keys[i])).toBe(-1)
  })

  test('takes a byte for each character of ASCII', () => {
    expect(encodeKey('hello')).toHaveLength(6)
    expect(encodeKey(['hello', 'you'])).toHaveLength(1 + 7 + 5 + 1)
    expect(encodeKey(1)).toHaveLength(9)
  })

  test('has one key for one value', () => {
    expect(encodeKey(-0)).toEqual(encodeKey(0))
    expect(encodeKey({ $t: 'Date', v: '2026-11-21' })).toEqual(
      encodeKey({ $t: 'Date', v: '2026-11-21T01:00:00+01:00' }),
    )
    expect(encodeKey({ $t: 'ArrayBuffer', v: '0G8-' })).toEqual(encodeKey(binary(1, 2)))
  })

  test.each([
    [undefined],
    [Number.NaN],
    [{}],
    [{ a: 1 }],
    [1n],
    [{ $t: 'number', v: 'NaN' }],
    [{ $t: 'Date', v: 'NaN' }],
    [{ $t: 'Date', v: 'tomorrow' }],
    [{ $t: 'Date', v: '2026-11-21T01:00:00' }],
    [{ $t: 'Date', v: '2026-13-21T01:00:00Z' }],
    [{ $t: 'Date', v: 5 }],
    [{ $t: 'Date' }],
    [{ $t: 'Set', v: [] }],
    [{ $t: 'Blob', v: 'AAAA' }],
    [{ $t: 'Uint8Array', v: 'x y' }],
    [{ $t: 'Uint8Array', v: '0H--' }],
    [{ $t: 'Uint8Array', v: '00' }],
    [{ $t: 'Uint8Array', v: 7 }],
    [{ $t: 'toString', v: '' }],
    [Object.create({ $t: 'Date', v: '2026-11-21' })],
    [['a', {}]],
    [['a'.repeat(2000), [{}]]],
  ])('has no key for %p', (value) => {
    expect(encodeKey(value)).toBeUndefined()
  })

  test('cuts long keys where order allows it and tells that it may have', () => {
    const long = 'x'.repeat(MAX_KEY_BYTES - 1)
    expect(isCutKey(encodeKey(long.slice(1))!)).toBe(false)
    for (const [a, b] of [
      [long, `${long}a`],
      [`${long}a`, `${long}b`],
      [['é'.repeat(2000), 1], ['é'.repeat(2000)]],
      [
        binary(...Array.from({ length: 3000 }, () => 7)),
        binary(...Array.from({ length: 999 }, () => 7)),
      ],
    ]) {
      expect(encodeKey(a)).toHaveLength(MAX_KEY_BYTES)
      expect(isCutKey(encodeKey(a)!)).toBe(true)
      expect(encodeKey(a)).toEqual(encodeKey(b))
    }
    for (let length = 1010; length < 1030; length++) {
      const filler = 'x'.repeat(length)
      for (const tail of [5, 'é\uffff', date(5), [1], null]) {
        const key = encodeKey([filler, tail])!
        expect(key.length).toBeLessThanOrEqual(MAX_KEY_BYTES)
        expect(compareBytes(encodeKey([filler]), key)).toBeLessThanOrEqual(0)
        expect(compareBytes(key, encodeKey([filler, tail, 1]))).toBeLessThanOrEqual(0)
      }
    }
  })
})

describe('indexKey', () => {
  test('has one key for a value, none for a missing one', () => {
    expect(entries('title', { title: 'x' })).toEqual([keyOf('x')])
    expect(entries('title', { title: null })).toEqual([keyOf(null)])
    expect(entries('title', {})).toEqual([])
    expect(entries('title', { title: { a: 1 } })).toEqual([])
  })

  test('has a key for every element of a multi-entry index, and one for equal texts', () => {
    const tags = ['b', 'a', 'b', 1, {}, date(5), ['a'], [{}]]
    expect(entries('*tags', { tags })).toEqual(['b', 'a', 1, date(5), ['a']].map(keyOf))
    expect(entries('*tags', { tags: 'a' })).toEqual([keyOf('a')])
    expect(entries('*tags', { tags: [] })).toEqual([])
  })

  test('has one key for a compound index, none where a part is missing', () => {
    expect(entries('[a+b.c]', { a: 'x', b: { c: 2 } })).toEqual([keyOf(['x', 2])])
    expect(entries('[a+b.c]', { a: 'x', b: {} })).toEqual([])
    expect(entries('[a+b.c]', { a: 'x', b: { c: {} } })).toEqual([])
  })

  test('reaches inside, through own properties only', () => {
    expect(entries('a.b', { a: { b: 1 } })).toEqual([keyOf(1)])
    expect(entries('a.b', { 'a.b': 2, a: { b: 1 } })).toEqual([keyOf(2)])
    expect(entries('a.b.c', { a: { 'b.c': 3 } })).toEqual([keyOf(3)])
    expect(entries('d.v', { d: date(0) })).toEqual([])
    expect(entries('a.length', { a: 'text' })).toEqual([])
    for (const path of [
      'constructor',
      'constructor.name',
      '__proto__',
      'toString',
      'a.__proto__',
    ]) {
      expect(entries(path, { a: {} })).toEqual([])
    }
    expect(entries('__proto__.x', JSON.parse('{"__proto__":{"x":1}}') as object)).toEqual([
      keyOf(1),
    ])
    expect(entries('$ts', { $$ts: 7 })).toEqual([keyOf(7)])
  })

  test('keeps every array of a plain index within the range of arrays', () => {
    for (const value of [[], ['a'], [{}], ['a', {}], [['\uffff']], [[], [{}]]]) {
      const [key] = entries('tags', { tags: value })
      expect(compareBytes(ARRAY_RANGE.lower, key)).toBe(-1)
      expect(compareBytes(key, ARRAY_RANGE.upper)).toBe(-1)
    }
    for (const value of [null, true, 1, 'a', date(0), binary(255)]) {
      expect(compareBytes(keyOf(value), ARRAY_RANGE.lower)).toBe(-1)
    }
    expect(compareBytes(keyOf([['\uffff']]), entries('tags', { tags: [{}] })[0])).toBe(-1)
  })
})

test('values with a key of their own share it with no other value', () => {
  fc.assert(
    fc.property(indexable(), indexable(), (a, b) => {
      if (!hasOwnKey(a) || a === b) return
      const [one, other] = [encodeKey(a), encodeKey(b)]
      if (one !== undefined && other !== undefined) expect(one).not.toEqual(other)
    }),
  )
  const long = 'x'.repeat(MAX_KEY_BYTES)
  expect(keyOf(`${long}1`)).toEqual(keyOf(`${long}2`))
  expect(hasOwnKey(`${long}1`)).toBe(false)
  const units = '\uffff'.repeat(341)
  expect(isCutKey(keyOf(units))).toBe(true)
  expect(hasOwnKey(units)).toBe(true)
})

describe('candidateKeys', () => {
  test.each([
    ['abc', []],
    ['', []],
    ['5', [5]],
    ['-0.5', [-0.5]],
    ['1e+21', [1e21]],
    ['05', []],
    ['5.0', []],
    ['-0', []],
    ['+5', []],
    [' 5', []],
    ['NaN', []],
    ['Infinity', []],
    ['1e999', []],
    ['0x10', []],
    ['true', [true]],
    ['false', [false]],
    ['null', [null]],
    ['2026-11-21T12:00:00.000Z', [date(Date.UTC(2026, 10, 21, 12))]],
    ['-000001-01-01T00:00:00.000Z', [date(Date.parse('-000001-01-01T00:00:00.000Z'))]],
    ['2026-11-21T12:00:00Z', []],
    ['2026-11-31T12:00:00.000Z', []],
    ['2026-11-21', []],
  ])('of %p are the text and %j', (text, others) => {
    expect(candidateKeys(text)).toEqual([text, ...others].map(keyOf))
  })
})

function keyOf(value: unknown): Uint8Array {
  const key = encodeKey(value)
  if (key === undefined) throw new Error('The value has no key')
  return key
}

function entries(declaration: string, object: object): Uint8Array[] {
  const index = parseTable('t', `id, ${declaration}`).indexes[0]!
  return indexedValues(index, object).flatMap((value) => indexKey(index, value) ?? [])
}

function date(time: number) {
  return { $t: 'Date', v: new Date(time).toISOString() }
}

function binary(...bytes: number[]) {
  return { $t: 'Uint8Array', v: b64LexEncode(Uint8Array.from(bytes)) }
}

/** Values whose keys are not long enough to be cut. */
function indexable(): fc.Arbitrary<unknown> {
  const unit = fc.oneof(
    fc.constantFrom('a', 'b', '\u0000', '\u007e', '\u007f', '\u407e', '\u407f', '\uffff'),
    fc.nat(0xffff).map((code) => String.fromCharCode(code)),
  )
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, false),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer({ min: -300, max: 300 }),
      fc.date({ noInvalidDate: true }).map((moment) => date(moment.getTime())),
      fc.string({ unit, maxLength: 8 }),
      fc.uint8Array({ maxLength: 6 }).map((bytes) => binary(...bytes)),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  }))
  return value
}

function compareBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): number {
  if (a === undefined || b === undefined) throw new Error('There is no key to compare')
  return Buffer.compare(a, b)
}

/** The order by the letter of its definition. */
function compareValues(a: unknown, b: unknown): number {
  const byRank = Math.sign(rank(a) - rank(b))
  if (byRank !== 0) return byRank
  if (Array.isArray(a) && Array.isArray(b)) return compareLists(a, b, compareValues)
  const [left, right] = [plain(a), plain(b)]
  // There are two zeros, and -0 - 0 is the other one.
  if (typeof left === 'number') return Math.sign(left - (right as number)) + 0
  if (typeof left === 'string') return compareLists(units(left), units(right as string), difference)
  if (Array.isArray(left)) return compareLists(left, right as number[], difference)
  return 0
}

function compareLists<T>(a: T[], b: T[], compare: (a: T, b: T) => number): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compare(a[i]!, b[i]!)
    if (order !== 0) return order
  }
  return Math.sign(a.length - b.length)
}

function difference(a: number, b: number): number {
  return Math.sign(a - b)
}

function units(text: string): number[] {
  return Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))
}

function rank(value: unknown): number {
  if (value === null || typeof value === 'boolean') return [null, false, true].indexOf(value)
  if (typeof value === 'number') return 3
  if (typeof value === 'string') return 5
  if (Array.isArray(value)) return 7
  return (value as { $t: string }).$t === 'Date' ? 4 : 6
}

/** A number, a string or the bytes of a value that is no array. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { $t, v } = value as { $t: string; v: string }
  if ($t === 'Date') return Date.parse(v)
  const base64 = v.replaceAll('-', '').replaceAll(/./g, (c) => BASE64[LEX.indexOf(c)]!)
  return [...Buffer.from(base64, 'base64')]
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const LEX = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz|'
