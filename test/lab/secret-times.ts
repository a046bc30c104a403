import { sameSecret } from '../../src/domain/value/secret'
import type { Finding } from './experiment'
import { createRandom } from './random'
import { compareTimes, drawTurns, MOST_T } from './welch'

/** As long as the secret of a client. */
const KEPT = 'q2vR8XkFZ0m7yTn4bLw1sAq2vR8XkFZ0m7yTn4bLw1s'

/** Two inputs that a difference in time might tell apart. */
const PAIRS: readonly (readonly [what: string, one: string, other: string])[] = [
  ['its first or its last character is wrong', `!${KEPT.slice(1)}`, `${KEPT.slice(0, -1)}!`],
  ['it is wrong or right', `${KEPT.slice(0, 20)}!${KEPT.slice(21)}`, KEPT],
]

/** Promise 23: how long a comparison takes says nothing about what is compared. */
export async function timeSecrets(samples: number, seed: number): Promise<Finding> {
  const problems: string[] = []
  const facts: string[] = []
  for (const [what, one, other] of PAIRS) {
    takeTimes(one, other, 20_000, seed)
    const [first, second] = takeTimes(one, other, samples, seed)
    const { t, difference } = compareTimes(first, second)
    facts.push(`t = ${t.toFixed(2)}, ${difference.toFixed(1)} ns`)
    if (Math.abs(t) >= MOST_T) problems.push(`whether ${what} shows: t = ${t.toFixed(2)}`)
  }
  return { facts: facts.join('; '), problems }
}

/** ns, `samples` of each, in an order that is drawn. */
function takeTimes(one: string, other: string, samples: number, seed: number) {
  const times = [new Float64Array(samples), new Float64Array(samples)] as const
  const taken = [0, 0]
  for (const turn of drawTurns(samples, createRandom(seed))) {
    const given = turn === 0 ? one : other
    const begin = Bun.nanoseconds()
    sameSecret(given, KEPT)
    times[turn]![taken[turn]!++] = Bun.nanoseconds() - begin
  }
  return times
}
