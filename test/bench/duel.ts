import type { Bench, Workload } from './bench'
import { align } from './report'
import type { Duel } from './result'
import { median, medianInterval } from './statistics'

/** The result of a workload for two executables, or its failure. */
export interface DuelOutcome {
  readonly workload: string
  readonly duels: readonly Duel[]
  readonly failure?: string
}

/** Better, the same as far as the rounds show, or worse. */
type Verdict = 'better' | 'same' | 'WORSE'

/** Runs a workload with two executables in turn. */
export async function runDuel(
  before: Bench,
  after: Bench,
  workload: Workload,
): Promise<DuelOutcome> {
  after.say(workload.name)
  try {
    const duels = await (workload.duel ?? alternate(workload))(before, after)
    return { workload: workload.name, duels }
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error)
    after.say(`  failed: ${failure}`)
    return { workload: workload.name, duels: [], failure }
  }
}

/** Whether every workload ran and none is worse than before. */
export function isNoneWorse(outcomes: readonly DuelOutcome[]): boolean {
  return outcomes.every(
    ({ duels, failure }) =>
      failure === undefined && duels.every((duel) => judge(duel).verdict !== 'WORSE'),
  )
}

/** The medians of both, and how many times as good the second is: above 1 it is better. */
export function renderDuels(outcomes: readonly DuelOutcome[]): string {
  const duels = outcomes.flatMap(({ duels }) => duels)
  const failures = outcomes.flatMap(({ workload, failure }) =>
    failure === undefined ? [] : [`${workload} failed: ${failure}`],
  )
  const measured = duels.find(({ before }) => before.length > 0)
  const { confidence } = medianInterval(measured?.before ?? [])
  const heads = ['workload', 'before', 'after', '', 'ratio', 'interval', '']
  return [
    align([heads, ...duels.map(duelCells)]),
    `The ratio is the median of the rounds: after / before, or before / after where less is better.
The interval holds it with a confidence of ${(confidence * 100).toFixed(1)} %: "same" when 1 is in it, "WORSE" when it lies below.`,
    ...failures,
  ].join('\n\n')
}

/** Everything measured, as JSON text. */
export function renderDuelsJson(options: Bench['options'], outcomes: readonly DuelOutcome[]) {
  const judged = outcomes.map((outcome) => ({
    ...outcome,
    duels: outcome.duels.map((duel) => ({ ...duel, ...judge(duel) })),
  }))
  return `${JSON.stringify({ options, outcomes: judged }, null, 2)}\n`
}

/** One round of the workload after the other, each with the next executable and a fresh start. */
function alternate(workload: Workload) {
  return async (before: Bench, after: Bench): Promise<Duel[]> => {
    const duels = new Map<string, Duel & { readonly before: number[]; readonly after: number[] }>()
    const sides = [
      ['before', before],
      ['after', after],
    ] as const
    for (let round = 0; round < after.options.rounds; round += 1) {
      for (const [side, bench] of round % 2 === 0 ? sides : sides.toReversed()) {
        const options = { ...bench.options, rounds: 1 }
        for (const { title, bar, value, skipped } of await workload.run({ ...bench, options })) {
          const isLowerBetter = bar.limit === 'at most'
          const reason = skipped === undefined ? {} : { skipped }
          const empty = {
            title,
            unit: ` ${bar.unit}`,
            isLowerBetter,
            before: [],
            after: [],
            ...reason,
          }
          const duel = duels.get(title) ?? empty
          duels.set(title, duel)
          if (skipped === undefined) duel[side].push(value)
        }
      }
      after.say(`  round ${round + 1}: ${[...duels.values()].map(describeLast).join('; ')}`)
    }
    return [...duels.values()]
  }
}

function judge({ before, after, isLowerBetter }: Duel) {
  const ratios = before.map((former, round) => {
    const latter = after[round] ?? Number.NaN
    return isLowerBetter ? former / latter : latter / former
  })
  const interval = medianInterval(ratios)
  const verdict: Verdict = interval.low > 1 ? 'better' : interval.high < 1 ? 'WORSE' : 'same'
  return { ratio: median(ratios), interval, verdict }
}

function duelCells(duel: Duel): string[] {
  const { title, unit, before, after, isLowerBetter, skipped } = duel
  if (skipped !== undefined) return [title, '', '', '', '', skipped, 'skipped']
  const { ratio, interval, verdict } = judge(duel)
  return [
    title,
    amount(median(before), unit),
    amount(median(after), unit),
    isLowerBetter ? 'less is better' : '',
    ratio.toFixed(3),
    `${interval.low.toFixed(3)} – ${interval.high.toFixed(3)}`,
    verdict,
  ]
}

function describeLast({ title, unit, before, after }: Duel): string {
  const last = (values: readonly number[]) => amount(values.at(-1) ?? Number.NaN, unit)
  return `${title} ${last(before)}, then ${last(after)}`
}

function amount(number: number, unit: string): string {
  const digits = number < 10 ? 2 : number < 100 ? 1 : 0
  return `${number.toLocaleString('en', { maximumFractionDigits: digits })}${unit}`
}
