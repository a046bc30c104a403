import { expect, test } from 'bun:test'
import { FIXED_LIMITS } from '../../src/domain/value/fixed-limits'
import { createFrameMemory } from '../../src/sync/frame-memory'

const MOST = FIXED_LIMITS.frameMemory.most * 1024 * 1024

function setup() {
  let bytes = 0
  const memory = createFrameMemory(() => bytes)
  const ended: string[] = []
  const open = (name: string, isAnonymous: boolean) => {
    const nothing = () => undefined
    const owner = memory.watched(
      { opened: nothing, received: nothing, drained: nothing, closed: () => void ended.push(name) },
      isAnonymous,
    )
    owner.opened({ send: () => 1, close: nothing, terminate: () => owner.closed() })
    return owner
  }
  const check = (now: number) => {
    bytes = now
    memory.check()
    return ended.splice(0)
  }
  return { open, check }
}

test('sockets are closed while unfinished frames take too much, those without a token first', () => {
  const { open, check } = setup()
  open('one', true)
  open('two', true)
  open('ben', false)
  expect(check(MOST)).toEqual([])
  expect(check(MOST + 1)).toEqual(['one', 'two'])
  expect(check(MOST)).toEqual([])
  // They come back, and others do the same.
  open('one', true)
  expect(check(MOST + 1)).toEqual(['one'])
  open('one', true)
  expect(check(MOST + 1)).toEqual(['ben'])
})

test('sockets stay open when something else takes the memory', () => {
  const { open, check } = setup()
  open('one', true)
  open('ben', false)
  expect([check(2 * MOST), check(2 * MOST)]).toEqual([['one'], ['ben']])
  open('one', true)
  expect([check(2 * MOST), check(3 * MOST), check(3 * MOST + 1)]).toEqual([[], [], ['one']])
})

test('a socket that has been closed is not closed again', () => {
  const { open, check } = setup()
  open('one', true).closed()
  expect(check(0)).toEqual(['one'])
  expect(check(MOST + 1)).toEqual([])
})
