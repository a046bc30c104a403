import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../src/domain/error'
import { admitUser, licenseOf, requireUserId, type User } from '../../src/domain/user'
import { setupStore } from '../auth/setup'

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

describe('a person who appears', () => {
  test('becomes a user once, with what is known of them', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const person = { id: 'alice', email: 'alice@example.com', name: 'Alice' }
    const first = await database.write((tx) => admitUser(tx, person, 1000))
    expect(first).toMatchObject({
      id: 'alice',
      type: 'prod',
      created: 1000,
      deactivated: null,
      data: { displayName: 'Alice', email: 'alice@example.com' },
    })
    const again = await database.write((tx) => admitUser(tx, { ...person, name: 'Other' }, 2000))
    expect(again).toEqual(first)
  })

  test('has no data when nothing is known of them', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const person = { id: 'alice', email: null, name: null }
    expect((await database.write((tx) => admitUser(tx, person, 1000))).data).toBeNull()
  })
})

test('a licence is ok until the user is deactivated or its time is over', () => {
  const user: User = {
    id: 'alice',
    type: 'eval',
    created: 0,
    updated: 0,
    lastLogin: null,
    validUntil: null,
    deactivated: null,
    data: null,
  }
  expect(licenseOf(user, 1000)).toBe('ok')
  expect(licenseOf({ ...user, validUntil: 1001 }, 1000)).toBe('ok')
  expect(licenseOf({ ...user, validUntil: 1000 }, 1000)).toBe('expired')
  expect(licenseOf({ ...user, validUntil: 1000, deactivated: 500 }, 1000)).toBe('deactivated')
})
