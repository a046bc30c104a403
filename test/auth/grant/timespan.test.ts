import { describe, expect, test } from 'bun:test'
import { parseTimespan } from '../../../src/auth/grant/timespan'
import { DAY, HOUR, MINUTE, refusalOf, SECOND } from '../setup'

describe('a timespan', () => {
  test.each([
    ['1h', HOUR],
    ['30 min', 30 * MINUTE],
    ['30 Minutes', 30 * MINUTE],
    ['2 days', 2 * DAY],
    ['2d', 2 * DAY],
    ['1.5 hrs', 1.5 * HOUR],
    ['.5s', SECOND / 2],
    ['-1h', -HOUR],
    ['1w', 7 * DAY],
    ['1 year', 365.25 * DAY],
    ['90 secs', 90 * SECOND],
    ['1500', 1500],
    ['1500ms', 1500],
    [1500, 1500 * SECOND],
    [0.5, 500],
    [0, 0],
  ])('%p is %p ms', (text, length) => {
    expect(parseTimespan(text, 'expires_in')).toBe(length)
  })

  test.each([
    [''],
    ['h'],
    ['1 fortnight'],
    ['1h30m'],
    ['1 h h'],
    ['1constructor'],
    ['1h\n'],
    ['1e3'],
    ['9'.repeat(101)],
    [Number.NaN],
    [Infinity],
    [true],
    [null],
    [{}],
    [['1h']],
  ])('is not %p', async (value) => {
    const refusal = await refusalOf(() => parseTimespan(value, 'expires_in'))
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toContain('expires_in')
  })
})
