import type { ClientCredentials } from '../domain/client'
import type { Terminal } from './terminal'

/** Writes one line of JSON, or `text` for people. */
export function print(
  { terminal }: { readonly terminal: Terminal },
  options: { readonly json?: true | undefined },
  value: unknown,
  text: string,
): Promise<void> {
  return terminal.write(`${options.json ? JSON.stringify(value) : text}\n`)
}

/** Rows under headings, in columns. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings.map((heading) => heading.toUpperCase()), ...rows]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => width(line[column]))))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n')
}

/** The credentials of a new client. */
export function credentials(
  cli: { readonly terminal: Terminal },
  { clientId, clientSecret }: ClientCredentials,
): string {
  const secret = shownOnce(cli, clientSecret, `satchel client rotate ${clientId}`)
  return `Client id       ${clientId}\nClient secret   ${secret}`
}

/**
 * A new secret. What nobody looks at may be a log, so there it is left out and the command that
 * makes another one is named (design.md §4).
 */
export function shownOnce(
  { terminal }: { readonly terminal: Terminal },
  secret: string,
  command: string,
): string {
  return terminal.isWatched
    ? `${secret}   (shown only now)`
    : `shown only on a terminal or with --json: make another with ${command}`
}

/** `1 object`, `170,000 objects`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

function width(cell: string | undefined): number {
  return cell?.length ?? 0
}
