import { describe, expect, test } from 'bun:test'
import { formatRef, parseRef, requireBlobId } from '../../../src/domain/value/blob'
import { codeOf } from '../../auth/setup'

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
