import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { SatchelError } from '../../../src/domain/value/error'
import { decodePercent } from '../../../src/domain/value/percent'

test('decodes what encodeURIComponent encodes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(decodePercent(encodeURIComponent(text))).toBe(text)
    }),
  )
})

test('leaves what is not escaped, a plus too', () => {
  expect(decodePercent('a+b/é')).toBe('a+b/é')
  expect(decodePercent('%2B%00%2f')).toBe('+\u0000/')
})

test.each([
  '%',
  'a%',
  '%2',
  '%zz',
  '%2x',
  '%u0041',
  '%ff',
  '%c0%ae',
  '%c3',
  '%c3(',
  '%e2%82',
  '%ed%a0%80',
  '%f4%90%80%80',
  '%80',
  'a\ud800',
  'a\ud800%20',
])('refuses %j', (raw) => {
  const decode = () => decodePercent(raw)
  expect(decode).toThrow(SatchelError)
  expect(decode).toThrow('The address has malformed percent-escapes')
  expect(decode).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }))
})
