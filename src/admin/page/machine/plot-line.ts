/** The width and the height of a plot in units of its drawing, which is stretched to its place. */
export const WIDTH = 720
export const HEIGHT = 100

const HOUR_MS = 60 * 60 * 1000

export type Value = number | null

/** Where a time of the last hour is, from the left. */
export function placeOf(at: number, end: number): number {
  return WIDTH * (1 - (end - at) / HOUR_MS)
}

/** The path of a line, as SVG has it. It is broken where a value is not known. */
export function lineOf(
  times: readonly number[],
  values: readonly Value[],
  end: number,
  top: number,
): string {
  let path = ''
  let isDrawing = false
  for (const [place, at] of times.entries()) {
    const value = values[place] ?? null
    if (value !== null) {
      const x = placeOf(at, end).toFixed(1)
      const y = (HEIGHT * (1 - value / top)).toFixed(1)
      // A value between two that are not known is a dot.
      path += isDrawing ? `L${x} ${y}` : `M${x} ${y}h1`
    }
    isDrawing = value !== null
  }
  return path
}

/** The index of the time that is nearest to a place from 0, the left, to 1; -1 when there is none. */
export function nearest(times: readonly number[], place: number, end: number): number {
  const wanted = end - (1 - place) * HOUR_MS
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
