import { cpus, release, totalmem } from 'node:os'

import type { Options } from './options'
import { reaches, type Bar, type Figure, type LaneSummary } from './result'

/** The result of a workload: its figures, or its failure. */
export interface Outcome {
  readonly workload: string
  readonly figures: readonly Figure[]
  readonly failure?: string
}

const figureHeads = ['workload', 'mode', 'bar', 'goal', 'measured', 'min – max', '']
const laneHeads = ['contender', 'objects/s', 'p50 ms', 'p99 ms', 'RSS MB']

/** The figures against their bars, and below how the contenders of every race did. */
export function renderTables({ warmUp }: Options, outcomes: readonly Outcome[]): string {
  const figures = outcomes.flatMap(({ figures }) => figures)
  const failures = outcomes.flatMap(({ workload, failure }) =>
    failure === undefined ? [] : [`${workload} failed: ${failure}`],
  )
  const measured = figures.filter(({ values, skipped }) => values.length > 0 || skipped)
  const lanes = figures.flatMap(({ title, mode = 'development', floor, satchel }) =>
    [floor, satchel]
      .filter((lane) => lane !== undefined)
      .map((lane, index) => [index === 0 ? `${title}, ${mode}` : '', ...laneCells(lane)]),
  )
  return [
    ...(measured.length > 0 ? [align([figureHeads, ...measured.map(figureCells)])] : []),
    ...(lanes.length > 0
      ? [
          align([['race', ...laneHeads], ...lanes]),
          `Each contender of a race bore the same load for ${warmUp} s before it was measured: the figures are those of a server that has been running for a while.`,
        ]
      : []),
    ...failures,
  ].join('\n\n')
}

/** Everything measured, the machine and the options, as JSON text. */
export function renderJson(options: Options, outcomes: readonly Outcome[]): string {
  const machine = {
    processors: cpus().map(({ model }) => model),
    memoryMegabytes: Math.round(totalmem() / 2 ** 20),
    platform: `${process.platform} ${process.arch} ${release()}`,
    bun: Bun.version,
  }
  const rated = outcomes.map((outcome) => ({
    ...outcome,
    figures: outcome.figures.map((figure) => ({ ...figure, isMet: isMet(figure) ?? null })),
  }))
  return `${JSON.stringify({ machine, options, outcomes: rated }, null, 2)}\n`
}

/** Whether every workload ran and every figure that was measured reaches its bar. */
export function isAllMet(outcomes: readonly Outcome[]): boolean {
  return outcomes.every(
    ({ figures, failure }) =>
      failure === undefined && figures.every((figure) => isMet(figure) !== false),
  )
}

function isMet(figure: Figure): boolean | undefined {
  return reaches(figure, figure.bar.bar)
}

function figureCells(figure: Figure): string[] {
  const { title, mode = 'development', bar, values, value, floor, skipped } = figure
  const against = floor ? `${title} (${floor.name})` : title
  const range = `${amount(Math.min(...values))} – ${amount(Math.max(...values))}`
  const goal = bar.goal === undefined ? '' : limit(bar, bar.goal)
  if (skipped) return [against, mode, limit(bar, bar.bar), goal, 'skipped', '', skipped]
  return [
    against,
    mode,
    limit(bar, bar.bar),
    goal,
    `${amount(value)} ${bar.unit}`,
    range,
    verdict(figure),
  ]
}

function verdict(figure: Figure): string {
  if (figure.bar.goal !== undefined && reaches(figure, figure.bar.goal)) return 'met, goal too'
  return isMet(figure) ? 'met' : 'NOT MET'
}

function limit({ limit, unit }: Bar, number: number): string {
  return `${limit === 'at least' ? '≥' : '≤'} ${number} ${unit}`
}

function laneCells({ name, objectsPerSecond, p50, p99, megabytes }: LaneSummary): string[] {
  const rate = Math.round(objectsPerSecond).toLocaleString('en')
  return [name, rate, amount(p50), amount(p99), megabytes.toFixed(0)]
}

function amount(number: number): string {
  return number.toFixed(number < 10 ? 2 : 1)
}

/** Columns as wide as their widest cell; the first to the left, the others to the right. */
export function align(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
