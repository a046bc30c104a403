import { describe, expect, test } from 'bun:test'
import { createCap } from '../../src/auth/limits'
import { codeOf, createTestClock, HOUR, MINUTE, refusalOf } from './setup'

describe('a cap', () => {
  test('counts an hour from the first', async () => {
    const clock = createTestClock()
    const cap = createCap(clock, 2)
    cap.spend('203.0.113.1')
    clock.advance(30 * MINUTE)
    cap.spend('203.0.113.1')
    expect(await refusalOf(() => cap.spend('203.0.113.1'))).toMatchObject({
      code: 'TOO_MANY_REQUESTS',
      retryAfter: 30 * 60,
    })
    cap.spend('203.0.113.2')
    clock.advance(HOUR)
    cap.spend('203.0.113.1')
  })

  test('counts each account of a network apart, in a window of its own', async () => {
    const clock = createTestClock()
    const cap = createCap(clock, 2, MINUTE)
    expect([cap.spend('203.0.113.1', 'a'), cap.spend('203.0.113.1', 'a')]).toEqual([1, 0])
    expect(await codeOf(() => cap.spend('203.0.113.1', 'a'))).toBe('TOO_MANY_REQUESTS')
    expect([cap.spend('203.0.113.1', 'b'), cap.spend('203.0.113.2', 'a')]).toEqual([1, 1])
    clock.advance(MINUTE)
    expect(cap.spend('203.0.113.1', 'a')).toBe(1)
  })

  test('takes back what was right', async () => {
    const cap = createCap(createTestClock(), 1)
    for (let times = 0; times < 3; times++) {
      cap.spend('203.0.113.1')
      cap.refund('203.0.113.1')
    }
    cap.refund('203.0.113.1')
    cap.spend('203.0.113.1')
    expect(await codeOf(() => cap.spend('203.0.113.1'))).toBe('TOO_MANY_REQUESTS')
  })

  test.each([
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:1:2:3', true],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8::1', '2001:db8:0:0:1:1:1:1', true],
    ['::1', '::2', true],
    ['203.0.113.1', '203.0.113.2', false],
    ['', '', true],
  ])('counts %p and %p as one: %p', async (one, other, areOne) => {
    const cap = createCap(createTestClock(), 1)
    cap.spend(one)
    if (areOne) expect(await codeOf(() => cap.spend(other))).toBe('TOO_MANY_REQUESTS')
    else cap.spend(other)
  })

  test('counts no more networks than fit, and holds for those that came last', async () => {
    const cap = createCap(createTestClock(), 1)
    for (let i = 0; i < 100_001; i++) cap.spend(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`)
    cap.spend('10.0.0.0')
    expect(await codeOf(() => cap.spend('10.1.134.160'))).toBe('TOO_MANY_REQUESTS')
  })
})
