import { describe, expect, test } from 'bun:test'
import { licensedUntil } from '../../../src/domain/access/actor'
import { alertsFor, evalDaysLeft, type License, licenseOf } from '../../../src/domain/user/license'
import { user } from '../../contract/user-fixture'
import type { User } from '../../../src/domain/store/users'
import { DAY } from '../../../src/domain/value/time'

const NOW = Date.UTC(2030, 0, 1)

function alice(fields: Partial<User> = {}): User {
  return { ...user('alice'), incarnation: 1, ...fields }
}

describe('a licence', () => {
  const cases: [string, Partial<User>, License][] = [
    ['without an end', {}, 'ok'],
    ['until in a moment', { validUntil: NOW + 1 }, 'ok'],
    ['until now', { validUntil: NOW }, 'expired'],
    ['of an evaluation that goes on', { type: 'eval', evalUntil: NOW + 1 }, 'ok'],
    ['of an evaluation that is over', { type: 'eval', evalUntil: NOW }, 'expired'],
    ['of a production user after an evaluation', { type: 'prod', evalUntil: NOW - DAY }, 'ok'],
    ['of a demo user', { type: 'demo', evalUntil: NOW - DAY }, 'ok'],
    [
      'with two ends, of which one has come',
      { type: 'eval', evalUntil: NOW + DAY, validUntil: NOW },
      'expired',
    ],
    ['of a deactivated user', { deactivated: NOW - 1 }, 'deactivated'],
    ['of a deactivated, expired user', { deactivated: 1, validUntil: 1 }, 'deactivated'],
    ['of a user with a deactivation in the future', { deactivated: NOW + DAY }, 'deactivated'],
  ]
  test.each(cases)('%s', (_name, fields, license) => {
    expect(licenseOf(alice(fields), NOW)).toBe(license)
  })

  test('expires at its earliest end', () => {
    expect(licensedUntil(alice())).toBe(Infinity)
    expect(licensedUntil(alice({ validUntil: 5 }))).toBe(5)
    expect(licensedUntil(alice({ type: 'eval', validUntil: 5, evalUntil: 4 }))).toBe(4)
    expect(licensedUntil(alice({ type: 'prod', validUntil: 5, evalUntil: 4 }))).toBe(5)
  })
})

describe('the days of evaluation that are left', () => {
  test.each([
    [NOW + 30 * DAY, 30],
    [NOW + 30 * DAY - 1, 30],
    [NOW + 29 * DAY, 29],
    [NOW + 1, 1],
    [NOW, 0],
    [NOW - 5 * DAY, 0],
  ])('until %p are %p', (evalUntil, days) => {
    expect(evalDaysLeft(alice({ evalUntil }), NOW)).toBe(days)
  })

  test('are not known without a term', () => {
    expect(evalDaysLeft(alice(), NOW)).toBeUndefined()
  })
})

describe('alerts', () => {
  const told = (fields: Partial<User>) => alertsFor(alice(fields), NOW)

  test('are none while the end is far', () => {
    expect(told({})).toEqual([])
    expect(told({ validUntil: NOW + 8 * DAY })).toEqual([])
    expect(told({ type: 'prod', evalUntil: NOW + DAY })).toEqual([])
    expect(told({ deactivated: 1, validUntil: NOW + DAY })).toEqual([])
  })

  test('say that it comes, in days', () => {
    expect(told({ type: 'eval', evalUntil: NOW + 3 * DAY })).toEqual([
      {
        type: 'info',
        messageCode: 'LICENSE_ENDS_SOON',
        message: 'Your evaluation ends in 3 days.',
        messageParams: { days: '3' },
      },
    ])
    expect(told({ validUntil: NOW + 1 })).toMatchObject([
      { type: 'info', message: 'Your account ends in one day.', messageParams: { days: '1' } },
    ])
  })

  test('say that it has come', () => {
    expect(told({ type: 'eval', evalUntil: NOW })).toEqual([
      {
        type: 'warning',
        messageCode: 'LICENSE_EXPIRED',
        message: 'Your evaluation has ended: you can read, but not change anything.',
      },
    ])
    expect(told({ validUntil: NOW })).toMatchObject([
      { message: expect.stringContaining('account') },
    ])
  })
})
