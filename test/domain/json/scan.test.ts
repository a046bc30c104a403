import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { JSON_LIMITS, parseJson, scanJson } from '../../../src/domain/json/scan'
import { refusal } from '../refusal'

const LIMITS = JSON_LIMITS

describe('scanJson', () => {
  test('counts depth and values like a parser does', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 6 }),
        fc.constantFrom(undefined, 1, '\t'),
        (value, space) => {
          const bytes = Buffer.from(JSON.stringify(value, null, space))
          const { depth, values } = measure(value)
          scanJson(bytes, { depth, values })
          if (depth > 0) refuses(() => scanJson(bytes, { depth: depth - 1, values }))
          if (values > 1) refuses(() => scanJson(bytes, { depth, values: values - 1 }))
        },
      ),
      { numRuns: 500 },
    )
  })

  test('does not mistake what is inside strings', () => {
    for (const tail of ['', '\\', '"', '\\"', '\\\\"', 'x'.repeat(47), `${'x'.repeat(60)}\\\\`]) {
      const text = JSON.stringify({ [`[{,${tail}`]: [`${tail}]}[[,,`, 1] })
      expectAccepted(text, { depth: 2, values: 4 })
      refuses(() => scanJson(Buffer.from(text), { depth: 1, values: 4 }))
      refuses(() => scanJson(Buffer.from(text), { depth: 2, values: 3 }))
    }
  })

  test('accepts exactly the limits', () => {
    expectAccepted('['.repeat(64) + ']'.repeat(64), LIMITS)
    expectAccepted(`[${'{},'.repeat(999_998)}[ ]]`, LIMITS)
    refuses(() => scanJson(Buffer.from(`[${'{},'.repeat(999_999)}[ ]]`), LIMITS))
  })

  test('refuses a million levels and ten million values before they take memory', () => {
    const deep = Buffer.from('['.repeat(1e6))
    const wide = Buffer.from(`[${'0,'.repeat(1e7)}0]`)
    const growths = [1, 2, 3].map(() => {
      const before = process.memoryUsage().rss
      expect(refusal(() => parseJson(deep, LIMITS)).message).toBe(
        'JSON may not nest deeper than 64 levels',
      )
      expect(refusal(() => parseJson(wide, LIMITS)).message).toBe(
        'JSON may not hold more than 1000000 values',
      )
      return process.memoryUsage().rss - before
    })
    // The process may grow once for other reasons.
    expect(Math.min(...growths)).toBeLessThan(50 * 2 ** 20)
  })

  test('leaves what is no JSON to the parser', () => {
    for (const text of ['', '"', '"\\', '[', ']', ']]]][[', '[}', 'x', '{"a', '[1,,2]']) {
      expectAccepted(text, LIMITS)
    }
  })
})

describe('parseJson', () => {
  test('parses bytes and text alike', () => {
    const value = { é: [1.5, null, '😀'], a: { b: true } }
    expect(parseJson(JSON.stringify(value), LIMITS)).toEqual(value)
    expect(parseJson(Buffer.from(`\ufeff${JSON.stringify(value)}`), LIMITS)).toEqual(value)
  })

  test('keeps __proto__ as an own property and the last of duplicate keys', () => {
    const value = parseJson('{"__proto__":{"x":1},"a":1,"a":2}', LIMITS) as Record<string, unknown>
    expect(Object.entries(value)).toEqual([
      ['__proto__', { x: 1 }],
      ['a', 2],
    ])
  })

  test('tells line and column of a syntax error and nothing of the content', () => {
    const error = refusal(() => parseJson('{\n  "secret": hunter2\n}', LIMITS))
    expect(error.code).toBe('INVALID_REQUEST')
    expect(error.message).toBe(
      'The body is not valid JSON: a value is expected at line 2, column 13',
    )
  })

  test('refuses a second byte order mark, and one in a text that was decoded before', () => {
    for (const input of ['\ufeff{}', Buffer.from('\ufeff\ufeff{}')]) {
      const error = refusal(() => parseJson(input, LIMITS))
      expect(error.code).toBe('INVALID_REQUEST')
      expect(error.message).toEndWith('a value is expected at line 1, column 1')
    }
  })

  test('counts from where the text begins in a file', () => {
    const file = { name: 'items.json', start: { line: 7, column: 5 } }
    expect(refusal(() => parseJson('[1', LIMITS, file)).message).toEndWith('line 7, column 7')
    expect(refusal(() => parseJson('[\n1', LIMITS, file)).message).toEndWith('line 8, column 2')
    expect(refusal(() => parseJson('[1', LIMITS, file)).message).toStartWith('items.json is not')
  })

  test('refuses bytes that are not UTF-8', () => {
    for (const bytes of [
      [0xff],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe2],
    ]) {
      const error = refusal(() => parseJson(Uint8Array.from([0x22, ...bytes, 0x22]), LIMITS))
      expect(error.code).toBe('INVALID_REQUEST')
      expect(error.message).toBe('The body is not well-formed UTF-8')
    }
  })
})

function measure(value: unknown): { depth: number; values: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, values: 1 }
  const inner = Object.values(value).map(measure)
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    values: 1 + inner.reduce((sum, { values }) => sum + values, 0),
  }
}

function expectAccepted(text: string, limits: typeof LIMITS): void {
  expect(() => scanJson(Buffer.from(text), limits)).not.toThrow()
}

function refuses(work: () => void): void {
  expect(refusal(work).code).toBe('UNPROCESSABLE')
}
