import type { Run } from '../store/sync'

/** A revision as clients store and echo it: `["<run>","<number>"]`. */
export function formatRevision(run: Run, revision: number): string {
  return JSON.stringify([run.id, String(revision)])
}

/**
 * The number of a revision that a client sends back, or undefined when this database never gave it
 * out: an unknown run, a number beyond the range of its run, or any other text. `runs` are in the
 * order in which they began; a run ends where the next one begins, the last one at `current`.
 */
export function placeRevision(
  runs: readonly Run[],
  current: number,
  text: unknown,
): number | undefined {
  const parsed = typeof text === 'string' ? parse(text) : undefined
  if (parsed === undefined) return undefined
  const position = runs.findIndex(({ id }) => id === parsed.id)
  const run = runs[position]
  if (run === undefined) return undefined
  const last = runs[position + 1]?.first ?? current
  return parsed.number >= run.first && parsed.number <= last ? parsed.number : undefined
}

function parse(text: string): { id: string; number: number } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (!Array.isArray(value) || value.length !== 2) return undefined
    const [id, digits] = value as [unknown, unknown]
    if (typeof id !== 'string' || typeof digits !== 'string') return undefined
    const number = Number(digits)
    return Number.isSafeInteger(number) && String(number) === digits ? { id, number } : undefined
  } catch {
    return undefined
  }
}
