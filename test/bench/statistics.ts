/** The middle value; the mean of the two middle ones of an even count. NaN of none. */
export function median(values: readonly number[]): number {
  return (percentile(values, 0.5, Math.floor) + percentile(values, 0.5, Math.ceil)) / 2
}

/** The value below which the share `rank` (0…1) of the others lies, the nearest one that occurred. */
export function percentile(
  values: readonly number[],
  rank: number,
  nearest: (index: number) => number = Math.ceil,
): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[nearest((sorted.length - 1) * rank)] ?? Number.NaN
}
