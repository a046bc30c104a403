/** The width and the height of a plot in units of its drawing, which is stretched to its place. */
export const WIDTH = 720
export const HEIGHT = 100

const MINUTE_MS = 60 * 1000
/** The least and the most time that a plot shows. */
const [LEAST_MS, MOST_MS] = [5 * MINUTE_MS, 60 * MINUTE_MS]

export type Value = number | null

/** The time that a plot shows, ms since the epoch. */
export interface Axis {
  readonly begin: number
  readonly end: number
}

/** The times of figures, up to an hour; where they are of a few minutes only, there is room before them. */
export function axisOf(times: readonly number[]): Axis {
  const end = times.at(-1) ?? 0
  const known = end - (times[0] ?? end)
  return { begin: end - Math.min(MOST_MS, Math.max(LEAST_MS, known)), end }
}

/** The length of an axis: `The last 27 minutes`. */
export function titleOf({ begin, end }: Axis): string {
  const minutes = Math.round((end - begin) / MINUTE_MS)
  return minutes === 60 ? 'The last hour' : `The last ${minutes} minutes`
}

/** Where a time is, from the left. */
export function placeOf(at: number, { begin, end }: Axis): number {
  return (WIDTH * (at - begin)) / (end - begin)
}

/** The path of a line, as SVG has it. It is broken where a value is not known. */
export function lineOf(
  times: readonly number[],
  values: readonly Value[],
  axis: Axis,
  top: number,
): string {
  let path = ''
  let isDrawing = false
  for (const [place, at] of times.entries()) {
    const value = values[place] ?? null
    if (value !== null) {
      const x = placeOf(at, axis).toFixed(1)
      const y = (HEIGHT * (1 - value / top)).toFixed(1)
      // A value between two that are not known is a dot.
      path += isDrawing ? `L${x} ${y}` : `M${x} ${y}h1`
    }
    isDrawing = value !== null
  }
  return path
}

/** The index of the time that is nearest to a place from 0, the left, to 1; -1 when there is none. */
export function nearest(times: readonly number[], place: number, axis: Axis): number {
  const wanted = axis.begin + place * (axis.end - axis.begin)
  let found = -1
  let least = Infinity
  for (const [index, at] of times.entries()) {
    const distance = Math.abs(at - wanted)
    if (distance < least) [found, least] = [index, distance]
  }
  return found
}

/** The top of a scale from 0 that has all values and at least `least`: 1, 2 or 5 of a power of ten. */
export function topOf(values: readonly Value[], least: number): number {
  const most = values.reduce<number>((max, value) => Math.max(max, value ?? 0), least)
  const power = 10 ** Math.floor(Math.log10(most))
  const step = [1, 2, 5, 10].find((each) => each * power >= most) ?? 10
  return step * power
}
