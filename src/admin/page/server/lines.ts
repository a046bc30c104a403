/** Splits text that arrives in pieces into lines. The rest without an end of line is dropped. */
export function createLineSplitter(): (piece: string) => string[] {
  let rest = ''
  return (piece) => {
    // A line of megabytes comes in hundreds of pieces: each is looked at once.
    const lines = piece.split('\n')
    lines[0] = rest + lines[0]
    rest = lines.pop() ?? ''
    return lines.filter((line) => line !== '')
  }
}
