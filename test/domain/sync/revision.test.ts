import { expect, test } from 'bun:test'
import { formatRevision, numberOfRevision } from '../../../src/domain/sync/revision'

const RUNS = [
  { id: 'one', first: 0 },
  { id: 'two', first: 10 },
]

test('a revision is placed by its run and its number', () => {
  expect(numberOfRevision(RUNS, 20, formatRevision(RUNS[0]!, 10))).toBe(10)
  expect(numberOfRevision(RUNS, 20, formatRevision(RUNS[1]!, 10))).toBe(10)
  expect(numberOfRevision(RUNS, 20, formatRevision(RUNS[1]!, 20))).toBe(20)
})

test('a number that the run never reached, an unknown run and other texts have no place', () => {
  const strange = ['["one","11"]', '["two","9"]', '["two","21"]', '["three","5"]']
  const broken = ['["one",1]', '["one","01"]', '["one","1","2"]', '{}', '', 'x', undefined, 5, null]
  for (const text of [...strange, ...broken]) {
    expect(numberOfRevision(RUNS, 20, text)).toBeUndefined()
  }
})
