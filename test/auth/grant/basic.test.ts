import { describe, expect, test } from 'bun:test'
import { readBasic } from '../../../src/auth/grant/basic'
import { codeOf } from '../setup'

const encode = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

describe('an Authorization header (RFC 6749 §2.3.1)', () => {
  test('with Basic names the client and its secret, form-encoded', () => {
    expect(readBasic(encode('id:secret'))).toEqual({ clientId: 'id', clientSecret: 'secret' })
    expect(readBasic(encode('id:a:b'))).toEqual({ clientId: 'id', clientSecret: 'a:b' })
    expect(readBasic(encode('i%3Ad:a+b%2B'))).toEqual({ clientId: 'i:d', clientSecret: 'a b+' })
    expect(readBasic(encode('id:secret').replace('Basic', 'bAsIc  '))?.clientId).toBe('id')
  })

  test('of another kind, or none, is not about the client', () => {
    expect(readBasic(null)).toBeUndefined()
    expect(readBasic('')).toBeUndefined()
    expect(readBasic('Bearer abc')).toBeUndefined()
  })

  test.each([['Basic '], ['Basic !!!'], [encode('id')], [encode(':secret')], [encode('%:%')]])(
    'that cannot be read is refused: %p',
    async (header) => {
      expect(await codeOf(() => readBasic(header))).toBe('INVALID_CLIENT')
    },
  )
})
