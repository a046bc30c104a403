import { setupExecutable } from '../promises/setup'
import type { Finding } from './experiment'
import { createRandom } from './random'
import { compareTimes, drawTurns, MOST_T } from './welch'

/** Requests before the first that counts: the runtime has compiled by then what it compiles. */
const WARM_UP = 1_000
/** Objects of another user, as many large ones as small ones. */
const HIDDEN = 100

/** An object of another user that is asked for, if any. */
type Kind = 'large' | 'small' | 'none'

/**
 * Promise 24: how long a read takes says nothing about the size of an object of another user, whose
 * key or indexed value is asked for: a large value would take so much longer to read that a caller
 * could tell that it is there. How a small one compares with none is reported: it takes a look-up more.
 */
export async function timeHiddenObjects(samples: number, seed: number): Promise<Finding> {
  await using executable = await setupExecutable({
    environment: { SATCHEL_LOG_LEVEL: 'error', SATCHEL_RATE_LIMITS: 'off' },
  })
  const alice = await executable.as('alice@example.com')
  const mallory = await executable.as('mallory@example.com')
  const kept = (kind: 'large' | 'small', text: string) =>
    Array.from({ length: HIDDEN }, (_, n) => {
      const name = `${kind}${String(n).padStart(4, '0')}`
      return { id: name, country: name, text }
    })
  await alice.post('/my/items', kept('large', 'x'.repeat(30_000)))
  await alice.post('/my/items', kept('small', 'x'))
  await mallory.post('/my/items', { id: 'own', country: 'own' })
  const random = createRandom(seed)
  const problems = new Set<string>()
  const facts: string[] = []
  const number = () => String(random.between(0, HIDDEN - 1)).padStart(4, '0')
  const questions = [
    { what: 'a key', status: 404, path: '/my/items/' },
    { what: 'an indexed value', status: 200, path: '/my/items?country=' },
  ]
  for (const { what, status, path } of questions) {
    const ask = async (kind: Kind) => {
      const address = `${path}${kind}${number()}`
      const begin = Bun.nanoseconds()
      const answer = await mallory.get(address)
      const time = Bun.nanoseconds() - begin
      if (answer.status !== status) problems.add(`${address} was answered ${answer.status}`)
      return time / 1_000
    }
    const compare = async (one: Kind, other: Kind) => {
      const times = [new Float64Array(samples), new Float64Array(samples)] as const
      const asked = [0, 0]
      for (const turn of drawTurns(samples, random)) {
        times[turn]![asked[turn]!++] = await ask(turn === 0 ? one : other)
      }
      const { t, difference } = compareTimes(...times)
      facts.push(`${what}, ${one} or ${other}: t = ${t.toFixed(2)}, ${difference.toFixed(1)} µs`)
      return t
    }
    for (let turn = 0; turn < WARM_UP; turn += 1) await ask(turn % 2 === 0 ? 'large' : 'none')
    const t = await compare('small', 'large')
    if (Math.abs(t) >= MOST_T) problems.add(`the size behind ${what} shows: t = ${t.toFixed(2)}`)
    await compare('none', 'small')
  }
  return { facts: facts.join('; '), problems: [...problems] }
}
