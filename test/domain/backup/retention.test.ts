import { describe, expect, test } from 'bun:test'
import { keptTimes, parseRetention } from '../../../src/domain/backup/retention'
import { DAY, HOUR } from '../../../src/domain/value/time'

const NIGHT = Date.UTC(2030, 0, 31, 2, 30)

function keptDays(times: readonly number[], text: string): string[] {
  const kept = keptTimes(times, parseRetention(text)!)
  return [...kept].map((time) => new Date(time).toISOString().slice(0, 10)).toSorted()
}

describe('the backups that are kept', () => {
  const nights = Array.from({ length: 60 }, (_, n) => NIGHT - n * DAY)

  test('are the last ones of so many days', () => {
    expect(keptDays(nights, '3d')).toEqual(['2030-01-29', '2030-01-30', '2030-01-31'])
  })

  test('are the last one of each week and month besides', () => {
    // 2030-01-31 is a Thursday.
    expect(keptDays(nights, '2w')).toEqual(['2030-01-27', '2030-01-31'])
    expect(keptDays(nights, '2m')).toEqual(['2029-12-31', '2030-01-31'])
    expect(keptDays(nights, '2d,2w,2m')).toEqual([
      '2029-12-31',
      '2030-01-27',
      '2030-01-30',
      '2030-01-31',
    ])
  })

  test('are those of days that have one, not of days that have passed', () => {
    expect(keptDays([NIGHT, NIGHT - 10 * DAY, NIGHT - 40 * DAY], '2d')).toEqual([
      '2030-01-21',
      '2030-01-31',
    ])
  })

  test('are one of a day with several, the last', () => {
    expect([...keptTimes([NIGHT, NIGHT - HOUR], parseRetention('7d')!)]).toEqual([NIGHT])
  })

  test('are never none', () => {
    expect([...keptTimes([NIGHT], { days: 0, weeks: 0, months: 0 })]).toEqual([NIGHT])
  })
})

test('a retention is a list of numbers with units', () => {
  expect(parseRetention('7d,4w,12m')).toEqual({ days: 7, weeks: 4, months: 12 })
  expect(parseRetention('3d')).toEqual({ days: 3, weeks: 0, months: 0 })
  for (const text of ['', '7', 'd', '7x', '0d', '7d;4w', '-1d', '7d,']) {
    expect(parseRetention(text)).toBeUndefined()
  }
})
