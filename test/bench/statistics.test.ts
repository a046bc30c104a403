import { expect, test } from 'bun:test'
import { medianInterval } from './statistics'

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test.each([
  [2, 1, 2, 0.5],
  [5, 1, 5, 0.9375],
  [6, 1, 6, 0.96875],
  [8, 1, 8, 0.9921875],
  [9, 2, 8, 0.9609375],
  [11, 2, 10, 0.98828125],
  [15, 4, 12, 0.96484375],
])('of %d values from 1 the median lies between %d and %d', (count, low, high, confidence) => {
  expect(medianInterval(upTo(count).toReversed())).toEqual({ low, high, confidence })
})

test('of no values there is no interval', () => {
  expect(medianInterval([])).toMatchObject({ low: Number.NaN, high: Number.NaN })
})
