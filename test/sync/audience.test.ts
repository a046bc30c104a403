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

test('says who is the first listener of a key, and the last', () => {
  const audience = createAudience<string, { name: string }>()
  const [one, two, three] = [{ name: 'one' }, { name: 'two' }, { name: 'three' }]
  expect([one, one, two].map((each) => audience.add('a', each))).toEqual([true, false, false])
  const left = [three, one, one, two, two].map((each) => audience.remove('a', each))
  expect(left).toEqual([false, false, false, true, false])
})
