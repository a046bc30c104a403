import { expect, test } from 'bun:test'
import { HOUR, MINUTE } from '../../src/domain/value/time'
import { moveTime } from './moved-time'

test('long intervals are called when the clock has passed them, each once, until they are cleared', () => {
  const { setInterval: setReal, clearInterval: clearReal } = globalThis
  try {
    const time = moveTime(1_000)
    const called: string[] = []
    const minute = setInterval(() => called.push('minute'), MINUTE)
    const hour = setInterval(() => called.push('hour'), HOUR).unref()
    time.advance(30 * MINUTE)
    expect({ now: time.now(), called }).toEqual({ now: 1_000 + 30 * MINUTE, called: ['minute'] })
    time.advance(30 * MINUTE)
    expect(called).toEqual(['minute', 'minute', 'hour'])
    clearInterval(minute)
    clearInterval(hour)
    time.advance(HOUR)
    expect(called).toHaveLength(3)
  } finally {
    Object.assign(globalThis, { setInterval: setReal, clearInterval: clearReal })
  }
})

test('short intervals wait for the machine', async () => {
  const { setInterval: setReal, clearInterval: clearReal } = globalThis
  try {
    const time = moveTime(0)
    const called = Promise.withResolvers<number>()
    const timer = setInterval(() => called.resolve(time.now()), 1)
    expect(await called.promise).toBe(0)
    clearInterval(timer)
  } finally {
    Object.assign(globalThis, { setInterval: setReal, clearInterval: clearReal })
  }
})
