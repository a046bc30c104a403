import { expect, test } from 'bun:test'
import { createCollector, createRelief } from '../../src/sync/garbage'

test('garbage is collected each time that so many characters were made', () => {
  let collections = 0
  const made = createCollector(100, () => (collections += 1))
  const counts = [60, 39, 1, 99, 250, 99].map((characters) => {
    made(characters)
    return collections
  })
  expect(counts).toEqual([0, 0, 1, 1, 2, 2])
})

test('garbage is collected when the process has grown by so much since it was smallest, or since then', () => {
  let [memory, collections] = [500, 0]
  const relieve = createRelief(
    100,
    () => memory,
    () => (collections += 1),
  )
  const counts = [599, 600, 650, 699, 700, 620, 719, 720].map((now) => {
    memory = now
    relieve()
    return collections
  })
  expect(counts).toEqual([0, 1, 1, 1, 2, 2, 2, 3])
})
