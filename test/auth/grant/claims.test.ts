import { describe, expect, test } from 'bun:test'
import { flattenClaims, requireClaims } from '../../../src/auth/grant/claims'
import { refusalOf } from '../setup'

describe('claims', () => {
  test('name a person and carry what else the application says', () => {
    const given = {
      sub: 'Alice@Example.com',
      email: ' Alice@Example.com ',
      name: 'Alice',
      role: 'editor',
      teams: ['a', { b: null }],
    }
    const claims = requireClaims(given)
    expect(claims).toEqual({
      id: 'alice@example.com',
      email: 'alice@example.com',
      name: 'Alice',
      extra: { role: 'editor', teams: ['a', { b: null }] },
    })
    expect(flattenClaims(claims)).toEqual({
      sub: 'alice@example.com',
      email: 'alice@example.com',
      name: 'Alice',
      role: 'editor',
      teams: ['a', { b: null }],
    })
  })

  test('may leave e-mail and name out, or null', () => {
    const bare = { id: 'alice', email: null, name: null, extra: {} }
    expect(requireClaims({ sub: 'alice' })).toEqual(bare)
    expect(requireClaims({ sub: 'alice', email: null, name: null })).toEqual(bare)
    expect(flattenClaims(requireClaims({ sub: 'alice' }))).toEqual({ sub: 'alice' })
  })

  test('may not say what the server says', async () => {
    const reserved =
      'iss aud exp iat nbf jti scopes scope client_id license userType token_use cnf'.split(' ')
    for (const name of reserved) {
      const refusal = await refusalOf(() => requireClaims({ sub: 'alice', [name]: 1 }))
      expect(refusal.code).toBe('RESERVED_CLAIM')
      expect(refusal.message).toContain(name)
    }
    const polluting: unknown = JSON.parse('{"sub":"alice","__proto__":{"x":1}}')
    expect((await refusalOf(() => requireClaims(polluting))).code).toBe('RESERVED_CLAIM')
  })

  test('pass on names that mean something in JavaScript only', () => {
    const claims = requireClaims(JSON.parse('{"sub":"alice","constructor":1,"toString":2}'))
    expect(Object.entries(claims.extra)).toEqual([
      ['constructor', 1],
      ['toString', 2],
    ])
  })

  test.each([
    ['no object', 'alice'],
    ['an array', [{ sub: 'alice' }]],
    ['without sub', {}],
    ['with a sub that is no string', { sub: 42 }],
    ['with a realm for a sub', { sub: 'rlm-public' }],
    ['with a private key for a sub', { sub: '#x' }],
    ['with an e-mail that is no string', { sub: 'alice', email: ['a@b.c'] }],
    ['with a name that is no string', { sub: 'alice', name: {} }],
    ['with an empty name', { sub: 'alice', name: '' }],
    ['with half a character', { sub: 'alice', name: '\ud800' }],
    ['with too many', { sub: 'alice', ...numbered(33) }],
    ['too large', { sub: 'alice', name: 'x'.repeat(4096) }],
    ['too large in bytes', { sub: 'alice', name: 'ä'.repeat(2048) }],
  ])('are refused when they are %s', async (_, value) => {
    expect((await refusalOf(() => requireClaims(value))).code).toBe('INVALID_REQUEST')
  })

  test('may be 32 besides the person', () => {
    const claims = requireClaims({ sub: 'alice', email: 'a@b.c', name: 'A', ...numbered(32) })
    expect(Object.keys(claims.extra).length).toBe(32)
  })
})

function numbered(count: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`claim${i}`, i]))
}
