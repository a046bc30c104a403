import { expect, test } from 'bun:test'
import { escapeUnits, printableJson } from '../../../src/domain/value/escape'

test('escapes each unit that matches, a character beyond the basic plane as two', () => {
  expect(escapeUnits('a\u00ad\n😀', /[^ -~]/g)).toBe('a\\u00ad\\u000a\\ud83d\\ude00')
})

test('leaves no control character and no line separator in JSON, which still says the same', () => {
  const value = { text: '\u0000\u007f\u0085\u2028\u2029é' }
  const json = printableJson(value)
  expect(json).toBe('{"text":"\\u0000\\u007f\\u0085\\u2028\\u2029é"}')
  expect(JSON.parse(json)).toEqual(value)
  expect(printableJson({ n: 1 }, (_key, member) => (member === 1 ? 2 : member))).toBe('{"n":2}')
})
