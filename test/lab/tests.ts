import { join } from 'node:path'
import type { Finding } from './experiment'

const ROOT = join(import.meta.dir, '..', '..')

/** An hour: the limit of a test is meant for its short form. */
const PATIENCE_MS = 3_600_000

/** Runs tests with `runs` cases where they draw cases at random, the whole `times` over. */
export async function runTests(
  paths: readonly string[],
  runs: number,
  seed: number,
  times = 1,
): Promise<Finding> {
  const problems: string[] = []
  let passed = 0
  for (let time = 0; time < times; time += 1) {
    const environment = { SATCHEL_RUNS: String(runs), SATCHEL_SEED: String(seed + time) }
    const child = Bun.spawn(
      [process.execPath, 'test', '--timeout', String(PATIENCE_MS), ...paths],
      { cwd: ROOT, env: { ...process.env, ...environment }, stdout: 'ignore', stderr: 'pipe' },
    )
    const [exitCode, output] = await Promise.all([child.exited, child.stderr.text()])
    passed += Number(/^\s*(\d+) pass$/m.exec(output)?.[1] ?? 0)
    if (exitCode !== 0) problems.push(output.slice(-8_000))
  }
  return { facts: `${passed} tests passed`, problems }
}
