import { expect, test } from 'bun:test'
import { nextTurn, sharedTurn } from '../../../src/domain/value/turn'

/** Takes all that callers share of a turn. */
function work(): void {
  for (const begun = performance.now(); performance.now() - begun < 5;);
}

test('of many who share turns one works in each, in their order', async () => {
  await nextTurn()
  let turns = 0
  let isOver = false
  const counting = (async () => {
    for (; !isOver; turns += 1) await nextTurn()
  })()
  const done: string[] = []
  const slices = async (name: string) => {
    for (let slice = 0; slice < 3; slice += 1) {
      await sharedTurn()
      done.push(`${name}${slice} in ${turns}`)
      work()
    }
  }
  await Promise.all(['a', 'b', 'c'].map(slices))
  isOver = true
  await counting
  expect(done.map((text) => text.slice(0, 2)).join(' ')).toBe('a0 b0 c0 a1 b1 c1 a2 b2 c2')
  // The count rises before the work of one turn and after that of another.
  expect(new Set(done.map((text) => text.split(' in ')[1])).size).toBeGreaterThan(4)
})

test('a turn that nobody shares begins at once', async () => {
  await nextTurn()
  await nextTurn()
  expect(sharedTurn()).toBeUndefined()
})
