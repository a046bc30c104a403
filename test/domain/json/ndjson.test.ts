import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { splitLines } from '../../../src/domain/json/ndjson'
import { collect, cut, cutAt, cuts, refusal } from '../chunks'

describe('splitLines', () => {
  test('gives the lines wherever the chunks are cut, without the blank ones', async () => {
    const line = fc.string({ unit: fc.constantFrom('a', ' ', 'é', '😀', '"'), maxLength: 4 })
    const ending = fc.constantFrom('\n', '\r\n')
    await fc.assert(
      fc.asyncProperty(fc.array(line), ending, cuts(), async (lines, ending, places) => {
        const read = await collect(splitLines(cutAt(lines.join(ending), places), { name: 'F' }))
        const expected = lines
          .map((text, i) => ({ line: i + 1, text }))
          .filter(({ text }) => text.trim() !== '')
        expect(read).toEqual(expected)
      }),
      { numRuns: 300 },
    )
  })

  test('refuses a line that is too long, however it is cut', async () => {
    for (const length of [1, 4, 100]) {
      const rules = { name: 'The file', maxBytes: 3 }
      expect(await collect(splitLines(cut('abc\r\nabc\nabc', length), rules))).toHaveLength(3)
      for (const [text, line] of [
        ['a\nabcd', 2],
        ['a\nabcd\r\n', 2],
        ['abcd\n', 1],
      ] as const) {
        const error = await refusal(splitLines(cut(text, length), rules))
        expect(error.code).toBe('PAYLOAD_TOO_LARGE')
        expect(error.message).toBe(`The file has a line of more than 3 bytes: line ${line}`)
      }
    }
  })

  test('names the line that is not UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('a\n\n'), Buffer.from([0xc3, 0x0a])])
    const error = await refusal(splitLines(cut(bytes, 2), { name: 'The file' }))
    expect(error.code).toBe('INVALID_REQUEST')
    expect(error.message).toContain('line 3')
  })
})
