import { indexedDB } from 'fake-indexeddb'
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { compareKeys, keyOfValue, readCriteria, satisfies } from '../../../src/domain/sync/criteria'
import type { WireObject } from '../../../src/domain/value/value'

const UNDECLARED = () => undefined

function matches(index: unknown, range: WireObject, object: WireObject, key = 'k'): boolean {
  return satisfies(readCriteria({ index, range }), object, key, UNDECLARED)
}

const equal = (value: unknown) => ({ type: 1, lower: value, upper: value })
const UNDEFINED = { $t: 'undefined' }
const LEAST = { $t: 'number', v: '-Infinity' }

describe('criteria of operations (protocol.md §4.4)', () => {
  test('an equal range matches the value of a property, dotted or not', () => {
    expect(matches('name', equal('x'), { name: 'x' })).toBe(true)
    expect(matches('name', equal('x'), { name: 'y' })).toBe(false)
    expect(matches('a.b', equal(1), { a: { b: 1 } })).toBe(true)
    expect(matches('a.b', equal(1), { 'a.b': 2 })).toBe(false)
  })

  test('absent bounds, open bounds and the least and greatest key bound a range as IndexedDB does', () => {
    const range = { type: 2, lower: 'b', upper: UNDEFINED, lowerOpen: true, upperOpen: UNDEFINED }
    expect(matches('n', range, { n: 'b' })).toBe(false)
    expect(matches('n', range, { n: 'c' })).toBe(true)
    const all = { type: 2, lower: LEAST, upper: [[]] }
    for (const n of [0, 'text', { $t: 'Date', v: '2026-01-01T00:00:00.000Z' }, ['a']]) {
      expect(matches('n', all, { n })).toBe(true)
    }
  })

  test('a value that is no key is in no index, whatever the range', () => {
    for (const n of [null, true, {}, { $t: 'number', v: 'NaN' }, undefined]) {
      expect(matches('n', { type: 3 }, { n })).toBe(false)
    }
    expect(matches(UNDEFINED, { type: 3 }, {})).toBe(true)
    expect(matches('n', { type: 4 }, { n: 1 })).toBe(false)
  })

  test('a compound index needs every part', () => {
    expect(matches('[a+b]', equal(['x', 1]), { a: 'x', b: 1 })).toBe(true)
    expect(matches('[a+b]', equal(['x', 1]), { a: 'x' })).toBe(false)
    expect(
      matches('[x+y]', { type: 2, lower: ['x', LEAST], upper: ['x', [[]]] }, { x: 'x', y: 3 }),
    ).toBe(true)
  })

  test('a list matches element by element, as one key when the bound or the declaration says so', () => {
    expect(matches('tags', equal('b'), { tags: ['a', 'b'] })).toBe(true)
    expect(matches('tags', equal(['a', 'b']), { tags: ['a', 'b'] })).toBe(true)
    const { $t: _t, ...above } = { $t: 0, type: 2, lower: 'm', upper: UNDEFINED }
    const criteria = readCriteria({ index: 'tags', range: above })
    expect(satisfies(criteria, { tags: ['a'] }, 'k', () => true)).toBe(false)
    expect(satisfies(criteria, { tags: ['a'] }, 'k', () => false)).toBe(true)
  })

  test('a null index is the primary key, simple or compound', () => {
    expect(matches(null, equal('k'), {}, 'k')).toBe(true)
    expect(matches(null, equal(['a', 1]), {}, '["a",1]')).toBe(true)
  })

  test('names that begin with $ are found under their escaped name', () => {
    expect(matches('$x.$y', equal(1), { $$x: { $$y: 1 } })).toBe(true)
  })

  test('criteria without a range, or with a bound that is no key, are refused', () => {
    for (const range of [undefined, { type: 7 }, equal(null), { type: 1 }]) {
      expect(() => readCriteria({ index: 'n', range })).toThrow('criteria')
    }
    expect(() => readCriteria({ index: 5, range: { type: 3 } })).toThrow('index')
  })

  test('keys are in the order of IndexedDB', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (one, other) => {
        const order = compareKeys(keyOfValue(one.wire)!, keyOfValue(other.wire)!)
        expect(Math.sign(order)).toBe(indexedDB.cmp(one.key, other.key))
      }),
      { numRuns: 2_000 },
    )
  })
})

interface Sample {
  readonly key: Parameters<typeof indexedDB.cmp>[0]
  readonly wire: unknown
}

const LEX = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz|-'
const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/='

function b64lex(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('base64')
    .replace(/./g, (c) => LEX[BASE64.indexOf(c)] ?? c)
}

const simpleKey: fc.Arbitrary<Sample> = fc.oneof(
  fc.string({ unit: 'grapheme' }).map((text) => ({ key: text, wire: text })),
  fc.double({ noNaN: true }).map((n) => ({
    key: n,
    wire: Number.isFinite(n) ? n : { $t: 'number', v: String(n) },
  })),
  fc.date({ noInvalidDate: true }).map((date) => ({
    key: date,
    wire: { $t: 'Date', v: date.toISOString() },
  })),
  fc.uint8Array({ maxLength: 5 }).map((bytes) => ({
    key: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength),
    wire: { $t: 'ArrayBuffer', v: b64lex(bytes) },
  })),
)

const anyKey: fc.Arbitrary<Sample> = fc.oneof(
  simpleKey,
  fc.array(simpleKey, { maxLength: 3 }).map((samples) => ({
    key: samples.map(({ key }) => key),
    wire: samples.map(({ wire }) => wire),
  })),
)
