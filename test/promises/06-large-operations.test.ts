import { expect, test } from 'bun:test'
import { killSteps } from '../lab/kill-steps'

/** Promise 6: one operation on more than 5,000 rows goes in steps, which a repeat resumes; the lab kills 50 times. */
test('promise 6: an operation on 8,000 rows that kill -9 hits between its steps is finished by a repeat, once, 3 times', async () => {
  const { halfDone, problems } = await killSteps(3, 6)
  expect(problems).toEqual([])
  expect(halfDone).toBeGreaterThan(0)
})
