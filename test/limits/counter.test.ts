import { describe, expect, test } from 'bun:test'
import process from 'node:process'
import * as fc from 'fast-check'
import { createCounter } from '../../src/limits/counter'
import { createTestClock, MINUTE, SECOND } from '../auth/setup'

describe('a counter', () => {
  test('counts down from the first until its window ends, and then anew', () => {
    const clock = createTestClock()
    const counter = createCounter(clock, { count: 2, window: MINUTE })
    const quota = { limit: 2, isOver: false }
    expect(counter.spend('a')).toEqual({ ...quota, remaining: 1, reset: MINUTE })
    clock.advance(20 * SECOND)
    expect(counter.spend('a')).toEqual({ ...quota, remaining: 0, reset: 40 * SECOND })
    expect(counter.spend('b')).toEqual({ ...quota, remaining: 1, reset: MINUTE })
    clock.advance(40 * SECOND - 1)
    expect(counter.spend('a')).toEqual({ limit: 2, remaining: 0, reset: 1, isOver: true })
    clock.advance(1)
    expect(counter.spend('a')).toEqual({ ...quota, remaining: 1, reset: MINUTE })
    expect(counter.spend('b')).toEqual({ ...quota, remaining: 0, reset: 20 * SECOND })
  })

  test('looks without counting', () => {
    const counter = createCounter(createTestClock(), { count: 1, window: MINUTE })
    for (let times = 0; times < 3; times++) {
      expect(counter.look('a')).toEqual({ limit: 1, remaining: 1, reset: MINUTE, isOver: false })
    }
    counter.spend('a')
    expect(counter.look('a')).toMatchObject({ remaining: 0, isOver: true })
    counter.refund('a')
    expect(counter.look('a')).toMatchObject({ remaining: 1, isOver: false })
  })

  test('counts the same key in each scope alone', () => {
    const counter = createCounter(createTestClock(), { count: 2, window: MINUTE })
    for (const scope of ['one', 'other']) counter.spend('a', scope)
    expect(counter.spend('a', 'one')).toMatchObject({ remaining: 0, isOver: false })
    expect(counter.look('a', 'other')).toMatchObject({ remaining: 1 })
    counter.refund('a', 'other')
    expect([counter.look('a', 'one').remaining, counter.look('a', 'other').remaining]).toEqual([
      0, 2,
    ])
    expect(counter.look('a')).toMatchObject({ remaining: 2 })
  })

  test('agrees with counting by hand, for any callers at any times', () => {
    const step = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 70 }))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = createTestClock()
        const counter = createCounter(clock, { count: 3, window: MINUTE })
        const begins = new Map<string, { at: number; used: number }>()
        for (const [key, seconds] of steps) {
          clock.advance(seconds * SECOND)
          let known = begins.get(key)
          if (known === undefined || clock.now() >= known.at + MINUTE) {
            known = { at: clock.now(), used: 0 }
            begins.set(key, known)
          }
          const isOver = known.used === 3
          if (!isOver) known.used += 1
          const reset = known.at + MINUTE - clock.now()
          expect(counter.spend(key)).toEqual({ limit: 3, remaining: 3 - known.used, reset, isOver })
        }
      }),
    )
  })

  test('holds no more than so many keys, and counts on for those that came last', () => {
    const counter = createCounter(createTestClock(), { count: 1, window: MINUTE })
    Bun.gc(true)
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 1_000_000; i++) counter.spend(`2001:db8:${i >> 16}:${i & 65_535}`)
    Bun.gc(true)
    expect((process.memoryUsage().heapUsed - before) / 2 ** 20).toBeLessThan(32)
    for (let i = 950_001; i < 1_000_000; i += 997) {
      expect(counter.spend(`2001:db8:${i >> 16}:${i & 65_535}`).isOver).toBe(true)
    }
  })
})
