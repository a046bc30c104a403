import type { ClientCredentials } from '../domain/database/client'
import type { Terminal } from './terminal'

/** Writes one line of JSON, or `text` for people, in which nothing moves their terminal's cursor. */
export function print(
  { terminal }: { readonly terminal: Terminal },
  options: { readonly json?: true | undefined },
  value: unknown,
  text: string,
): Promise<void> {
  return terminal.write(
    `${options.json ? JSON.stringify(value) : text.replaceAll(MOVES, escape)}\n`,
  )
}

/** Rows under headings, in columns. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map(oneLine))
  const lines = [headings.map((heading) => heading.toUpperCase()), ...cells]
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => width(line[column]))))
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - width(cell)))
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

const SIZES = ['kB', 'MB', 'GB', 'TB']

/** `0 bytes`, `1.5 MB`. */
export function size(bytes: number): string {
  if (bytes < 1_000) return counted(bytes, 'byte')
  const power = Math.min(SIZES.length, Math.floor(Math.log10(bytes) / 3))
  return `${(bytes / 1_000 ** power).toFixed(1)} ${SIZES[power - 1]}`
}

/** What somebody else wrote, as one line that a terminal shows as it is. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, escape)
}

/** Control characters but for the line breaks between our own lines. */
const MOVES = /[^\P{Cc}\n]/gu

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** In columns of a terminal: letters of East Asia take two. */
function width(cell: string | undefined): number {
  return Bun.stringWidth(cell ?? '')
}
