/** A place in a text. Lines and columns count from 1; columns count UTF-16 units, as editors do. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** Line and column of an offset in a text that begins at `start` of a larger one. */
export function positionAt(text: string, offset: number, start = BEGINNING): Position {
  let { line } = start
  let lineStart = 0
  for (;;) {
    const newline = text.indexOf('\n', lineStart)
    if (newline < 0 || newline >= offset) break
    lineStart = newline + 1
    line++
  }
  return { line, column: offset - lineStart + (lineStart === 0 ? start.column : 1) }
}

export function describePosition({ line, column }: Position): string {
  return `line ${line}, column ${column}`
}

const BEGINNING: Position = { line: 1, column: 1 }
