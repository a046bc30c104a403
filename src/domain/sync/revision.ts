import type { Run } from '../store/sync'

const [BEGINNING, MIDDLE, END] = ['["', '","', '"]'] as const

/** A revision as clients store and echo it: `["<run>","<number>"]`. The id of a run needs no escapes. */
export function formatRevision(run: Run, revision: number): string {
  return BEGINNING + run.id + MIDDLE + revision + END
}

/**
 * The number of a revision that a client sends back, or undefined when this database never gave it
 * out: an unknown run, a number beyond the range of its run, or any other text. `runs` are in the
 * order in which they began; a run ends where the next one begins, the last one at `current`.
 */
export function numberOfRevision(
  runs: readonly Run[],
  current: number,
  text: unknown,
): number | undefined {
  if (typeof text !== 'string') return undefined
  const position = runs.findLastIndex(({ id }) => text.startsWith(id, BEGINNING.length))
  const run = runs[position]
  if (run === undefined) return undefined
  const number = Number.parseInt(text.slice(BEGINNING.length + run.id.length + MIDDLE.length))
  const last = runs[position + 1]?.first ?? current
  const isGiven = number >= run.first && number <= last
  return isGiven && text === formatRevision(run, number) ? number : undefined
}
