import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { createRests } from '../../../src/domain/value/rests'

test('the end of the work ends pauses under way, and later ones do not begin', async () => {
  const rests = createRests()
  const long = [rests.rest(3_600_000), rests.rest(3_600_000)]
  rests[Symbol.dispose]()
  expect(await Promise.all([...long, rests.rest(3_600_000)])).toHaveLength(3)
})

test('pauses that have ended are not remembered until the end of the work', async () => {
  using rests = createRests()
  const promisesInMemory = () => {
    Bun.gc(true)
    return heapStats().objectTypeCounts['Promise'] ?? 0
  }
  const before = promisesInMemory()
  for (let i = 0; i < 1_000; i++) await rests.rest(0)
  expect(promisesInMemory() - before).toBeLessThan(500)
})
