import type { Streams } from './operation'

/** So many items wait for a slow reader; more are dropped, and counted. */
const MAX_WAITING_ITEMS = 1_000
/** So many are emitted at the same time. */
const ITEMS_PER_BATCH = 100

/**
 * Emits the items that `follow` gives to `take` until the caller leaves or `follow` calls `end`. `take` returns at
 * once, however slow the reader is; an item `{kind: 'missed', count}` says how many were dropped. Throws what
 * `follow` throws.
 */
export async function followed(
  { emit, signal }: Pick<Streams, 'emit' | 'signal'>,
  follow: (take: (item: unknown) => void, end: () => void) => Disposable,
): Promise<void> {
  if (emit === undefined) return
  const waiting: unknown[] = []
  let missed = 0
  let isOver = signal?.aborted === true
  let wake: () => void = () => undefined

  function take(item: unknown): void {
    if (waiting.length < MAX_WAITING_ITEMS) waiting.push(item)
    else missed += 1
    wake()
  }

  function end(): void {
    isOver = true
    wake()
  }

  using stack = new DisposableStack()
  signal?.addEventListener('abort', end, { once: true })
  stack.defer(() => signal?.removeEventListener('abort', end))
  stack.use(follow(take, end))
  while (!isOver) {
    const items = waiting.splice(0, ITEMS_PER_BATCH)
    if (items.length > 0) await Promise.all(items.map((item) => emit(item)))
    else if (missed > 0) {
      waiting.push({ kind: 'missed', count: missed })
      missed = 0
    } else await new Promise<void>((resolve) => (wake = resolve))
  }
}
