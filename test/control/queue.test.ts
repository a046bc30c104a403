import { expect, test } from 'bun:test'
import { followed } from '../../src/control/queue'
import { until } from '../timing'

const LEAVE = { [Symbol.dispose]: () => undefined }

test('a slow reader delays nobody, and is told how many items it missed', async () => {
  const read: unknown[] = []
  const gate = Promise.withResolvers<void>()
  const ending = new AbortController()
  const emit = async (item: unknown) => {
    await gate.promise
    read.push(item)
  }
  const following = followed({ emit, signal: ending.signal }, (take) => {
    for (let n = 0; n < 1_500; n += 1) take(n)
    return LEAVE
  })
  gate.resolve()
  await until(() => read.length === 1_001)
  expect(read.slice(-2)).toEqual([999, { kind: 'missed', count: 500 }])
  ending.abort()
  await following
})

test('following ends when the caller leaves, or when it is told to', async () => {
  let left = 0
  const follow = () => ({ [Symbol.dispose]: () => void (left += 1) })
  const emit = async () => undefined
  const ending = new AbortController()
  const following = followed({ emit, signal: ending.signal }, follow)
  ending.abort()
  await following
  await followed({ emit }, (_take, end) => {
    end()
    return follow()
  })
  await followed({ emit, signal: ending.signal }, follow)
  expect(left).toBe(3)
})

test('following ends at once for a caller without a stream', async () => {
  expect(await followed({}, () => LEAVE)).toBeUndefined()
})
