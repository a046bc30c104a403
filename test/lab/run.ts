import { parseArgs } from 'node:util'
import { runAppliance } from './appliance/run'
import type { Experiment, Finding } from './experiment'
import { experiments } from './experiments'

const usage = `bun run lab [options]
bun run lab appliance [options of bun test]

Shows the promises that take long (promises.md), in full, on the executable of \`bun build.ts\`; \`appliance\` runs the
tests of the package and the service, as root and with programs of the operating system.

  --only N      the experiments for this promise only; may be repeated
  --title TEXT  those of them with this text in their title
  --rounds N    rounds of every experiment
  --seed N      where random choices begin (a new one each time)
  --list        name the experiments
  --help

Exits with 1 when a promise does not hold.
`

interface Outcome extends Finding {
  readonly experiment: Experiment
  readonly rounds: number
  readonly seconds: number
}

async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === 'appliance') return await runAppliance(argv.slice(1))
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      title: { type: 'string', default: '' },
      rounds: { type: 'string' },
      seed: { type: 'string' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return say(usage)
  if (values.list) return say(`${experiments.map(nameOf).join('\n')}\n`)
  const promises = values.only.map((text) => requireWhole('--only', text))
  const chosen = choose(promises).filter(({ title }) => title.includes(values.title))
  if (chosen.length === 0) throw new Error(`There is no experiment “${values.title}”: see --list`)
  const rounds = values.rounds === undefined ? undefined : requireWhole('--rounds', values.rounds)
  const seed =
    values.seed === undefined
      ? Math.floor(Math.random() * 1e6) + 1
      : requireWhole('--seed', values.seed)
  say(`Seed ${seed}\n\n`)
  const outcomes: Outcome[] = []
  for (const experiment of chosen) outcomes.push(await perform(experiment, rounds, seed))
  say(`\n${tableOf(outcomes)}\n`)
  const broken = outcomes.filter(({ problems }) => problems.length > 0)
  say(broken.length === 0 ? '\nEvery promise holds.\n' : `\n${broken.length} do not hold.\n`)
  return broken.length === 0 ? 0 : 1
}

async function perform(
  experiment: Experiment,
  wanted: number | undefined,
  seed: number,
): Promise<Outcome> {
  const { obstacle } = experiment
  const rounds = wanted ?? experiment.rounds
  say(`${nameOf(experiment)} … `)
  if (obstacle !== undefined) {
    say(`skipped: ${obstacle}\n`)
    return { experiment, rounds: 0, seconds: 0, facts: `skipped: ${obstacle}`, problems: [] }
  }
  const begun = performance.now()
  const finding = await experiment
    .run(rounds, seed)
    .catch((error: unknown): Finding => ({ facts: 'broke off', problems: [textOf(error)] }))
  const seconds = (performance.now() - begun) / 1000
  say(`${finding.problems.length === 0 ? 'holds' : 'DOES NOT HOLD'} (${seconds.toFixed(0)} s)\n`)
  for (const problem of finding.problems.slice(0, 20)) say(`  ${problem}\n`)
  return { experiment, rounds, seconds, ...finding }
}

function choose(only: readonly number[]): readonly Experiment[] {
  const unknown = only.filter((promise) => experiments.every((each) => each.promise !== promise))
  if (unknown.length > 0) {
    throw new Error(`There is no experiment for promise ${unknown.join(', ')}: see --list`)
  }
  return only.length === 0 ? experiments : experiments.filter((each) => only.includes(each.promise))
}

function tableOf(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ experiment, rounds, seconds, facts, problems }) => [
    String(experiment.promise),
    experiment.title,
    rounds === 0 ? '' : `${rounds} ${experiment.unit}`,
    rounds === 0 ? '–' : problems.length === 0 ? 'holds' : 'DOES NOT HOLD',
    facts,
    rounds === 0 ? '' : `${seconds.toFixed(0)} s`,
  ])
  const all = [['promise', 'what', 'rounds', 'result', 'seen', 'time'], ...rows]
  const widths = (all[0] ?? []).map((_, column) =>
    Math.max(...all.map((row) => row[column]?.length ?? 0)),
  )
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const nameOf = ({ promise, title }: Experiment) => `${promise}: ${title}`

function requireWhole(flag: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw new Error(`${flag} must be a whole number, at least 1`)
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function say(text: string): number {
  process.stdout.write(text)
  return 0
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 2
}
