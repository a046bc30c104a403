import { describe, expect, test } from 'bun:test'
import { formatRef, parseRef, requireBlobId, requireBlobType } from '../../../src/domain/value/blob'
import { codeOf } from '../../auth/setup'
import { shortestTime } from '../../timing'

const GOOD = [
  '0Q7wmXvO3IdAJuWXRbP9ImQZ',
  '0GBv|l--',
  'deadbeef'.repeat(4),
  'a',
  '...',
  'x'.repeat(128),
]
const BAD = ['', '.', '..', 'a/b', 'a\\b', 'a:b', 'a b', 'a%b', 'ä', 'a\n', 'a\0', 'x'.repeat(129)]

describe('the id of a blob', () => {
  test.each(GOOD)('may be %p, and is found again in its ref', (id) => {
    expect(requireBlobId(id)).toBe(id)
    expect(formatRef(id)).toBe(`1:${id}`)
    expect(parseRef(formatRef(id))).toBe(id)
  })

  test.each(BAD)('is not %p', async (id) => {
    expect(await codeOf(() => requireBlobId(id))).toBe('INVALID_REQUEST')
    expect(parseRef(`1:${id}`)).toBeUndefined()
  })

  test.each(['a', '2:a', ':a', '1', '1:', '1:a:b', '01:a', ' 1:a', '1:a '])(
    'is in no ref like %p',
    (ref) => {
      expect(parseRef(ref)).toBeUndefined()
    },
  )
})

describe('the content type of a blob', () => {
  test('has no blanks at its ends', () => {
    expect(requireBlobType('  text/plain; x=a b ')).toBe('text/plain; x=a b')
    expect(requireBlobType('   ')).toBe('application/octet-stream')
  })

  test('takes linear time, however many blanks it has inside', async () => {
    const timeOf = (blanks: number) =>
      shortestTime(5, () => codeOf(() => requireBlobType(`a${' '.repeat(blanks)}b`)))
    const [some, many] = [await timeOf(2_000), await timeOf(64_000)]
    // Quadratic time would be a thousand times as long.
    expect(many / some).toBeLessThan(200)
  })
})
