import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

import { createBench, type Bench, type Workload } from './bench'
import { type DuelOutcome, isNoneWorse, renderDuels, renderDuelsJson, runDuel } from './duel'
import { parseOptions, usage, type Options } from './options'
import { isAllMet, renderJson, renderTables, type Outcome } from './report'
import { workloads } from './workloads'

/** Runs the benchmark of design.md §7 and resolves to the exit code. */
async function main(argv: readonly string[]): Promise<number> {
  const { isList, isHelp, ...options } = parseOptions(argv)
  if (isHelp || isList) {
    process.stdout.write(isHelp ? usage : `${workloads.map(({ name }) => name).join('\n')}\n`)
    return 0
  }
  const chosen = chooseWorkloads(options)
  const { against } = options
  requirePlatform(options)
  await requireWrk()

  const interruption = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interruption.abort())
  const outcomes: Outcome[] = []
  const duels: DuelOutcome[] = []
  {
    await using bench = await createBench(options, interruption.signal)
    const before = against === undefined ? undefined : bench.withExecutable(against)
    for (const workload of chosen) {
      if (interruption.signal.aborted) return 130
      if (before === undefined) outcomes.push(await runWorkload(bench, workload))
      else duels.push(await runDuel(before, bench, workload))
    }
  }
  await mkdir(dirname(options.json), { recursive: true })
  const [json, tables, isGood] =
    against === undefined
      ? [renderJson(options, outcomes), renderTables(options, outcomes), isAllMet(outcomes)]
      : [renderDuelsJson(options, duels), renderDuels(duels), isNoneWorse(duels)]
  await writeFile(options.json, json)
  process.stdout.write(`\n${tables}\n\nWritten to ${options.json}\n`)
  return isGood ? 0 : 1
}

function chooseWorkloads({ only, against, isRacesOnly }: Options): readonly Workload[] {
  const unknown = only.filter((name) => !workloads.some((workload) => workload.name === name))
  if (unknown.length > 0) {
    throw new Error(`No workload ${unknown.join(', ')}; --list names them all`)
  }
  if (only.length > 0) return workloads.filter(({ name }) => only.includes(name))
  return workloads.filter(
    ({ duel, isLong = false }) =>
      (duel !== undefined || !isRacesOnly) && (against === undefined || !isLong),
  )
}

function requirePlatform({ isFloorOnly, satchel, against }: Options): void {
  if (process.platform !== 'linux') throw new Error('The benchmark reads /proc and needs Linux')
  if (!isFloorOnly && !existsSync(satchel)) {
    throw new Error(`There is no ${satchel}; make it with: bun run build`)
  }
  if (against === undefined) return
  if (isFloorOnly) throw new Error('--against compares executables: leave out --floor-only')
  if (!existsSync(against)) throw new Error(`There is no ${against}`)
}

/** Installs the load generator where that is ours to do: as root on Debian. */
async function requireWrk(): Promise<void> {
  if (Bun.which('wrk') !== null) return
  if (Bun.which('apt-get') !== null && process.getuid?.() === 0) {
    const child = Bun.spawn(['apt-get', 'install', '-y', 'wrk'], { stdout: 'ignore' })
    if ((await child.exited) === 0 && Bun.which('wrk') !== null) return
  }
  throw new Error('The benchmark needs wrk; install it with: apt-get install -y wrk')
}

async function runWorkload(bench: Bench, workload: Workload): Promise<Outcome> {
  bench.say(workload.name)
  try {
    return { workload: workload.name, figures: await workload.run(bench) }
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error)
    bench.say(`  failed: ${failure}`)
    return { workload: workload.name, figures: [], failure }
  }
}

try {
  process.exitCode = await main(Bun.argv.slice(2))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
