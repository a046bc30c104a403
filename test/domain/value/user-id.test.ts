import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../../src/domain/value/error'
import { requireUserId } from '../../../src/domain/value/user-id'

describe('a user id', () => {
  test.each([
    ['alice', 'alice'],
    ['Alice', 'Alice'],
    ['Alice@Example.COM', 'alice@example.com'],
    [' alice@example.com ', 'alice@example.com'],
    ['ÅSA@EXAMPLE.SE', 'åsa@example.se'],
    ['auth0|507f1f77bcf86cd799439011', 'auth0|507f1f77bcf86cd799439011'],
    ['用户', '用户'],
    ['x'.repeat(256), 'x'.repeat(256)],
    ['ä'.repeat(128), 'ä'.repeat(128)],
  ])('may be %p and is kept as %p', (text, kept) => {
    expect(requireUserId(text)).toBe(kept)
  })

  test.each([
    [''],
    ['.'],
    ['..'],
    ['rlm'],
    ['rlm-public'],
    ['rlm~x'],
    ['#x'],
    ['acct:alice@example.com'],
    ['a\nb'],
    ['a\u0000'],
    ['\u0085x'],
    ['\ud800'],
    ['x'.repeat(257)],
    ['ä'.repeat(129)],
    [42],
    [null],
    [undefined],
    [{}],
    [['alice']],
  ])('may not be %p', (value) => {
    expect(() => requireUserId(value)).toThrow(SatchelError)
  })

  test('is refused with the code its caller answers with', () => {
    expect(() => requireUserId('')).toThrow(expect.objectContaining({ code: 'UNPROCESSABLE' }))
    expect(() => requireUserId('', 'INVALID_REQUEST')).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST' }),
    )
  })
})
