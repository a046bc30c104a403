/** Counts values by size. The bounds are upper ones, in ascending order. */
export class Histogram {
  /** One for each bound, and one for the values above all of them. */
  readonly counts: number[]
  sum = 0

  constructor(readonly bounds: readonly number[]) {
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let bucket = 0
    while (value > (this.bounds[bucket] ?? Infinity)) bucket += 1
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1
    this.sum += value
  }
}
