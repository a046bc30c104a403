import type { Steps } from '../parts/slices'

/** A line of the difference between two texts. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Lines of one text in the place of lines of another. */
interface Change {
  /** The first line and the one after the last. */
  readonly removed: readonly [from: number, to: number]
  readonly added: readonly [from: number, to: number]
}

/** Unchanged lines around a change that are shown. */
const CONTEXT = 3
/** Beyond so many lines that differ, the rest is one change: the search would take the square of that. */
const MOST_EDITS = 1_000
/** So many lines are looked at in one step. */
const STEP = 5_000

/**
 * The lines that lead from one text to another, with as many lines that stay as there can be. A number stands for so many
 * unchanged lines away from changes.
 */
export function* diffSteps(
  before: string,
  after: string,
  context = CONTEXT,
): Steps<readonly (DiffLine | number)[]> {
  const one = yield* linesOf(before)
  const other = yield* linesOf(after)
  const changes = yield* changesOf(one, other)
  const lines: (DiffLine | number)[] = []
  let shown = 0
  for (const [at, { removed, added }] of changes.entries()) {
    const begin = Math.max(shown, removed[0] - context)
    if (begin > shown) lines.push(begin - shown)
    yield* put(lines, 'same', one, begin, removed[0])
    yield* put(lines, 'removed', one, ...removed)
    yield* put(lines, 'added', other, ...added)
    const next = changes[at + 1]?.removed[0] ?? one.length
    shown = Math.min(next, removed[1] + context)
    yield* put(lines, 'same', one, removed[1], shown)
  }
  if (shown < one.length) lines.push(one.length - shown)
  return lines
}

function* put(
  to: (DiffLine | number)[],
  kind: DiffLine['kind'],
  lines: readonly string[],
  from: number,
  end: number,
): Steps<void> {
  for (let at = from; at < end; at += 1) {
    to.push({ kind, text: lines[at] ?? '' })
    if (at % STEP === 0) yield
  }
}

function* linesOf(text: string): Steps<readonly string[]> {
  const lines: string[] = []
  let from = 0
  for (;;) {
    const end = text.indexOf('\n', from)
    if (end < 0) break
    lines.push(text.slice(from, end))
    from = end + 1
    if (lines.length % STEP === 0) yield
  }
  lines.push(text.slice(from))
  return lines
}

function* changesOf(one: readonly string[], other: readonly string[]): Steps<readonly Change[]> {
  const least = Math.min(one.length, other.length)
  let start = 0
  while (start < least && one[start] === other[start]) {
    start += 1
    if (start % STEP === 0) yield
  }
  let end = 0
  while (end < least - start && one.at(-1 - end) === other.at(-1 - end)) {
    end += 1
    if (end % STEP === 0) yield
  }
  const changed = yield* search(
    one.slice(start, one.length - end),
    other.slice(start, other.length - end),
  )
  return changed.map(({ removed, added }) => ({
    removed: [removed[0] + start, removed[1] + start],
    added: [added[0] + start, added[1] + start],
  }))
}

/** No way leads there. */
const NOWHERE = -1e9

/**
 * The shortest way from one list of lines to another (Myers, "An O(ND) Difference Algorithm"): for each number of edits
 * the furthest place on each diagonal, which is the line of `one` less that of `other`.
 */
function* search(one: readonly string[], other: readonly string[]): Steps<readonly Change[]> {
  const [width, height] = [one.length, other.length]
  const furthest: Int32Array[] = []
  let looked = 0
  for (let edits = 0; ; edits += 1) {
    const before = furthest.at(-1)
    const places = new Int32Array(2 * edits + 1).fill(NOWHERE)
    furthest.push(places)
    let best = 0
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let x = before === undefined ? 0 : startOf(before, diagonal, width, height)
      if (x < 0) continue
      while (x < width && x - diagonal < height && one[x] === other[x - diagonal]) {
        x += 1
        looked += 1
        if (looked % STEP === 0) yield
      }
      places[diagonal + edits] = x
      if (2 * x - diagonal > 2 * (places[best + edits] ?? NOWHERE) - best) best = diagonal
    }
    yield
    const isThere = places[width - height + edits] === width
    if (isThere || edits === MOST_EDITS) {
      return backFrom(furthest, isThere ? width - height : best, width, height)
    }
  }
}

/** Where a diagonal is entered with one edit more; negative: it is not. */
function startOf(before: Int32Array, diagonal: number, width: number, height: number): number {
  const [across, down] = entriesOf(before, diagonal, width, height)
  return Math.max(across, down)
}

/** By a line that is removed, and by one that is added. */
function entriesOf(before: Int32Array, diagonal: number, width: number, height: number) {
  const middle = (before.length - 1) / 2
  const across = (before[diagonal - 1 + middle] ?? NOWHERE) + 1
  const down = before[diagonal + 1 + middle] ?? NOWHERE
  return [
    across > 0 && across <= width ? across : NOWHERE,
    down >= 0 && down - diagonal <= height ? down : NOWHERE,
  ] as const
}

/** The changes on the way to the furthest place on a diagonal, and one for all lines after it. */
function backFrom(
  furthest: readonly Int32Array[],
  last: number,
  width: number,
  height: number,
): readonly Change[] {
  const changes: Change[] = []
  const add = (removed: Change['removed'], added: Change['added']) => {
    const next = changes.at(-1)
    if (next?.removed[0] === removed[1] && next.added[0] === added[1]) {
      changes.pop()
      changes.push({ removed: [removed[0], next.removed[1]], added: [added[0], next.added[1]] })
    } else if (removed[0] < removed[1] || added[0] < added[1]) changes.push({ removed, added })
  }
  let diagonal = last
  const end = furthest.at(-1)?.[diagonal + furthest.length - 1] ?? 0
  add([end, width], [end - diagonal, height])
  for (let edits = furthest.length - 1; edits > 0; edits -= 1) {
    const [across, down] = entriesOf(furthest[edits - 1] ?? NO_PLACES, diagonal, width, height)
    const x = Math.max(across, down)
    const y = x - diagonal
    if (down >= across) {
      add([x, x], [y - 1, y])
      diagonal += 1
    } else {
      add([x - 1, x], [y, y])
      diagonal -= 1
    }
  }
  return changes.toReversed()
}

const NO_PLACES = new Int32Array(1)
