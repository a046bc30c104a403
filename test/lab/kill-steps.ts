import type { Caller } from '../http/setup'
import { startExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import { MUT, pusher } from './hostile-syncs'
import { integrityOf } from './integrity'
import { kill } from './kill-writers'
import { createRandom } from './random'

export interface StepsReport {
  /** How often a kill left the operation half done. */
  readonly halfDone: number
  readonly problems: readonly string[]
}

const ROWS = 8_000
const STEP = 1_000

/**
 * Promise 6: kills the executable while one operation changes 8,000 rows, once a random step of it is
 * visible, and sends the operation again: each step was whole, and in the end each row has changed once.
 */
export async function killSteps(rounds: number, seed: number): Promise<StepsReport> {
  using folder = temporaryFolder()
  const random = createRandom(seed)
  const problems: string[] = []
  let halfDone = 0
  let executable = await startExecutable(folder.path)
  try {
    const rows = Array.from({ length: ROWS }, (_, n) => ({ id: `row${n}`, list: 1, n: 0 }))
    const mallory = await executable.as(MUT.userId)
    await mallory.post('/my/plain', rows, { prefer: 'return=minimal' })
    for (let round = 1; round <= rounds; round += 1) {
      const before = await executable.as(MUT.userId)
      const operation = operationOf(round)
      const answered = pusher(before, [operation])().catch(() => 0)
      const seen = Math.floor(random.next() * (ROWS / STEP - 1)) * STEP
      while ((await valueOf(before, `row${seen}`)) < round) await Bun.sleep(1)
      await kill(executable)
      const status = await answered
      executable = await startExecutable(folder.path, { client: executable.client })
      const again = await executable.as(MUT.userId)
      const done = await countOf(again, round)
      if (done < ROWS) halfDone += 1
      if (done % STEP !== 0) problems.push(`round ${round}: ${done} rows were changed`)
      if (status === 200 && done < ROWS) problems.push(`round ${round}: answered with ${done} rows`)
      for (let time = 0; time < 2; time += 1) {
        const outcome = await pusher(again, [operation])()
        if (outcome !== 200) problems.push(`round ${round}: the repeat was answered ${outcome}`)
        const all = await countOf(again, round)
        if (all !== ROWS) problems.push(`round ${round}: ${all} of ${ROWS} rows changed once`)
      }
      const integrity = integrityOf(folder.path)
      if (integrity !== 'ok') problems.push(`round ${round}: ${integrity}`)
    }
  } finally {
    await executable[Symbol.asyncDispose]()
  }
  return { halfDone, problems }
}

function operationOf(round: number): object {
  const criteria = { index: 'list', range: { type: 1, lower: 1, upper: 1 } }
  const changeSpec = { n: { '@@propmod': { add: 1 } } }
  return { ...MUT, txid: `round${round}`, type: 'modify', criteria, changeSpec }
}

async function valueOf(caller: Caller, key: string): Promise<number> {
  const { body } = await caller.get(`/my/plain/${key}`)
  return (body as { readonly n: number }).n
}

/** How many rows have this value. */
async function countOf(caller: Caller, value: number): Promise<number> {
  const { body } = await caller.get('/my/plain')
  return (body as readonly { readonly n: number }[]).filter(({ n }) => n === value).length
}
