import { describe, expect, test } from 'bun:test'
import { isJson } from './is-json'
import * as fc from 'fast-check'
import { findJsonFault, offsetInString } from '../../../src/domain/json/syntax'
import { positionAt } from '../../../src/domain/value/position'

describe('findJsonFault', () => {
  test('agrees with JSON.parse on every text', () => {
    fc.assert(
      fc.property(damagedJson(), (text) => {
        expect(findJsonFault(text) === undefined).toBe(isJson(text))
      }),
      { numRuns: 3000 },
    )
  })

  test.each([
    ['', 0, 'a value'],
    ['  nul', 2, 'a value'],
    ['[1,]', 3, 'a value'],
    ['[1 2]', 3, 'a comma or "]"'],
    ['{"a":1 "b":2}', 7, 'a comma or "}"'],
    ['{a:1}', 1, 'a key in double quotes or "}"'],
    ['{"a":1,}', 7, 'a key in double quotes'],
    ['{"a" 1}', 5, 'a colon'],
    ['{"a":', 5, 'a value'],
    ['[1', 2, 'a comma or "]"'],
    ['"abc', 4, 'a double quote'],
    ['"a\nb"', 2, 'an escaped control character'],
    [String.raw`"a\xb"`, 2, 'a valid escape'],
    [String.raw`"\u12g4"`, 1, 'a valid escape'],
    ['01', 0, 'a value'],
    ['[1, 1e]', 4, 'a value'],
    ['["äö", 01]', 7, 'a value'],
    ['{} {}', 3, 'the end'],
    ["{'a': 1}", 1, 'a key in double quotes or "}"'],
    ['[1}', 2, 'a comma or "]"'],
  ])('finds the place in %p', (text, offset, expected) => {
    expect(findJsonFault(text)).toEqual({ offset, expected })
  })

  test('reads a million levels without recursion', () => {
    expect(findJsonFault('['.repeat(1e6) + ']'.repeat(1e6))).toBeUndefined()
    expect(findJsonFault('['.repeat(1e6))?.offset).toBe(1e6)
  })

  test('shows each value with its path, its place and the place of its key', () => {
    const seen: string[] = []
    const text = String.raw`{ "a": [1, {"\u0062": null}], "c d":"x", "__proto__": {} }`
    const value = (path: readonly string[], start: number, keyStart: number) => {
      seen.push(`${path.join('/')} ${text.slice(keyStart, start)}>${text.slice(start, start + 3)}`)
    }
    expect(findJsonFault(text, { value })).toBeUndefined()
    expect(seen).toEqual([
      'a "a": >[1,',
      'a/0 >1, ',
      'a/1 >{"\\',
      String.raw`a/1/b "\u0062": >nul`,
      'c d "c d":>"x"',
      '__proto__ "__proto__": >{} ',
    ])
  })
})

test('positionAt counts lines and columns from 1', () => {
  const text = 'ab\n\ncd'
  expect([0, 2, 3, 4, 6].map((offset) => positionAt(text, offset))).toEqual([
    { line: 1, column: 1 },
    { line: 1, column: 3 },
    { line: 2, column: 1 },
    { line: 3, column: 1 },
    { line: 3, column: 3 },
  ])
})

test('offsetInString finds a character behind escapes', () => {
  const text = String.raw`["a\n\u0062\"c"]`
  const value = 'a\nb"c'
  expect(Array.from(value, (_, i) => text.slice(offsetInString(text, 1, i)))).toEqual([
    String.raw`a\n\u0062\"c"]`,
    String.raw`\n\u0062\"c"]`,
    String.raw`\u0062\"c"]`,
    String.raw`\"c"]`,
    'c"]',
  ])
})

/** JSON in which up to three places are replaced by something that may or may not fit. */
function damagedJson(): fc.Arbitrary<string> {
  const scrap = fc.constantFrom(...SCRAPS)
  const damage = fc.array(fc.tuple(fc.nat(), fc.nat(2), scrap), { maxLength: 3 })
  return fc.tuple(fc.json(), damage).map(([json, places]) => {
    let text = json
    for (const [place, length, replacement] of places) {
      const at = place % (text.length + 1)
      text = text.slice(0, at) + replacement + text.slice(at + length)
    }
    return text
  })
}

const SCRAPS = [...Array.from('[]{},:"\\ \n1e.-+0tfn\u0001é'), '', 'null', '\\u00', '""', '0.']
