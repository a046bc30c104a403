import { expect, test } from 'bun:test'
import { licenceOf, nameOf, type User } from '../../src/admin/page/people/user'

const NOW = Date.UTC(2030, 0, 1)

const user = (more: Partial<User>): User => ({
  userId: 'bob@example.com',
  created: '2029-01-01T00:00:00.000Z',
  updated: '2029-01-01T00:00:00.000Z',
  lastLogin: null,
  type: 'prod',
  deactivated: null,
  data: null,
  ...more,
})

test('a user is shown with their name, or with their id where there is none', () => {
  expect(nameOf(user({ data: { displayName: 'Bob' } }))).toBe('Bob')
  for (const data of [null, {}, { displayName: '' }, { displayName: 7 }]) {
    expect(nameOf(user({ data }))).toBe('bob@example.com')
  }
})

test('a licence that has ended comes before its type', () => {
  const licence = (more: Partial<User>) => licenceOf(user(more), NOW)[0]
  expect(licence({})).toBe('production')
  expect(licence({ type: 'eval', evalDaysLeft: 12 })).toBe('evaluation, 12 d left')
  expect(licence({ type: 'eval', evalDaysLeft: 0 })).toBe('evaluation over')
  expect(licence({ validUntil: '2029-12-31T00:00:00.000Z' })).toBe('expired')
  expect(licence({ deactivated: '2029-12-31T00:00:00.000Z', type: 'eval' })).toBe('deactivated')
})
