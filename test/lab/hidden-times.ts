import { setupExecutable } from '../promises/setup'
import type { Finding } from './experiment'
import { createRandom } from './random'
import { compareTimes, drawTurns, MOST_T } from './welch'

/** Requests before the first that counts: the runtime has compiled by then what it compiles. */
const WARM_UP = 1_000
/** Objects of another user, each with a large value. */
const HIDDEN = 100

/**
 * Promise 24: how long a read takes says nothing about whether another user has an object with this
 * key or this indexed value, be it as large as it may.
 */
export async function timeHiddenObjects(samples: number, seed: number): Promise<Finding> {
  await using executable = await setupExecutable({
    environment: { SATCHEL_LOG_LEVEL: 'error', SATCHEL_RATE_LIMITS: 'off' },
  })
  const alice = await executable.as('alice@example.com')
  const mallory = await executable.as('mallory@example.com')
  const text = 'x'.repeat(30_000)
  const hidden = Array.from({ length: HIDDEN }, (_, n) => ({
    id: `kept${String(n).padStart(4, '0')}`,
    country: `in${String(n).padStart(4, '0')}`,
    text,
  }))
  await alice.post('/my/items', hidden)
  await mallory.post('/my/items', { id: 'own', country: 'own' })
  const random = createRandom(seed)
  const problems = new Set<string>()
  const facts: string[] = []
  const number = () => String(random.between(0, HIDDEN - 1)).padStart(4, '0')
  const questions = [
    { what: 'a key', status: 404, path: (kind: string) => `/my/items/${kind}${number()}` },
    {
      what: 'an indexed value',
      status: 200,
      path: (kind: string) => `/my/items?country=${kind === 'kept' ? 'in' : 'no'}${number()}`,
    },
  ]
  for (const { what, status, path } of questions) {
    const ask = async (kind: 'kept' | 'none') => {
      const address = path(kind)
      const begin = Bun.nanoseconds()
      const answer = await mallory.get(address)
      const time = Bun.nanoseconds() - begin
      if (answer.status !== status) problems.add(`${address} was answered ${answer.status}`)
      return time / 1_000
    }
    for (let turn = 0; turn < WARM_UP; turn += 1) await ask(turn % 2 === 0 ? 'kept' : 'none')
    const times = [new Float64Array(samples), new Float64Array(samples)] as const
    const asked = [0, 0]
    for (const turn of drawTurns(samples, random)) {
      times[turn]![asked[turn]!++] = await ask(turn === 0 ? 'kept' : 'none')
    }
    const { t, difference } = compareTimes(...times)
    facts.push(`${what}: t = ${t.toFixed(2)}, ${difference.toFixed(1)} µs`)
    if (Math.abs(t) >= MOST_T) problems.add(`whether ${what} exists shows: t = ${t.toFixed(2)}`)
  }
  return { facts: facts.join('; '), problems: [...problems] }
}
