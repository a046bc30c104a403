import process from 'node:process'

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

/**
 * Collects garbage when it is called and the process has grown by `most` bytes: by itself the collector lets
 * the memory double. It does so at once, because a collection in the background does not end beside work.
 * `memory` and `collect` are others for tests.
 */
export function createRelief(
  most: number,
  memory: () => number = () => process.memoryUsage.rss(),
  collect: () => void = () => Bun.gc(true),
): () => void {
  let least = memory()
  return () => {
    const now = memory()
    least = Math.min(least, now)
    if (now - least < most) return
    least = now
    collect()
  }
}
