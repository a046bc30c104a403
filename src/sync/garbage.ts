/**
 * Counts the characters of texts that are made, and collects garbage after `every` of them: the collector
 * underestimates the memory of strings. `collect` is another collector, for tests.
 */
export function createCollector(
  every: number,
  collect: () => void = () => Bun.gc(true),
): (characters: number) => void {
  let made = 0
  return (characters) => {
    made += characters
    if (made < every) return
    made = 0
    collect()
  }
}
