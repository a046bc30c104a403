import { describe, expect, test } from 'bun:test'
import { type Day, judge, judgeLine } from './judge'

const MIB = 1024 * 1024

/** Quantities that do not change, but for those that are given. */
const dayOf = (day: number, more: Partial<Day> = {}): Day => ({
  day,
  memory: 100 * MIB,
  heap: 20 * MIB,
  descriptors: 60,
  log: 4 * MIB,
  folder: 3 * MIB,
  live: 2 * MIB,
  lines: MIB,
  requests: 1_000,
  p99: 50,
  ...more,
})

const monthOf = (more: (day: number) => Partial<Day>) =>
  Array.from({ length: 31 }, (_, at) => dayOf(at + 1, more(at + 1)))

const growing = (days: readonly Day[]) =>
  judge(days)
    .filter(({ isFlat }) => !isFlat)
    .map(({ name }) => name)

describe('a quantity', () => {
  test('that stays the same is flat', () => {
    expect(growing(monthOf(() => ({})))).toEqual([])
  })

  test('that grows each day is found', () => {
    expect(growing(monthOf((day) => ({ memory: (100 + day) * MIB })))).toEqual(['memory'])
    expect(growing(monthOf((day) => ({ descriptors: 60 + day })))).toEqual(['descriptors'])
    expect(growing(monthOf((day) => ({ p99: 50 + day })))).toEqual(['p99'])
  })

  test('that shrinks is flat', () => {
    expect(growing(monthOf((day) => ({ log: (40 - day) * MIB })))).toEqual([])
  })

  test('that grows in the first third alone is flat', () => {
    expect(growing(monthOf((day) => ({ heap: Math.min(day, 10) * MIB })))).toEqual([])
  })

  test('that goes up and down by chance is flat', () => {
    expect(growing(monthOf((day) => ({ p99: day % 2 === 0 ? 400 : 40 + day })))).toEqual([])
  })

  test('that grows surely and less than allowed is flat', () => {
    expect(growing(monthOf((day) => ({ memory: (100 + day / 10) * MIB })))).toEqual([])
  })
})

test('a folder may grow as what the users have', () => {
  const month = (of: (day: number) => Partial<Day>) => growing(monthOf(of))
  expect(month((day) => ({ folder: 3 * day * MIB, live: 2 * day * MIB }))).toEqual([])
  expect(month((day) => ({ folder: 3 * day * MIB }))).toEqual(['folder per live byte'])
})

test('a line has the slope and the standard error of least squares', () => {
  const points = [1, 3, 2, 5].map((y, at) => ({ x: at + 1, y }))
  const { slope, error, mean, growth } = judgeLine(points)
  expect(slope).toBeCloseTo(1.1)
  expect(error).toBeCloseTo(Math.sqrt(2.7 / 2 / 5))
  expect({ mean, growth: growth.toFixed(2) }).toEqual({ mean: 2.75, growth: '3.30' })
})
