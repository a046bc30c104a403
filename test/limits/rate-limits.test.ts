import { describe, expect, test } from 'bun:test'
import {
  formatTime,
  parseRateLimits,
  RATE_LIMIT_NAMES,
  RATE_LIMITS,
} from '../../src/limits/rate-limits'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

describe('rate limits as text', () => {
  test('are all of the table, none of it, or what differs', () => {
    const on = parseRateLimits('on')
    expect(on).toEqual(RATE_LIMITS)
    expect(Object.values(parseRateLimits('off') ?? {})).toEqual(RATE_LIMIT_NAMES.map(() => null))
    expect(parseRateLimits('reads=1000/1m, tokens=off')).toEqual({
      ...RATE_LIMITS,
      reads: { count: 1000, window: MINUTE },
      tokens: null,
    })
  })

  test.each([
    ['1/s', 1, SECOND],
    ['200/1m', 200, MINUTE],
    ['25/10m', 25, 10 * MINUTE],
    ['100/h', 100, HOUR],
    ['999999999/24h', 999_999_999, 24 * HOUR],
  ])('%s', (text, count, window) => {
    expect(parseRateLimits(`writes=${text}`)?.writes).toEqual({ count, window })
  })

  test.each([
    '',
    'yes',
    'on,off',
    'reads',
    'reads=',
    'reads=on',
    'reads=200',
    'reads=0/1m',
    'reads=200/0m',
    'reads=200/25h',
    'reads=200/1d',
    'reads=-1/1m',
    'reads=1.5/1m',
    'reads=200/1m/2',
    'reads=200/1m=2',
    'reads=200/1m,reads=300/1m',
    'reads=200/1m,',
    'wishes=200/1m',
    'toString=200/1m',
    'READS=200/1m',
  ])('cannot be %p', (text) => {
    expect(parseRateLimits(text)).toBeUndefined()
  })

  test('are told in words', () => {
    expect([SECOND, 90 * SECOND, MINUTE, 10 * MINUTE, HOUR, 24 * HOUR].map(formatTime)).toEqual([
      '1 second',
      '90 seconds',
      '1 minute',
      '10 minutes',
      '1 hour',
      '24 hours',
    ])
  })
})
