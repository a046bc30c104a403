import { expect, test } from 'bun:test'
import { createAudience } from '../../src/sync/audience'

test('finds the listeners of a key, however many there are', () => {
  const audience = createAudience<string, { name: string }>()
  const [one, two] = [{ name: 'one' }, { name: 'two' }]
  expect([...audience.of('a')]).toEqual([])
  audience.add('a', one)
  audience.add('a', one)
  expect([...audience.of('a')]).toEqual([one])
  audience.add('a', two)
  audience.add('b', two)
  expect([...audience.of('a')]).toEqual([one, two])
  audience.remove('a', one)
  audience.remove('a', one)
  expect([...audience.of('a')]).toEqual([two])
  audience.remove('a', two)
  audience.remove('b', one)
  expect([...audience.of('b')]).toEqual([two])
  audience.remove('b', two)
  expect([...audience.of('a'), ...audience.of('b')]).toEqual([])
})
