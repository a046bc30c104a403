const UNITS = [
  ['y', 365 * 86_400_000],
  ['mo', 30 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A distance in time as people write it: `3 min ago`, `in 2 h`. `ms` is negative for the past. */
export function relative(ms: number): string {
  const distance = Math.abs(ms)
  if (distance < 5_000) return 'now'
  const [unit, length] = UNITS.find(([, length]) => distance >= length) ?? ['s', 1_000]
  const count = `${Math.floor(distance / length)} ${unit}`
  return ms < 0 ? `${count} ago` : `in ${count}`
}
