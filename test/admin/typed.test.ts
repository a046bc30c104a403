import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { textSteps } from '../../src/admin/page/object/text'
import { describe, sizeText } from '../../src/admin/page/value/typed'
import { visible } from '../../src/admin/page/parts/visible'
import { stepsOf } from './steps'

const textOf = (value: unknown) => stepsOf(textSteps(value)).value
/** As it is shown whole. */
function shown(value: unknown): object {
  const described = describe(value)
  if (!('count' in described)) return described
  const { count, first, ...rest } = described
  return { ...rest, entries: first(count) }
}

test('typed values are shown as what they stand for', () => {
  expect(describe({ $t: 'Date', v: '2030-01-02T03:04:05.000Z' })).toEqual({
    kind: 'date',
    text: '2030-01-02T03:04:05.000Z',
    at: Date.UTC(2030, 0, 2, 3, 4, 5),
  })
  expect(describe({ $t: 'bigint', v: '12' })).toEqual({ kind: 'bigint', text: '12n' })
  expect(describe({ $t: 'number', v: 'NaN' })).toEqual({ kind: 'number', text: 'NaN' })
  expect(describe({ $t: 'undefined' })).toEqual({ kind: 'special', text: 'undefined' })
  expect(describe({ $t: 'Uint8Array', v: '0123' })).toEqual({
    kind: 'bytes',
    text: 'Uint8Array 3 B',
  })
  expect(describe({ $t: 'Blob', v: 'AAAA', type: 'image/png' })).toEqual({
    kind: 'bytes',
    text: 'Blob 3 B image/png',
  })
  expect(describe({ $t: 'Set', v: [1, 2] })).toMatchObject({ kind: 'list', text: 'Set of 2' })
  expect(shown({ $t: 'Map', v: [['a', 1]] })).toEqual({
    kind: 'object',
    text: 'Map of 1',
    entries: [['a', 1]],
  })
  expect(describe({ $t: 'URL', href: 'https://example.com/' })).toMatchObject({ kind: 'link' })
  expect(describe('https://example.com/x')).toMatchObject({ kind: 'link' })
  expect(describe('javascript:alert(1)')).toEqual({ kind: 'string', text: 'javascript:alert(1)' })
  expect(describe({ _bt: 'Blob', ref: '1:x', size: 48_300, ct: 'image/png' })).toEqual({
    kind: 'bytes',
    text: 'Blob 48.3 kB image/png',
    ref: '1:x',
  })
})

test('values that no client could read are shown without an error', () => {
  expect(describe({ $t: 'Date', v: 'NaN' })).toEqual({ kind: 'special', text: 'Invalid date' })
  expect(describe({ $t: 'Map', v: 7 })).toMatchObject({ kind: 'object' })
  expect(shown({ $t: 'Map', v: [7] })).toMatchObject({ entries: [['0', 7]] })
  expect(describe({ $t: 'Strange', v: 7 })).toMatchObject({ text: 'Strange{$t: Strange, v: 7}' })
  expect(describe({ $t: 7 })).toMatchObject({ kind: 'object' })
})

test('properties with the names of built-in ones are data', () => {
  const value: unknown = JSON.parse('{"__proto__":{"$t":"Date","v":"x"},"constructor":1}')
  expect(describe(value)).toMatchObject({
    kind: 'object',
    text: '{__proto__: Invalid date, constructor: 1}',
  })
})

test('a large value has a short line', () => {
  const list = Array.from({ length: 100_000 }, (_, at) => at)
  expect(describe(list).text.length).toBeLessThan(1_000)
  expect(describe({ text: 'x'.repeat(1_000_000) }).text.length).toBeLessThan(1_000)
})

test('sizes have a unit', () => {
  expect([0, 999, 1_000, 48_321, 12_300_000, 4e12, 5e15].map(sizeText)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '48.3 kB',
    '12.3 MB',
    '4.0 TB',
    '5000 TB',
  ])
})

test('characters that are not seen are written out', () => {
  expect(visible('\u202eevil\u0000 \ud800 😀')).toBe('\\u202eevil\\u0000 \\ud800 😀')
})

test('the text of an edit stands for the same object, whatever characters it has', () => {
  fc.assert(
    fc.property(fc.object({ key: fc.string({ unit: 'binary' }) }), (value) => {
      const stored: unknown = JSON.parse(JSON.stringify(value))
      expect(textOf(stored)).toBe(visible(JSON.stringify(stored, null, 2)))
      expect(JSON.parse(textOf(stored))).toEqual(stored)
    }),
  )
  const value: unknown = JSON.parse('{"__proto__":{"$t":"Nope","v":1},"a":"\u202e\ud800\u{e0001}"}')
  expect(JSON.stringify(JSON.parse(textOf(value)))).toBe(JSON.stringify(value))
})
