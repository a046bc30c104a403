import { expect, test } from 'bun:test'
import { createCollector } from '../../src/sync/garbage'

test('garbage is collected each time that so many characters were made', () => {
  let collections = 0
  const made = createCollector(100, () => (collections += 1))
  const counts = [60, 39, 1, 99, 250, 99].map((characters) => {
    made(characters)
    return collections
  })
  expect(counts).toEqual([0, 0, 1, 1, 2, 2])
})
