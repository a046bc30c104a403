import type { ClientCredentials } from '../domain/database/client'
import type { Clock } from '../clock'
import type { Terminal } from './terminal'
import { type Style, styled, withColors } from './color'
import { wrapHelp } from './help'

/**
 * Prints one JSON object in a line, or `text` with its styles and with its control characters escaped.
 * Every command has the same form of JSON: lists are `{data}`, times are `isoTime`, and names of
 * durations end in their unit.
 */
export function print(
  { terminal }: { readonly terminal: Terminal },
  options: { readonly json?: true | undefined },
  value: object,
  text: string,
): Promise<void> {
  const output = options.json
    ? JSON.stringify(value)
    : withColors(text.replaceAll(CONTROLS, escape), terminal.hasOutputColors)
  return terminal.write(`${output}\n`)
}

/** Writes to standard error, with the styles of `text`. */
export function writeError(terminal: Terminal, text: string): void {
  terminal.writeError(withColors(text, terminal.hasErrorColors))
}

/** A time in ms as RFC 3339 in UTC with milliseconds; null stays null. */
export function isoTime<Time extends number | null>(
  time: Time,
): Time extends number ? string : string | null {
  return (time === null ? null : new Date(time).toISOString()) as never
}

/** The minute of an `isoTime`: `2030-01-31 12:00`, in UTC. */
export function minute(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)}`
}

/** An error or a note on standard error, which is wrapped between words on a terminal. */
export function note(terminal: Terminal, text: string, style?: Style): void {
  const whole = `${PREFIX} ${text}`
  const shown = terminal.isErrorTerminal ? wrapHelp(whole) : whole
  const prefix = style === undefined ? PREFIX : styled(style, PREFIX)
  writeError(terminal, `${shown.replace(PREFIX, prefix)}\n`)
}

const PREFIX = 'satchel:'

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

const BINARY = ['KiB', 'MiB', 'GiB', 'TiB']

/** A limit as it was probably given: `1 GiB`, `20.0 GB`. */
export function limitSize(bytes: number): string {
  const power = BINARY.findLastIndex((_, index) => bytes % 1024 ** (index + 1) === 0)
  return power === -1 || bytes % 1_000_000 === 0
    ? size(bytes)
    : `${bytes / 1024 ** (power + 1)} ${BINARY[power]}`
}

/** Control characters except line breaks. */
const CONTROLS = /[^\P{Cc}\n]/gu

/** Shows the progress of long work until disposed. */
export interface Progress extends Disposable {
  /** `total` is null when it is not known; `phase` is the part of the work that is under way. */
  readonly update: (done: number, total: number | null, phase?: string) => void
}

/** How a number of units is written: `bytes` as `1.5 MB`, anything else as `1,500 objects`. */
export type Unit = 'bytes' | 'objects' | 'parts' | 'blobs' | 'rows'

const REDRAW_MS = 100
/** Rates and the time left vary too much before. */
const STEADY_MS = 1000
const BAR_WIDTH = 20
const CLEAR_LINE = '\r\u001b[2K'

/** A progress line on standard error; nothing with `--json` or when standard error is not a terminal. */
export function showProgress(
  { terminal, clock }: { readonly terminal: Terminal; readonly clock: Clock },
  { json }: { readonly json?: true | undefined },
  unit: Unit,
): Progress {
  if (json || !terminal.isErrorTerminal) return { update() {}, [Symbol.dispose]() {} }
  const started = clock.now()
  let drawn = Number.NEGATIVE_INFINITY
  return {
    update(done, total, phase) {
      const now = clock.now()
      if (now - drawn < REDRAW_MS) return
      drawn = now
      const seconds = (now - started) / 1000
      const rate = now - started < STEADY_MS || done === 0 ? undefined : done / seconds
      const parts = [phase, describe(done, total, unit), ...speed(done, total, unit, rate)]
      const line = parts.filter((part) => part !== undefined).join('  ')
      writeError(terminal, CLEAR_LINE + line)
    },
    [Symbol.dispose]() {
      if (drawn !== Number.NEGATIVE_INFINITY) terminal.writeError(CLEAR_LINE)
    },
  }
}

function describe(done: number, total: number | null, unit: Unit): string {
  if (total === null) return amount(done, unit)
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.round(share * BAR_WIDTH)
  const bar = styled('cyan', '█'.repeat(full)) + '░'.repeat(BAR_WIDTH - full)
  return `${bar} ${Math.floor(share * 100)} %`
}

/** `12.3 MB/s` and, when the total is known, `1:05 left`. `rate` in units a second. */
function speed(done: number, total: number | null, unit: Unit, rate: number | undefined): string[] {
  if (rate === undefined) return []
  const each = `${amount(Math.round(rate), unit)}/s`
  if (total === null) return [each]
  const left = Math.ceil(Math.max(0, total - done) / rate)
  return [each, `${Math.floor(left / 60)}:${String(left % 60).padStart(2, '0')} left`]
}

function amount(count: number, unit: Unit): string {
  if (unit === 'bytes') return `${(count / 1_000_000).toFixed(1)} MB`
  return `${count.toLocaleString('en')} ${unit}`
}
