import type { ClientCredentials } from '../domain/database/client'
import type { Cli } from './command'
import type { Terminal } from './terminal'
import { escapeUnits } from '../domain/value/escape'

/** Prints one line of JSON, or `text` with its control characters escaped. */
export function print(
  { terminal }: { readonly terminal: Terminal },
  options: { readonly json?: true | undefined },
  value: unknown,
  text: string,
): Promise<void> {
  return terminal.write(
    `${options.json ? JSON.stringify(value) : text.replaceAll(CONTROLS, escape)}\n`,
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
 * A new secret. Output that is not a terminal may go to a log, so there the secret is replaced by a
 * hint at the command that creates another one (design.md §4).
 */
export function shownOnce(
  { terminal }: { readonly terminal: Terminal },
  secret: string,
  command: string,
): string {
  return terminal.isOutputTerminal
    ? `${secret}   (shown only once)`
    : `shown only on a terminal or with --json: create another with ${command}`
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

/** Text of other people as one line, with control characters escaped. */
export function oneLine(text: string): string {
  return escapeUnits(text, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu)
}

/** Control characters except line breaks. */
const CONTROLS = /[^\P{Cc}\n]/gu

/** The width in columns of a terminal: East Asian characters take two. */
function width(cell: string | undefined): number {
  return Bun.stringWidth(cell ?? '')
}

/** Shows the progress of long work until disposed. */
export interface Progress extends Disposable {
  /** `total` is null when it is not known. */
  readonly update: (done: number, total: number | null) => void
}

/** How a number of units is written: `bytes` as `1.5 MB`, anything else as `1,500 objects`. */
type Unit = 'bytes' | 'objects' | 'parts' | 'blobs' | 'rows'

const REDRAW_MS = 100
const WIDTH = 30
const CLEAR_LINE = '\r\u001b[2K'

/** A progress line on standard error; nothing with `--json` or when standard error is not a terminal. */
export function showProgress(
  { terminal, clock }: Cli,
  { json }: { readonly json?: true | undefined },
  unit: Unit,
): Progress {
  if (json || !terminal.isErrorTerminal) return { update() {}, [Symbol.dispose]() {} }
  let drawn = Number.NEGATIVE_INFINITY
  return {
    update(done, total) {
      const now = clock.now()
      if (now - drawn < REDRAW_MS) return
      drawn = now
      terminal.writeError(CLEAR_LINE + describe(done, total, unit))
    },
    [Symbol.dispose]() {
      if (drawn !== Number.NEGATIVE_INFINITY) terminal.writeError(CLEAR_LINE)
    },
  }
}

function describe(done: number, total: number | null, unit: Unit): string {
  if (total === null) return amount(done, unit)
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.round(share * WIDTH)
  const bar = '█'.repeat(full) + '░'.repeat(WIDTH - full)
  return `${bar} ${Math.floor(share * 100)} %`
}

function amount(count: number, unit: Unit): string {
  if (unit === 'bytes') return `${(count / 1_000_000).toFixed(1)} MB`
  return `${count.toLocaleString('en')} ${unit}`
}
