/** Splits text that arrives in pieces into lines. The rest without an end of line is dropped. */
export function createLineSplitter(): (piece: string) => string[] {
  let rest = ''
  return (piece) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    return lines.filter((line) => line !== '')
  }
}
