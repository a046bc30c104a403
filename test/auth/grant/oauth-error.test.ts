import { describe, expect, test } from 'bun:test'
import { oauthError } from '../../../src/auth/grant/oauth-error'
import { type ErrorCode, SatchelError } from '../../../src/domain/value/error'

const row = (code: ErrorCode, message = 'a sentence') => oauthError(new SatchelError(code, message))

describe('a refusal of /token (RFC 6749 §5.2)', () => {
  test.each([
    ['INVALID_REQUEST', 400, 'invalid_request'],
    ['RESERVED_CLAIM', 400, 'invalid_request'],
    ['INVALID_SCOPE', 400, 'invalid_scope'],
    ['UNAUTHORIZED_CLIENT', 400, 'unauthorized_client'],
    ['UNSUPPORTED_GRANT_TYPE', 400, 'unsupported_grant_type'],
    ['INVALID_CLIENT', 401, 'invalid_client'],
    ['INVALID_GRANT', 401, 'invalid_grant'],
    ['USER_DEACTIVATED', 403, 'access_denied'],
  ] as const)('for %s is %p %p', (code, status, error) => {
    expect(row(code)).toEqual({
      status,
      error,
      error_description: 'a sentence',
      code,
      message: 'a sentence',
    })
  })

  test('for an expired client key has no error field, only the word', () => {
    const refusal = row('CLIENT_EXPIRED', 'The key has expired')
    expect(refusal).toMatchObject({ status: 401, message: 'The key has expired' })
    expect(refusal).not.toHaveProperty('error')
  })

  test('is none when the request was not the reason', () => {
    for (const code of ['BUSY', 'STORAGE_FULL', 'INTERNAL', 'UNKNOWN_DATABASE'] as const) {
      expect(row(code)).toBeUndefined()
    }
  })

  test('describes itself in the characters that OAuth allows', () => {
    const refusal = row('INVALID_SCOPE', 'no "åäö" \\ here\n')
    expect(refusal?.error_description).toBe("no '???' ? here?")
    expect(refusal?.message).toBe('no "åäö" \\ here\n')
  })
})
