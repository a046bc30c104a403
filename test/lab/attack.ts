import type { Caller } from '../http/setup'
import { type Executable, setupExecutable } from '../promises/setup'
import { beside, cpuOf, harmOf, type Waits } from './beside'
import type { Experiment, Finding } from './experiment'

/** A request, or several in turn, beside which nobody else may wait. */
export interface Attack {
  readonly title: string
  readonly rounds?: number
  run(stage: Stage): Promise<void>
}

export interface Stage {
  readonly executable: Executable
  readonly root: Caller
  readonly mallory: Caller
  readonly facts: string[]
  readonly problems: string[]
  /** Runs `send` beside others, who may wait `most` ms; its outcome must be one of these. */
  readonly hurl: <T extends number | string>(
    title: string,
    outcomes: readonly T[],
    send: () => Promise<T>,
    most?: Waits,
  ) => Promise<void>
  /** The median time of a request that is sent several times, less that of a plain write, ms. */
  readonly costOf: (
    times: number,
    send: (time: number) => Promise<{ status: number }>,
  ) => Promise<number>
}

/** The attack as an experiment for a promise. */
export function experimentOf(promise: number, attack: Attack): Experiment {
  return {
    promise,
    title: `nobody else waits: ${attack.title}`,
    unit: 'rounds',
    rounds: attack.rounds ?? 1,
    run: (rounds) => perform(attack, rounds),
  }
}

async function perform(attack: Attack, rounds: number): Promise<Finding> {
  const [facts, problems]: [string[], string[]] = [[], []]
  for (let round = 1; round <= rounds; round += 1) {
    await using executable = await setupExecutable()
    const mallory = await executable.as('mallory@example.com')
    // On a busy machine others wait for it too, not only for the attack.
    const calm = await beside(executable, () => Bun.sleep(1_000))
    facts.push(`others alone: writes ${calm.write} ms, reads ${calm.read} ms`)
    await attack.run({
      executable,
      root: await executable.root(),
      mallory,
      facts,
      problems,
      async hurl(title, outcomes, send, most) {
        const before = cpuOf(executable)
        const found = await beside(executable, send)
        const cpu = cpuOf(executable) - before
        const waits = `writes ${found.write} ms, reads ${found.read} ms, ${cpu} ms of CPU`
        facts.push(`${title}: ${found.result}, ${waits}`)
        if (!outcomes.includes(found.result)) {
          problems.push(`${title} was answered ${found.result}`)
        }
        problems.push(...harmOf(title, found, most))
      },
      async costOf(times, send) {
        const plain = await medianTime(times, () => mallory.post('/my/plain', { id: 'a' }))
        return (await medianTime(times, send)) - plain
      },
    })
    const peak = peakOf(executable)
    if (!Number.isNaN(peak)) facts.push(`at most ${Math.round(peak)} MiB`)
  }
  return { facts: facts.join('; '), problems }
}

/** NaN when it has ended. */
function peakOf(executable: Executable): number {
  try {
    return executable.memory().peak
  } catch {
    return Number.NaN
  }
}

async function medianTime(
  times: number,
  send: (time: number) => Promise<{ status: number }>,
): Promise<number> {
  const all: number[] = []
  for (let time = 0; time < times; time += 1) {
    const begun = performance.now()
    const { status } = await send(time)
    all.push(performance.now() - begun)
    if (status >= 300) throw new Error(`a request was answered ${status}`)
  }
  return all.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN
}

/** Its text is made in advance, because the probes run in this process too. */
export function poster(caller: Caller, path: string, objects: unknown): () => Promise<number> {
  const body = JSON.stringify(objects)
  const headers = { prefer: 'return=minimal' }
  return async () => (await caller.send('POST', path, { body, headers })).status
}
