import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { SatchelError } from '../../../src/domain/value/error'
import { matches, parseFilters } from '../../../src/domain/object/filter'
import {
  ARRAY_RANGE,
  candidateKeys,
  indexedValues,
  indexKey,
} from '../../../src/domain/value/index-key'

describe('parseFilters', () => {
  test('reads names and values, the same name as alternatives', () => {
    expect(parseFilters('a=1&realmId=rlm-public&a=2&a=1')).toEqual({
      filters: [
        { path: 'a', texts: ['1', '2'] },
        { path: 'realmId', texts: ['rlm-public'] },
      ],
    })
  })

  test.each([
    ['', []],
    ['&&', []],
    ['a', [['a', '']]],
    ['a=', [['a', '']]],
    ['=a', [['', 'a']]],
    ['a=b=c', [['a', 'b=c']]],
    ['a+b=c+d', [['a b', 'c d']]],
    ['a%2Bb=c%2Bd', [['a+b', 'c+d']]],
    ['a%3Db=%26', [['a=b', '&']]],
    ['%C3%A9=%F0%9F%98%80', [['é', '😀']]],
    [
      '__proto__=x&constructor=y',
      [
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ],
    ],
    [
      '$$ts=5&%24%24x=6',
      [
        ['$$ts', '5'],
        ['$$x', '6'],
      ],
    ],
    ['a=%00', [['a', '\u0000']]],
  ])('reads %p', (query, filters) => {
    expect(parseFilters(query)).toEqual({
      filters: filters.map(([path, text]) => ({ path: path!, texts: [text!] })),
    })
  })

  test('reads paging, escaped or not', () => {
    expect(parseFilters('$limit=10000&a=1&%24after=x%2Fy')).toEqual({
      filters: [{ path: 'a', texts: ['1'] }],
      limit: 10_000,
      after: 'x/y',
    })
  })

  test.each([
    ['$limit=0', '"$limit" must be a whole number from 1 to 10000'],
    ['$limit=10001', '"$limit" must be'],
    ['$limit=', '"$limit" must be'],
    ['$limit=1e3', '"$limit" must be'],
    ['$limit=-1', '"$limit" must be'],
    ['$limit=+1', '"$limit" must be'],
    ['$limit=1&$limit=2', '"$limit" is given twice'],
    ['$after=', '"$after" must be'],
    ['$after=a&%24after=b', '"$after" is given twice'],
    ['$skip=1', '"$skip" is unknown'],
    ['$=1', '"$" is unknown'],
    ['%24a', '"$a" is unknown'],
    ['a=%', 'malformed percent-escapes'],
    ['%ff=1', 'malformed percent-escapes'],
    ['a=1&b=%c0%ae', 'malformed percent-escapes'],
  ])('refuses %p', (query, message) => {
    const parse = () => parseFilters(query)
    expect(parse).toThrow(SatchelError)
    expect(parse).toThrow(message)
    expect(parse).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }))
  })
})

describe('matches', () => {
  test('takes __proto__ and constructor for data', () => {
    const stored = JSON.parse('{"__proto__":{"x":1},"constructor":"me"}') as object
    expect(matches(parseFilters('__proto__.x=1&constructor=me').filters, stored)).toBe(true)
  })

  test('agrees with the entries of an index, plain or multi', () => {
    const scalar = fc.oneof(
      fc.constantFrom('5', 'true', 'null', '', '2026-11-21T12:00:00.000Z', 5, true, false, null),
      fc.constantFrom({ $t: 'Date', v: '2026-11-21T12:00:00Z' }, { $t: 'Date', v: 'NaN' }, {}),
      fc.string({ maxLength: 2 }),
      fc.integer({ min: -9, max: 9 }),
    )
    const value = fc.oneof(scalar, fc.array(fc.oneof(scalar, fc.constant([5])), { maxLength: 3 }))
    const text = fc.oneof(
      fc.constantFrom('5', 'true', 'false', 'null', '', '2026-11-21T12:00:00.000Z', '-3'),
      fc.string({ maxLength: 2 }),
    )
    fc.assert(
      fc.property(value, text, fc.boolean(), (value, text, multi) => {
        const index = { paths: ['p'], multi, compound: false }
        const values = indexedValues(index, { p: value })
        const entries = values.flatMap((one) => indexKey(index, one) ?? [])
        const candidates = candidateKeys(text)
        const isFound = entries.some((entry) =>
          candidates.some((key) => Buffer.compare(key, entry) === 0),
        )
        const isMatch = matches([{ path: 'p', texts: [text] }], { p: value })
        if (Array.isArray(value) && !multi) {
          expect(entries).toHaveLength(1)
          expect(Buffer.compare(entries[0]!, ARRAY_RANGE.lower)).toBe(1)
          expect(Buffer.compare(entries[0]!, ARRAY_RANGE.upper)).toBe(-1)
        } else {
          expect(isFound).toBe(isMatch)
        }
      }),
      { numRuns: 3000 },
    )
  })
})
