import { expect, test } from 'bun:test'
import {
  axisOf,
  lineOf,
  nearest,
  titleOf,
  topOf,
  WIDTH,
} from '../../src/admin/page/machine/plot-line'

const MINUTE = 60_000
const END = 100 * MINUTE

test('the axis begins where the figures begin, has a few minutes at least, and an hour at most', () => {
  const lengths = [0, 2, 27, 60, 70].map((minutes) => {
    const { begin, end } = axisOf([END - minutes * MINUTE, END])
    expect(end).toBe(END)
    return (end - begin) / MINUTE
  })
  expect(lengths).toEqual([5, 5, 27, 60, 60])
  expect(titleOf(axisOf([]))).toBe('The last 5 minutes')
  expect(titleOf(axisOf([0, 27.2 * MINUTE]))).toBe('The last 27 minutes')
  expect(titleOf(axisOf([0, END]))).toBe('The last hour')
})

test('the time goes from the left to the right, and the scale from 0 to its top', () => {
  const times = [END - 20 * MINUTE, END - 10 * MINUTE, END]
  expect(lineOf(times, [0, 5, 10], axisOf(times), 10)).toBe(
    `M0.0 100.0h1L${WIDTH / 2}.0 50.0L${WIDTH}.0 0.0`,
  )
})

test('a line is broken where a value is not known', () => {
  const times = [END - 3 * MINUTE, END - 2 * MINUTE, END - MINUTE, END]
  expect(lineOf(times, [1, null, 1, 1], axisOf(times), 1)).toMatch(
    /^M\S+ 0\.0h1M\S+ 0\.0h1L720\.0 0\.0$/,
  )
  expect(lineOf([], [], axisOf([]), 1)).toBe('')
})

test('a pointer means the figures that are nearest to it', () => {
  const times = [END - 10 * MINUTE, END - 5 * MINUTE, END]
  const axis = axisOf(times)
  expect([0, 0.4, 1].map((place) => nearest(times, place, axis))).toEqual([0, 1, 2])
  expect(nearest([], 0.5, axis)).toBe(-1)
})

test('a scale ends at 1, 2 or 5 of a power of ten, above all values', () => {
  const tops = [0.3, 1, 1.5, 3, 7, 12, 480, 1e9].map((most) => topOf([null, 0, most], 0.1))
  expect(tops).toEqual([0.5, 1, 2, 5, 10, 20, 500, 1e9])
  expect(topOf([], 10)).toBe(10)
})
