import { styled } from './color'

/** The columns of all help: those of the narrowest usual terminal. */
export const HELP_WIDTH = 80

/** Wraps the lines that are too long: text at its indentation, an example with a backslash. */
export function wrapHelp(text: string): string {
  return text
    .split('\n')
    .flatMap((line) => {
      const [indent = ''] = /^ */.exec(line) ?? []
      const isExample = line.startsWith(`${indent}$ `)
      return isExample ? wrap(line, `${indent}    `, ' \\') : wrap(line, indent, '')
    })
    .join('\n')
}

/** Marks the headings, which are the only lines that begin at the margin and end with a colon. */
export function styleHelp(text: string): string {
  return text
    .replaceAll(/^[A-Z][\w ]*:$/gm, (heading) => styled('bold', heading))
    .replaceAll(/^Usage:/gm, (heading) => styled('bold', heading))
}

/** Rows of a term and its explanation, as the options of a command are listed. */
export function definitions(rows: readonly (readonly [term: string, text: string])[]): string {
  const width = Math.max(...rows.map(([term]) => term.length))
  const indent = ' '.repeat(width + 4)
  return rows
    .flatMap(([term, text]) => wrap(`  ${term.padEnd(width)}  ${text}`, indent, ''))
    .join('\n')
}

/** Lines of at most `HELP_WIDTH`; all but the first begin with `indent`, all but the last end with `end`. */
function wrap(line: string, indent: string, end: string): string[] {
  const lines: string[] = []
  let rest = line
  while (rest.length > HELP_WIDTH) {
    const at = rest.lastIndexOf(' ', HELP_WIDTH - end.length)
    // A word that is longer than the line stays whole.
    if (at <= indent.length) break
    lines.push(rest.slice(0, at).trimEnd() + end)
    rest = indent + rest.slice(at + 1)
  }
  return [...lines, rest]
}
