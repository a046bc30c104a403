/** A line of the difference between two texts. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** Beyond this product of lines, all lines that differ are one block: the table of the search would be too large. */
const MOST_CELLS = 4_000_000

/** The lines that lead from one text to another, with as many lines that stay as there can be. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const one = before.split('\n')
  const other = after.split('\n')
  let start = 0
  while (start < one.length && start < other.length && one[start] === other[start]) start += 1
  let end = 0
  while (
    end < one.length - start &&
    end < other.length - start &&
    one.at(-1 - end) === other.at(-1 - end)
  ) {
    end += 1
  }
  const same = (lines: readonly string[]) => lines.map((text) => ({ kind: 'same', text }) as const)
  return [
    ...same(one.slice(0, start)),
    ...diffMiddle(one.slice(start, one.length - end), other.slice(start, other.length - end)),
    ...same(one.slice(one.length - end)),
  ]
}

function diffMiddle(one: readonly string[], other: readonly string[]): DiffLine[] {
  if (one.length * other.length > MOST_CELLS) {
    return [
      ...one.map((text) => ({ kind: 'removed', text }) as const),
      ...other.map((text) => ({ kind: 'added', text }) as const),
    ]
  }
  const lengths = commonLengths(one, other)
  const width = other.length + 1
  const at = (row: number, column: number) => lengths[row * width + column] ?? 0
  const lines: DiffLine[] = []
  let row = 0
  let column = 0
  while (row < one.length || column < other.length) {
    const [left, right] = [one[row], other[column]]
    if (left !== undefined && left === right) {
      lines.push({ kind: 'same', text: left })
      row += 1
      column += 1
    } else if (
      left !== undefined &&
      (right === undefined || at(row + 1, column) >= at(row, column + 1))
    ) {
      lines.push({ kind: 'removed', text: left })
      row += 1
    } else {
      lines.push({ kind: 'added', text: right ?? '' })
      column += 1
    }
  }
  return lines
}

/** How many lines the rests of both texts have in common, from each pair of places. */
function commonLengths(one: readonly string[], other: readonly string[]): Uint32Array {
  const width = other.length + 1
  const lengths = new Uint32Array((one.length + 1) * width)
  for (let row = one.length - 1; row >= 0; row -= 1) {
    for (let column = other.length - 1; column >= 0; column -= 1) {
      const here = row * width + column
      lengths[here] =
        one[row] === other[column]
          ? (lengths[here + width + 1] ?? 0) + 1
          : Math.max(lengths[here + width] ?? 0, lengths[here + 1] ?? 0)
    }
  }
  return lengths
}

/** Unchanged lines around a change that are shown. */
const CONTEXT = 3

/** The lines near changes. A number stands for so many unchanged lines in between. */
export function foldSame(lines: readonly DiffLine[]): readonly (DiffLine | number)[] {
  const isNear = new Uint8Array(lines.length)
  for (const [at, { kind }] of lines.entries()) {
    if (kind !== 'same') isNear.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1)
  }
  const folded: (DiffLine | number)[] = []
  for (const [at, line] of lines.entries()) {
    const last = folded.at(-1)
    if (isNear[at] === 1) folded.push(line)
    else if (typeof last === 'number') folded[folded.length - 1] = last + 1
    else folded.push(1)
  }
  return folded
}
