import { describe, expect, test } from 'bun:test'
import { FIXED_LIMITS } from '../../src/domain/value/fixed-limits'
import { createCounter } from '../../src/limits/counter'
import { createTurns } from '../../src/limits/turns'
import { createTestClock, MINUTE } from '../auth/setup'

function setup(count: number) {
  const clock = createTestClock()
  const turns = createTurns(createCounter(clock, { count, window: MINUTE }), { checkMs: 1 })
  const passed: string[] = []
  /** Resolves when the request passes, or with the code of the error. */
  const enter = async (name: string, { key = 'a', signal = new AbortController().signal } = {}) => {
    try {
      await turns.enter({ key, scope: '', signal: () => signal })
      passed.push(name)
      return name
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  return { clock, turns, passed, enter }
}

/** The others are looked at several times meanwhile. */
const someChecks = () => Bun.sleep(20)

describe('turns', () => {
  test('let requests of a key pass in their order, at the rate of the counter', async () => {
    const { clock, passed, enter } = setup(2)
    const all = ['1', '2', '3', '4', '5'].map((name) => enter(name))
    await someChecks()
    expect(passed).toEqual(['1', '2'])
    clock.advance(MINUTE - 1)
    await someChecks()
    expect(passed).toEqual(['1', '2'])
    clock.advance(1)
    await Promise.all(all.slice(0, 4))
    await someChecks()
    expect(passed).toEqual(['1', '2', '3', '4'])
    clock.advance(MINUTE)
    await Promise.all(all)
    expect(passed).toEqual(['1', '2', '3', '4', '5'])
  })

  test('keep nobody waiting for those of another key', async () => {
    const { clock, enter } = setup(1)
    const all = ['1', '2', '3'].map((name) => enter(name))
    expect(await enter('other', { key: 'b' })).toBe('other')
    for (const waiting of all) {
      await waiting
      clock.advance(MINUTE)
    }
  })

  test('let the next one in when one is taken back, and none before it', async () => {
    const { turns, passed, enter } = setup(1)
    const all = ['1', '2', '3'].map((name) => enter(name))
    turns.refund('a', '')
    await all[1]
    expect(passed).toEqual(['1', '2'])
    turns.refund('a', '')
    await all[2]
    turns.refund('a', '')
    expect(await enter('4')).toBe('4')
  })

  test('end at once for a caller who is gone, and count nothing for it', async () => {
    const { clock, passed, enter } = setup(1)
    await enter('1')
    const [gone, stays] = [new AbortController(), new AbortController()]
    const two = enter('2', gone)
    const three = enter('3', stays)
    gone.abort()
    expect(await two).toBe('BUSY')
    expect(await enter('4', gone)).toBe('BUSY')
    clock.advance(MINUTE)
    expect(await three).toBe('3')
    expect(passed).toEqual(['1', '3'])
  })

  test('refuse those of a key of which too many wait, and nobody else', async () => {
    const { turns, passed, enter } = setup(1)
    const { most } = FIXED_LIMITS.waitingSyncs
    const gone = new AbortController()
    const all = Array.from({ length: most + 1 }, (_, n) => enter(`${n}`, gone))
    await someChecks()
    expect(passed).toEqual(['0'])
    expect(await enter('more')).toBe('BUSY')
    expect(await enter('other', { key: 'b' })).toBe('other')
    gone.abort()
    expect((await Promise.all(all)).filter((result) => result === 'BUSY')).toHaveLength(most)
    turns.refund('a', '')
    expect(await enter('later')).toBe('later')
  })
})
