import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { closingQuote } from '../../../src/domain/json/bytes'

describe('closingQuote', () => {
  test('finds the first quote that is not escaped', () => {
    const part = fc.constantFrom('\\\\', '\\"', 'a', 'é', 'x'.repeat(40), '\\\\'.repeat(30))
    fc.assert(
      fc.property(fc.array(part), fc.boolean(), (parts, isClosed) => {
        const inside = Buffer.from(parts.join(''))
        const bytes = Buffer.concat([inside, Buffer.from(isClosed ? '" "' : '')])
        expect(closingQuote(bytes, 0)).toBe(isClosed ? inside.length : -1)
      }),
      { numRuns: 500 },
    )
  })
})
