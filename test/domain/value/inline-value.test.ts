import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { builtInTypeDefs, TypesonSimplified } from 'dexie-cloud-common'
import { inlineValueOf } from '../../../src/domain/value/inline-value'

/** As the published clients write values. */
const TSON = TypesonSimplified(builtInTypeDefs)

function sent(value: unknown): unknown {
  return JSON.parse(TSON.stringify(value))
}

const VIEWS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
] as const

test('the bytes of every binary value are those that clients sent', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...VIEWS), (given, View) => {
      const whole = given.slice(0, given.length - (given.length % 8))
      const inline = inlineValueOf(sent(new (View as typeof Uint8Array)(whole.buffer)))
      expect(inline).toMatchObject({ restoredAs: View.name, kind: 'binary', size: whole.length })
      expect(Buffer.from(inline?.decode() ?? 'none')).toEqual(Buffer.from(whole))
      const buffer = inlineValueOf(sent(given.slice().buffer))
      expect(buffer).toMatchObject({ restoredAs: 'ArrayBuffer', size: given.length })
      expect(Buffer.from(buffer?.decode() ?? 'none')).toEqual(Buffer.from(given))
    }),
  )
})

test('a file and a blob are bytes of a type; a name is lost', () => {
  const v = Buffer.from('some bytes').toString('base64')
  for (const value of [
    { $t: 'Blob', v, type: 'image/png' },
    { $t: 'File', v, type: 'image/png', name: 'x.png', lastModified: '2026-01-01T00:00:00.000Z' },
  ]) {
    const inline = inlineValueOf(value)
    expect(inline).toMatchObject({ restoredAs: 'Blob', kind: 'file', size: 10, type: 'image/png' })
    expect(Buffer.from(inline?.decode() ?? '').toString()).toBe('some bytes')
  }
  for (const type of [undefined, '', ' ', 7]) {
    expect(inlineValueOf({ $t: 'Blob', v, type })?.type.trim()).toBe('')
  }
})

test('a text is measured as clients measure it, and stored as UTF-8', () => {
  const inline = inlineValueOf('ü😀')
  expect(inline).toMatchObject({ restoredAs: 'string', kind: 'string', size: 3 })
  expect(inline?.decode()).toEqual(Buffer.from('ü😀'))
  expect(inline?.type).toBe('text/plain;charset=utf-8')
})

test('a text that UTF-8 cannot hold is none', () => {
  expect(inlineValueOf('half of 😀'.slice(0, -1))).toBeUndefined()
})

test('a value with other than exactly its bytes cannot be read', () => {
  const unreadable = [
    ...['AA', 'AA=', 'A===', 'AAA', 'AB==', 'AA==\n', ' AA==', 'A A=', 'AA-=', 'AA__', '!!!!'].map(
      (v) => ({ $t: 'Blob', v }),
    ),
    ...[7, null, undefined, {}].map((v) => ({ $t: 'Blob', v })),
    ...['00', '00-', '0===', '0A--', '00==', '00--\n', '+/==', '0ü--', '00\u0100-', '0000 '].map(
      (v) => ({ $t: 'Uint8Array', v }),
    ),
    { $t: 'Uint8Array', v: null },
    { $t: 'Uint16Array', v: '0G--' },
    { $t: 'Float64Array', v: '0000' },
  ]
  for (const value of unreadable) {
    expect([value, inlineValueOf(value)?.decode()]).toEqual([value, undefined])
  }
})

test('everything else is no inline value', () => {
  const others = [
    { $t: 'Date', v: '2026-01-01T00:00:00.000Z' },
    { $t: 'Set', v: ['a'] },
    { $t: 'constructor', v: 'AA==' },
    { _bt: 'Blob', ref: '1:a', size: 1 },
    { v: 'AA==' },
    ['AA=='],
    null,
    7,
    true,
    undefined,
  ]
  for (const value of others) expect(inlineValueOf(value)).toBeUndefined()
})
