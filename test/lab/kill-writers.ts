import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { type Executable, startExecutable } from '../promises/setup'
import { createHistory } from './history'
import { integrityOf } from './integrity'
import { createRandom } from './random'
import { type Run, readRun, writeAway } from './writers'

export interface KillReport {
  readonly rounds: number
  readonly acknowledged: number
  /** Lost acknowledged writes, and all other faults. */
  readonly problems: readonly string[]
}

/**
 * Promise 1: kills the executable with SIGKILL under 8 to 64 writers, starts it again on the same
 * folder and compares acknowledged with stored objects, round after round.
 */
export async function killWriters(rounds: number, seed: number): Promise<KillReport> {
  using folder = temporaryFolder()
  const random = createRandom(seed)
  const problems: string[] = []
  let acknowledged = 0
  let executable = await startExecutable(folder.path)
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const run: Run = {
        root: await executable.root(),
        mark: `r${round}`,
        history: createHistory(),
      }
      const writers = Array.from({ length: random.between(8, 64) }, (_, writer) =>
        writeAway(run, writer, createRandom(seed + round * 1_000 + writer)),
      )
      const hasBegun = () => run.history.acknowledged >= 10
      await killDuring(executable, writers, random.between(0, 200), hasBegun)
      executable = await startExecutable(folder.path, { client: executable.client })
      const stored = await readRun(await executable.root(), run.mark)
      const integrity = integrityOf(folder.path)
      acknowledged += run.history.acknowledged
      problems.push(
        ...run.history.contradictions(stored).map((problem) => `round ${round}: ${problem}`),
        ...(integrity === 'ok' ? [] : [`round ${round}: ${integrity}`]),
      )
    }
  } finally {
    await executable[Symbol.asyncDispose]()
  }
  return { rounds, acknowledged, problems }
}

/**
 * Kills the executable `delay` ms after `hasBegun`, or when `work` is over, and waits until the work has
 * seen it. On a busy machine nothing may have been acknowledged for a while.
 */
export async function killDuring(
  executable: Executable,
  work: readonly Promise<void>[],
  delay: number,
  hasBegun: () => boolean,
): Promise<void> {
  const outcome = Promise.all(work)
  await Promise.race([outcome, until(hasBegun).then(() => Bun.sleep(delay))])
  await kill(executable)
  await outcome
}

export async function kill({ served }: Executable): Promise<void> {
  served.kill('SIGKILL')
  await served.exited
}
