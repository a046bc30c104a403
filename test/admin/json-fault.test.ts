import { expect, test } from 'bun:test'
import { isJson } from '../domain/json/is-json'
import * as fc from 'fast-check'
import { faultSteps, findFault, findUnexpected } from '../../src/admin/page/object/json-fault'
import { stepsOf } from './steps'

test('an object of JSON has no fault', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      expect(findFault(JSON.stringify(value, null, 2))).toBeUndefined()
      expect(stepsOf(faultSteps(JSON.stringify(value, null, 2))).value).toBeUndefined()
    }),
  )
})

test('all before the place of a fault is right, and the sign there is wrong', () => {
  const sign = fc.constantFrom(...'{}[],:"\\ue1-+.0 \n\ttrufalsn'.split(''))
  const change = fc.tuple(fc.nat(), fc.nat(3), fc.string({ unit: sign, maxLength: 2 }))
  let faults = 0
  fc.assert(
    fc.property(fc.jsonValue(), change, (value, [from, length, added]) => {
      const text = JSON.stringify(value, null, 1)
      const at = from % (text.length + 1)
      const changed = text.slice(0, at) + added + text.slice(at + length)
      if (isJson(changed)) return
      faults += 1
      const [place] = findUnexpected(changed)
      expect(findUnexpected(changed.slice(0, place))[0]).toBe(place)
      if (place < changed.length) expect(findUnexpected(changed.slice(0, place + 1))[0]).toBe(place)
    }),
    { numRuns: 2_000 },
  )
  expect(faults).toBeGreaterThan(100)
})

test('a fault is told with its line, its column and what is expected', () => {
  const told: readonly (readonly [text: string, sentence: string])[] = [
    ['', 'Line 1, column 1: a value is expected'],
    ['[]', 'Line 1, column 1: an object is expected, in braces'],
    ['null', 'Line 1, column 1: an object is expected, in braces'],
    ['{\n  "a": 1\n  "b": 2\n}', 'Line 3, column 3: a comma or } is expected'],
    ['{"a": [1 2]}', 'Line 1, column 10: a comma or ] is expected'],
    ['{"a": 1,}', 'Line 1, column 9: a name in quotation marks is expected'],
    ['{a: 1}', 'Line 1, column 2: a name in quotation marks or } is expected'],
    ['{"a" 1}', 'Line 1, column 6: a colon is expected'],
    ['{"a": }', 'Line 1, column 7: a value is expected'],
    ['{"a": [1,]}', 'Line 1, column 10: a value is expected'],
    ['{"a": "b\n}', 'Line 1, column 9: a closing quotation mark is expected'],
    ['{"a": "\t"}', 'Line 1, column 8: an escape such as \\t is expected'],
    ['{"a": "\\x"}', 'Line 1, column 8: an escape such as \\n, \\" or \\u00e9 is expected'],
    ['{} {}', 'Line 1, column 4: the end of the text is expected'],
    ['{"__proto__": {"a": tru}}', 'Line 1, column 21: a value is expected'],
  ]
  for (const [text, sentence] of told) {
    expect(findFault(text)?.sentence).toBe(sentence)
    expect(stepsOf(faultSteps(text)).value).toEqual(findFault(text))
  }
})

test('a text of a million brackets has a fault as well', () => {
  expect(findUnexpected('['.repeat(1_000_000))[0]).toBe(1_000_000)
})
