import { expect, test } from 'bun:test'
import { createSlots } from '../../src/limits/slots'
import { codeOf } from '../auth/setup'
import { turns, until } from '../timing'

const { signal } = new AbortController()

/** Callers by name, whose first letter is their owner. */
function setup(limits: Parameters<typeof createSlots>[0]) {
  const slots = createSlots({ checkMs: 1, ...limits })
  const leaving = new Map<string, () => void>()
  const take = async (name: string, yields?: () => boolean) => {
    const more = yields === undefined ? {} : { yields }
    leaving.set(name, await slots.take({ owner: name.charAt(0), signal, ...more }))
  }
  return {
    slots,
    take,
    leave: (name: string) => {
      leaving.get(name)?.()
      leaving.delete(name)
    },
    inside: () => [...leaving.keys()],
  }
}

test('so many callers are inside at a time, and the others follow in their order', async () => {
  const { take, leave, inside } = setup({ most: 2 })
  const all = ['a', 'b', 'c', 'd'].map((name) => take(name))
  await turns()
  expect(inside()).toEqual(['a', 'b'])
  leave('a')
  await turns()
  expect(inside()).toEqual(['b', 'c'])
  leave('b')
  await Promise.all(all)
  expect(inside()).toEqual(['c', 'd'])
})

test('an owner has a share, and holds up nobody else when it is full', async () => {
  const { slots, take, leave, inside } = setup({ most: 3, mostOfOwner: 2 })
  const all = ['a1', 'a2', 'a3', 'b1', 'c1'].map((name) => take(name))
  await turns()
  expect(inside()).toEqual(['a1', 'a2', 'b1'])
  leave('b1')
  await turns()
  expect(inside()).toEqual(['a1', 'a2', 'c1'])
  leave('a1')
  await Promise.all(all)
  expect(inside()).toEqual(['a2', 'c1', 'a3'])
  for (const name of inside()) leave(name)
  expect(slots.isShared).toBe(false)
  await Promise.all(['a4', 'a5'].map((name) => take(name)))
  expect(inside()).toEqual(['a4', 'a5'])
})

test('to leave twice is to leave once', async () => {
  const slots = createSlots({ most: 1 })
  const leave = await slots.take({ owner: 'a', signal })
  leave()
  const leaveNext = await slots.take({ owner: 'b', signal })
  leave()
  const third = slots.take({ owner: 'c', signal })
  expect(slots.isShared).toBe(false)
  leaveNext()
  ;(await third)()
})

test('a caller that leaves while it waits is waited for no more', async () => {
  const slots = createSlots({ most: 1 })
  const leave = await slots.take({ owner: 'a', signal })
  const leaving = new AbortController()
  const gone = { owner: 'b', signal: leaving.signal }
  const left = codeOf(() => slots.take(gone))
  const next = slots.take({ owner: 'c', signal })
  leaving.abort()
  expect(await left).toBe('BUSY')
  expect(await codeOf(() => slots.take(gone))).toBe('BUSY')
  leave()
  ;(await next)()
  ;(await slots.take({ owner: 'd', signal }))()
})

test('callers are asked to yield while others wait whom that lets in, one for each', async () => {
  const { take, leave, inside } = setup({ most: 3, mostOfOwner: 2 })
  const willing = new Set<string>()
  const asked = new Set<string>()
  const yielding = (name: string) =>
    take(name, () => {
      asked.add(name)
      if (!willing.has(name)) return false
      leave(name)
      return true
    })
  for (const name of ['b1', 'a1', 'a2']) await yielding(name)
  const third = yielding('a3')
  await until(() => asked.size === 2)
  await turns()
  expect([...asked]).toEqual(['a1', 'a2'])
  willing.add('a1').add('a2').add('b1')
  await third
  await turns()
  expect(inside()).toEqual(['b1', 'a2', 'a3'])
  await yielding('c1')
  await turns()
  expect(inside()).toEqual(['a2', 'a3', 'c1'])
})
