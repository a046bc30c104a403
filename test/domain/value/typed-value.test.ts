import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { SatchelError } from '../../../src/domain/value/error'
import { requireWireObject } from '../../../src/domain/value/value'
import { decodeRows } from './decoding'

/** design.md §6 "typed values": what clients must be able to read is stored, everything else refused. */

const B64LEX = ['', '0G--', '0G8-', '0042', '0GBv|l--']
const ACCEPTED: readonly object[] = [
  ...['NaN', '2030-01-31T12:00:00.000Z', '2030-01-31', '+012030-01-31T12:00:00.000Z'].map(date),
  ...['2030-01-31T12:00:00.123456+02:00', '2030-01-31T12:00', '2030-01', '2030'].map(date),
  ...['NaN', 'Infinity', '-Infinity'].map((v) => ({ $t: 'number', v })),
  { $t: 'undefined' },
  ...['0', '-7', '9'.repeat(1000)].map((v) => ({ $t: 'bigint', v })),
  ...[[], [1, null, 'a', date('NaN')]].map((v) => ({ $t: 'Set', v })),
  ...[[], [['a', 1]], [[date('NaN'), [1]]]].map((v) => ({ $t: 'Map', v })),
  ...['ArrayBuffer', 'DataView', 'Uint8Array'].flatMap(($t) => B64LEX.map((v) => ({ $t, v }))),
  { $t: 'Uint16Array', v: '0G8-' },
  { $t: 'Float32Array', v: '000000--' },
  { $t: 'BigInt64Array', v: '00000000000-' },
  { $t: 'Blob', v: '' },
  { $t: 'Blob', v: 'AA==', type: 'image/png' },
  { $t: 'File', v: 'AAE=' },
  { $t: 'File', v: 'AAEC', type: '', name: 'ü', lastModified: '2024-01-01T00:00:00.000Z' },
  { $t: 'URL', href: 'https://example.com/?a=b' },
  { $t: 'Unheard', v: [1, { x: null }], $$more: true },
  { $t: '', v: 1 },
]

const REFUSED: readonly object[] = [
  ...['x', '', 'no date', '2030-13-01', '2030-01-31 12:00', 'Thu Jan 31 2030'].map(date),
  ...[1, null, undefined, { toString: 1, valueOf: 1 }, ['2030-01-31']].map(date),
  ...['7', '', 'nan', 1, undefined, { valueOf: 1, toString: 1 }].map((v) => ({ $t: 'number', v })),
  ...['', '-', '+1', '1n', 'x', '1.5', '9'.repeat(1001), 7, null].map((v) => ({ $t: 'bigint', v })),
  ...[undefined, null, 7, 'ab', {}, { $t: 'undefined' }].map((v) => ({ $t: 'Set', v })),
  ...[undefined, 'ab', [1], [['a']], [['a', 1, 2]], [null], [{ 0: 'a', 1: 1, length: 2 }]].map(
    (v) => ({ $t: 'Map', v }),
  ),
  { $t: 'Map', v: [{ $t: 'undefined' }] },
  ...['!!', '00==', '00', '0', '00-', '0===', '0A--', '00--\n', '+/==', '0ü--', '0000 ', null].map(
    (v) => ({ $t: 'Uint8Array', v }),
  ),
  { $t: 'Uint8Array', $$ref: 'x', $$size: 1 },
  { $t: 'Uint16Array', v: '0G--' },
  { $t: 'Float64Array', v: '0000' },
  { $t: 'DataView', v: '=' },
  ...['AA', 'AA=', 'A===', 'AAA', 'AB==', 'AA==\n', ' AA==', 'AA__', '0G--', null].flatMap((v) => [
    { $t: 'Blob', v },
    { $t: 'File', v },
  ]),
  { $t: 'Blob', v: 'AA==', type: 7 },
  { $t: 'Blob', v: 'AA==', type: { $t: 'undefined' } },
  { $t: 'File', v: 'AA==', name: null },
  { $t: 'File', v: 'AA==', lastModified: 0 },
  { $t: 'URL', href: 'x' },
  { $t: 'URL', v: 'https://example.com' },
  { $t: 'PropModification', add: 2 },
  { '@@propmod': { add: 2 } },
  { '@@propmod': null },
  ...Object.getOwnPropertyNames(Object.prototype).map(($t) => ({ $t, v: 'x' })),
  { $t: 'Set', v: [], $$more: 1 },
  { $t: 'Date', v: 'NaN', more: { $t: 'undefined' } },
]

function date(v: unknown): object {
  return { $t: 'Date', v }
}

describe('a typed value', () => {
  test('that clients can read is stored as it came', async () => {
    const rows = ACCEPTED.map((value) => ({ $$x: 1, value, $$y: { in: [[value]] } }))
    const texts = rows.map((row) => JSON.stringify(row))
    for (const [position, text] of texts.entries()) {
      expect(stored(JSON.parse(text))).toEqual({ ...rows[position]!, $$y: expect.anything() })
    }
    for (const [position, decoded] of (await decodeRows(texts.map(normalized))).entries()) {
      expect([texts[position], decoded]).toEqual([texts[position], { addon: null, sdk: null }])
    }
  })

  test.each(REFUSED.map((value) => [JSON.stringify(value), value] as const))(
    'that they cannot read is refused with its path: %s',
    (_text, value) => {
      const places = [
        [{ a: value }, 'a'],
        [{ a: { b: [1, value] } }, 'a.b.1'],
        [{ a: { $t: 'Set', v: [[value]] } }, 'a.v.0.0'],
        [{ a: { $t: 'Map', v: [['k', value]] } }, 'a.v.0.1'],
        [{ a: { $t: 'Unheard', v: value } }, 'a.v'],
      ] as const
      for (const [object, path] of places) {
        const refusal = refusalOf(structuredClone(object))
        expect([refusal?.code, refusal?.reason?.startsWith(path)]).toEqual(['UNPROCESSABLE', true])
      }
    },
  )

  test('is no object by itself', () => {
    for (const value of [...ACCEPTED, ...REFUSED]) {
      const { $t: type } = value as { $t?: string }
      const isKept = type === 'Unheard' || type === ''
      expect([value, refusalOf({ id: 'a', ...value })?.code]).toEqual([
        value,
        isKept ? undefined : 'UNPROCESSABLE',
      ])
    }
  })

  test('that is undefined becomes null inside arrays, Sets and Maps', () => {
    const undef = { $t: 'undefined' }
    const object = { a: [undef, [undef]], b: { $t: 'Set', v: [undef] }, c: undef }
    expect(stored({ ...object, d: { $t: 'Map', v: [[undef, undef]] } })).toEqual({
      a: [null, [null]],
      b: { $t: 'Set', v: [null] },
      c: undef,
      d: { $t: 'Map', v: [[null, null]] },
    })
  })

  test('of megabytes is checked in place', () => {
    for (const size of [0, 1, 2]) {
      const bytes = Buffer.alloc(3 * 2 ** 20 + size, 7).toString('base64')
      expect(refusalOf({ a: { $t: 'Blob', v: bytes } })).toBeUndefined()
      expect(refusalOf({ a: { $t: 'Blob', v: `${bytes.slice(0, -4)}=AAA` } })).toBeDefined()
    }
  })
})

test('both clients read all objects of an answer, whatever was stored', async () => {
  const names = fc.constantFrom('a', 'v', '$$a', '$$', '@@propmod', 'href', 'type', 'name', '_bt')
  const types = fc.constantFrom(
    ...[...ACCEPTED, ...REFUSED].map((value) => (value as { $t?: string }).$t ?? 'x'),
  )
  const texts = fc.constantFrom('NaN', '0G--', 'AA==', '0042', '7', 'https://a.b/', '2030', 'x', '')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      texts,
      fc.constantFrom<unknown>(null, 7, { $t: 'undefined' }, ...ACCEPTED, ...REFUSED),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(names, tie('value'), { maxKeys: 3 }),
      fc.record({ $t: types, v: fc.array(tie('value'), { maxLength: 2 }) }),
      fc.record({ $t: types, v: texts, more: tie('value') }, { requiredKeys: ['$t'] }),
      fc.record({ $t: fc.constant('Map'), v: fc.array(fc.tuple(tie('value'), tie('value'))) }),
    ),
  }))
  const objects = fc.dictionary(names, value, { maxKeys: 4 })
  const kept: string[] = []
  let refused = 0
  for (const object of fc.sample(objects, { numRuns: 5_000, seed: 7 })) {
    const parsed = JSON.parse(JSON.stringify(object)) as object
    if (refusalOf(parsed) === undefined) kept.push(JSON.stringify(parsed))
    else refused += 1
  }
  expect(kept.length).toBeGreaterThan(500)
  expect(refused).toBeGreaterThan(500)
  const decoded = await decodeRows(kept)
  const failures = kept.filter((_, n) => decoded[n]?.addon !== null || decoded[n].sdk !== null)
  expect(failures).toEqual([])
})

function stored(object: unknown): object {
  return requireWireObject(object, '')
}

/** With what the check changes. */
function normalized(text: string): string {
  return JSON.stringify(stored(JSON.parse(text)))
}

function refusalOf(object: unknown): SatchelError | undefined {
  try {
    stored(object)
    return undefined
  } catch (error) {
    if (error instanceof SatchelError) return error
    throw error
  }
}
