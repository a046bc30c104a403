import { expect, test } from 'bun:test'
import { createSteadyClock } from '../../src/auth/steady-clock'
import { createTestClock } from './setup'

test('a steady clock goes with its clock, and on from where it was when that jumps back', () => {
  const clock = createTestClock(1000)
  const steady = createSteadyClock(clock)
  clock.advance(500)
  expect([steady.now(), steady.lead]).toEqual([1500, 0])
  clock.advance(-400)
  expect([steady.now(), steady.lead]).toEqual([1500, 400])
  clock.advance(100)
  expect([steady.now(), steady.lead]).toEqual([1600, 400])
  clock.advance(-10_000)
  expect(steady.now()).toBe(1600)
  clock.advance(20_000)
  expect(steady.now()).toBe(21_600)
})
