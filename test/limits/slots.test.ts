import { expect, test } from 'bun:test'
import { createSlots } from '../../src/limits/slots'
import { codeOf } from '../auth/setup'
import { turns } from '../timing'

test('so many callers are inside at a time, and the others follow in their order', async () => {
  const slots = createSlots(2)
  const leaveFirst = await slots.take()
  const leaveSecond = await slots.take()
  const entered: string[] = []
  const later = ['third', 'fourth'].map(async (name) => {
    const leave = await slots.take()
    entered.push(name)
    return leave
  })
  await turns()
  expect(entered).toEqual([])
  leaveFirst()
  await turns()
  expect(entered).toEqual(['third'])
  leaveSecond()
  for (const leave of await Promise.all(later)) leave()
  expect(entered).toEqual(['third', 'fourth'])
  expect(slots.isFree).toBe(true)
})

test('a caller that leaves while it waits is waited for no more', async () => {
  const slots = createSlots(1)
  const leave = await slots.take()
  const leaving = new AbortController()
  const gone = codeOf(() => slots.take(leaving.signal))
  const next = slots.take(new AbortController().signal)
  leaving.abort()
  expect(await gone).toBe('BUSY')
  expect(await codeOf(() => slots.take(leaving.signal))).toBe('BUSY')
  leave()
  ;(await next)()
  expect(slots.isFree).toBe(true)
})
