import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { decodePart, encodePart, readHash, writeHash } from '../../src/admin/page/shell/address'

test('any text is a part of an address and comes back, also halves of surrogate pairs', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(encodePart(text)).toMatch(/^[\x21-\x7e]*$/)
      expect(encodePart(text)).not.toContain('/')
      expect(decodePart(encodePart(text))).toBe(text)
    }),
  )
  for (const text of ['a\ud800b', '\udfff', '~d800', '%', '__proto__', '#/x']) {
    expect(decodePart(encodePart(text))).toBe(text)
  }
})

test('a place is read from its address', () => {
  const place = { database: 'shop', page: 'data', rest: ['todo/Items', '../key #1'] }
  expect(readHash(writeHash(place))).toEqual(place)
  expect(readHash('')).toEqual({ database: '', page: '', rest: [] })
  expect(readHash('#/shop')).toEqual({ database: 'shop', page: '', rest: [] })
})

test('an address that cannot be decoded stays as it is', () => {
  expect(readHash('#/shop/data/%E0%A4%A')).toMatchObject({ rest: ['%E0%A4%A'] })
})
