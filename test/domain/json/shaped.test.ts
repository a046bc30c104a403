import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { LeftOut, readShaped, type Shape } from '../../../src/domain/json/shaped'
import type { ErrorCode } from '../../../src/domain/value/error'
import { refusalOf } from '../../contract/fixture'

const VALUE = {
  kind: 'value',
  limits: { depth: 5, values: 1_000 },
  bytes: Infinity,
  mayBeLeftOut: true,
} as const
const SHAPE: Shape = {
  kind: 'object',
  fields: new Map<string, Shape>([
    ['name', { ...VALUE, bytes: 10, mayBeLeftOut: false }],
    ['rows', { kind: 'list', of: VALUE }],
  ]),
}

async function* chunksOf(text: string, size: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Reads a text in chunks of `size` bytes, and counts the values that were read. */
async function read(text: string, size = 7, most = 1_000_000) {
  const grown: number[] = []
  const grow = async (values: number) => void grown.push(values)
  const value = await readShaped(chunksOf(text, size), SHAPE, { values: most, grow })
  return { value, grown }
}

describe('JSON is read by its shape', () => {
  test('as JSON.parse does, whatever the chunks, without the fields that are unknown', async () => {
    const value = fc.jsonValue({ maxDepth: 3 })
    const body = fc.record({
      ignored: value,
      name: fc.stringMatching(/^\w{0,8}$/),
      rows: fc.array(value),
      more: value,
    })
    await fc.assert(
      fc.asyncProperty(body, fc.integer({ min: 1, max: 200 }), async (given, size) => {
        const { name, rows } = given
        const known: unknown = JSON.parse(JSON.stringify({ name, rows }))
        expect((await read(JSON.stringify(given), size)).value).toEqual(known)
      }),
      { numRuns: 300 },
    )
  })

  test('large values are parsed in slices', async () => {
    const row = { list: Array.from({ length: 900 }, (_, n) => `${n}`.padEnd(300, 'x')) }
    const rows = [row, 1, row, [row.list, []]]
    for (const size of [1_000, 70_000, 10_000_000]) {
      const { value } = await read(JSON.stringify({ rows }), size)
      expect(Bun.deepEquals(value, { rows })).toBe(true)
    }
  })

  test('fields that are unknown are not parsed, and their values do not count', async () => {
    const ignored = `[${'{},'.repeat(100_000)}${'['.repeat(5_000)}1${']'.repeat(5_000)}]`
    const { value, grown } = await read(`{"x":${ignored},"rows":[1],"y":[1 2 ?]}`, 5_000, 10)
    expect(value).toEqual({ rows: [1] })
    expect(grown).toEqual([])
  })

  test('memory is reserved for the values that are read', async () => {
    const { grown } = await read(`{"rows":[${'[1,2,3],'.repeat(100_000)}4]}`, 5_000)
    expect(grown.length).toBeGreaterThan(5)
    const reserved = grown.reduce((sum, values) => sum + values, 0)
    expect(reserved).toBeGreaterThan(350_000)
    expect(reserved).toBeLessThan(400_100)
  })

  test.each([
    ['too many values', `[${'{},'.repeat(1_001)}1]`],
    ['many more', `[${'{},'.repeat(3_000_000)}1]`],
    ['too many levels', '[[[[[[1]]]]]]'],
    ['very many levels', `${'['.repeat(500_000)}${']'.repeat(500_000)}`],
  ])('a value with %s is left out', async (_what, text) => {
    const { value } = await read(`{"rows":[1,${text},2],"name":"a"}`, 65_536)
    expect(value).toEqual({ rows: [1, expect.any(LeftOut), 2], name: 'a' })
  })

  test.each<[ErrorCode, string]>([
    ['UNPROCESSABLE', '{"name":"a long name"}'],
    ['UNPROCESSABLE', `{"rows":[${'1,'.repeat(101)}1]}`],
    ['INVALID_REQUEST', '{"rows":[1,]}'],
    ['INVALID_REQUEST', '{"rows":[{"a":}]}'],
    ['INVALID_REQUEST', '{"rows":[1]'],
    ['INVALID_REQUEST', '{"rows":[1]} 2'],
    ['INVALID_REQUEST', '{"rows":["\ud800'],
    ['INVALID_REQUEST', ''],
  ])('%s is the answer to %s', async (code, text) => {
    expect(await refusalOf(read(text, 3, 100))).toBe(code)
  })

  test('the last of duplicate keys counts', async () => {
    expect((await read('{"rows":[1,2],"name":"a","rows":[3],"name":"b"}')).value).toEqual({
      rows: [3],
      name: 'b',
    })
    const large = `"${'x'.repeat(200_000)}"`
    const two = `{"rows":[${large}],"rows":[1]}`
    expect((await read(two, 1_000_000)).value).toEqual({ rows: [1] })
  })

  test('a short value in place of a list is given as it is', async () => {
    for (const rows of [null, 5, 'text', { $t: 'undefined' }]) {
      expect((await read(JSON.stringify({ rows }))).value).toEqual({ rows })
    }
    expect((await read('[1]')).value).toEqual([1])
  })
})
