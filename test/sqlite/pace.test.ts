import { expect, test } from 'bun:test'
import { createPace } from '../../src/sqlite/pace'

test('a copy pauses longer and longer while commits take more than twice their usual time', () => {
  const pace = createPace()
  for (let commit = 0; commit < 100; commit += 1) pace.committed(1)
  using _ = pace.begin()
  pace.committed(3)
  expect(pace.pause()).toBe(2)
  pace.committed(3)
  expect(pace.pause()).toBe(4)
  for (let piece = 0; piece < 20; piece += 1) {
    pace.committed(50)
    pace.pause()
  }
  pace.committed(50)
  expect(pace.pause()).toBe(250)
})

test('it becomes fast again when commits are, or when there are none', () => {
  const pace = createPace()
  pace.committed(1)
  using _ = pace.begin()
  pace.committed(10)
  expect(pace.pause()).toBe(2)
  pace.committed(2)
  expect(pace.pause()).toBe(1)
  expect(pace.pause()).toBe(0)
})

test('the commits beside a copy do not become the usual ones', () => {
  const pace = createPace()
  pace.committed(1)
  {
    using _ = pace.begin()
    for (let commit = 0; commit < 1_000; commit += 1) pace.committed(100)
  }
  using _ = pace.begin()
  pace.committed(3)
  expect(pace.pause()).toBeGreaterThan(0)
})
