import { configureSync, getLogger, type LogRecord } from '@logtape/logtape'
import type { Clock } from '../clock'
import type { LineSink } from './line-sink'
import type { LogLevel } from '../config/settings'
import { printableJson, escapeUnits } from '../domain/value/escape'

/** The process and its data folder: start, stop, jobs, certificates. */
export const serverLog = getLogger(['satchel', 'server'])
/** Events of requests, beside the line of each request in `Logs.access`. */
export const httpLog = getLogger(['satchel', 'http'])

/** Mails: failed ones, and those that are printed instead. */
export const mailLog = getLogger(['satchel', 'mail'])

/** A line of the access log. It never has the query, a header or a body (design.md §6). */
export interface AccessEntry {
  readonly requestId: string
  readonly method: string
  /** The path without the query, as it was sent; escapes of characters that need none may be decoded. */
  readonly path: string
  /** 499 when the reader of a stream left before its end, 500 when the server could not go on. */
  readonly status: number
  /** From the first byte of the request to the answer, or to the end of a stream, in ms. */
  readonly duration: number
  /** The user or client that called, when known. */
  readonly subject?: string | null
  /** The closed error code of a refusal. */
  readonly code?: string | undefined
  /** Why the reader did not receive the whole answer. */
  readonly brokenOff?: string | undefined
}

/** A mail that is printed to the terminal (design.md §2 Development). */
export interface PrintedMail {
  readonly kind: string
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The variables of the template, in which a test can find the code. */
  readonly variables: object
}

/** The logs of one server. */
export interface Logs {
  /** Writes the line of one request. */
  access(entry: AccessEntry): void
  /** Prints a mail, whatever the log level is: in development the terminal is the only mailbox. */
  mail(mail: PrintedMail): void
  /** Lines below this level are not written from now on. */
  setLevel(level: LogLevel): void
  /** Calls `follower` with each line of these levels from now on, as JSON, until the result is disposed. */
  follow(levels: readonly LogLevel[], follower: (line: string) => void): Disposable
  /** Resolves when every line so far has left the process. */
  flush(): Promise<void>
}

/** The levels of lines, the least serious first. */
export const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warning', 'error']

interface LogFollower {
  readonly levels: ReadonlySet<string>
  readonly take: (line: string) => void
}

export interface LogOptions {
  readonly clock: Clock
  readonly level: LogLevel
  /** `json` for machines, one object per line; `text` for people at a terminal. */
  readonly format: 'json' | 'text'
  /** Lines of text have colours: times are dim, and levels and statuses are as serious as they look. */
  readonly isColored?: boolean
  readonly sink: LineSink
}

/**
 * Sends the named logs and the access log to `sink`. Every entry is one line without
 * control characters, whatever its values are (promises.md 31), except for the sequences of its own colours. The named
 * logs belong to the process: the last call decides where they go.
 */
export function openLogs({ clock, level, format, isColored = false, sink }: LogOptions): Logs {
  const lines = format === 'json' ? JSON_LINES : textLines(isColored)
  const time = rememberTime(clock)
  let logsRequests = true
  const followers = new Set<LogFollower>()

  /** `write` makes the line, which takes time that only followers cost. */
  function tell(level: string, write: () => string): void {
    let line: string | undefined
    for (const { levels, take } of followers) if (levels.has(level)) take((line ??= write()))
  }

  function setLevel(lowestLevel: LogLevel): void {
    logsRequests = lowestLevel === 'debug' || lowestLevel === 'info'
    configureSync({
      reset: true,
      sinks: {
        lines(record) {
          sink.write(lines.entry(time(), record))
          if (followers.size > 0) tell(record.level, () => JSON_LINES.entry(time(), record))
        },
      },
      loggers: [
        { category: 'satchel', sinks: ['lines'], lowestLevel },
        { category: ['logtape', 'meta'], sinks: ['lines'], lowestLevel: 'error' },
      ],
    })
  }

  setLevel(level)
  return {
    access(access) {
      if (!logsRequests) return
      sink.write(lines.request(time(), access))
      if (followers.size > 0) tell('info', () => JSON_LINES.request(time(), access))
    },
    mail: (mail) => sink.write(lines.mail(time(), mail)),
    setLevel,
    follow(levels, take) {
      const follower = { levels: new Set<string>(levels), take }
      followers.add(follower)
      return { [Symbol.dispose]: () => void followers.delete(follower) }
    },
    flush: () => sink.flush(),
  }
}

/** The line that takes the place of those that were dropped. */
export function lostLines(
  { clock, format, isColored = false }: Pick<LogOptions, 'clock' | 'format' | 'isColored'>,
  lines: number,
): string {
  const time = isoTime(clock.now())
  const message = `${lines} log lines were lost: their reader is too slow`
  return format === 'json'
    ? `{"time":"${time}","level":"warning","logger":"server","message":"${message}"}`
    : textLines(isColored).message(time, 'warning', message)
}

const JSON_LINES = {
  entry(time: string, record: LogRecord): string {
    const fixed = {
      time,
      level: record.level,
      logger: record.category.slice(1).join('.'),
      message: messageOf(record),
    }
    return printableJson({ ...fixed, ...record.properties, ...fixed }, (_key, value) =>
      plain(value),
    )
  },
  mail(time: string, mail: PrintedMail): string {
    return printableJson({ time, level: 'warning', logger: 'mail', ...mail })
  },
  // Written by hand, because every request pays for this line.
  request(time: string, access: AccessEntry): string {
    const { requestId, method, path, status, duration, subject, code, brokenOff } = access
    return (
      `{"time":"${time}","level":"info","logger":"access","requestId":"${requestId}"` +
      `,"method":${text(method)},"path":${text(path)},"status":${status},"ms":${milliseconds(duration)}` +
      (subject === undefined || subject === null ? '' : `,"subject":${text(subject)}`) +
      (brokenOff === undefined ? '' : `,"brokenOff":${text(brokenOff)}`) +
      (code === undefined ? '}' : `,"code":"${code}"}`)
    )
  },
}

const MAIL_WIDTH = 78
const MAIL_END = '═ not sent but printed, because no mail server is configured '

/** Colours of a terminal (ECMA-48 §8.3.117). */
const DIM = 2
const RED = 31
const GREEN = 32
const YELLOW = 33
const CYAN = 36

const LEVEL_COLORS: Readonly<Record<LogRecord['level'], number>> = {
  trace: DIM,
  debug: DIM,
  info: GREEN,
  warning: YELLOW,
  error: RED,
  fatal: RED,
}

function textLines(isColored: boolean) {
  /** Escapes controls of `text`, which comes from others; the colours are added after that. */
  const paint = (color: number, text: string) =>
    isColored ? `\u001b[${color}m${escapeControls(text)}\u001b[0m` : escapeControls(text)
  const start = (time: string) => paint(DIM, timeOfDay(time))

  function message(time: string, level: LogRecord['level'], text: string): string {
    return `${start(time)} ${paint(LEVEL_COLORS[level], level.padEnd(7))}  ${escapeControls(text)}`
  }

  return {
    message,
    entry(time: string, record: LogRecord): string {
      const properties = Object.entries(record.properties).map(
        ([name, value]) => `  ${name}=${JSON.stringify(value, (_key, part) => plain(part))}`,
      )
      return message(time, record.level, `${messageOf(record)}${properties.join('')}`)
    },
    mail(time: string, { to, subject, text }: PrintedMail): string {
      const title = `═ ${timeOfDay(time)}  MAIL TO ${to} `
      const words = ['', subject, '', ...text.trimEnd().split('\n'), '']
      const side = paint(CYAN, '║')
      const frame = [
        paint(CYAN, `╔${title.padEnd(MAIL_WIDTH, '═')}`),
        ...words.map((line) => `${side}  ${escapeControls(line)}`.trimEnd()),
        paint(CYAN, `╚${MAIL_END.padEnd(MAIL_WIDTH, '═')}`),
      ]
      return ['', ...frame, ''].join('\n')
    },
    request(time: string, access: AccessEntry): string {
      const { method, path, status, duration, subject, code, brokenOff } = access
      const called = escapeControls(`${method.padEnd(6)} ${path}`)
      const took = paint(DIM, `${milliseconds(duration)} ms`)
      const caller = subject === undefined || subject === null ? '' : `  ${escapeControls(subject)}`
      const why =
        (brokenOff === undefined ? '' : `  broken off: ${brokenOff}`) +
        (code === undefined ? '' : `  ${code}`)
      const reason = why === '' ? '' : paint(statusColor(status), why)
      return `${start(time)} ${paint(statusColor(status), String(status))}  ${called}  ${took}${caller}${reason}`
    },
  }
}

function statusColor(status: number): number {
  if (status >= 500) return RED
  if (status >= 400) return YELLOW
  return status >= 300 ? CYAN : GREEN
}

function messageOf(record: LogRecord): string {
  return record.message
    .map((part) => (typeof part === 'string' ? part : JSON.stringify(plain(part))))
    .join('')
}

/** An error with its properties and its cause, which JSON would leave out. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  return { name, message, ...Object.fromEntries(Object.entries(value)), stack, cause }
}

/** The time in ISO format, cached because many requests share a millisecond. */
function rememberTime(clock: Clock): () => string {
  let millisecond = Number.NaN
  let time = ''
  return () => {
    const now = clock.now()
    if (now !== millisecond) {
      millisecond = now
      time = isoTime(now)
    }
    return time
  }
}

function isoTime(now: number): string {
  return new Date(now).toISOString()
}

/** The time of day. */
function timeOfDay(time: string): string {
  return time.slice(11, 23)
}

/** By hundredths of a millisecond: most requests take less than ten, and the text of a fraction takes long. */
const MILLISECONDS: string[] = []

function milliseconds(duration: number): string {
  const hundredths = Math.round(duration * 100)
  if (hundredths >= 1_000) return String(hundredths / 100)
  return (MILLISECONDS[hundredths] ??= String(hundredths / 100))
}

const PLAIN_TEXT = /^[ !#-[\]-~]*$/

function text(value: string): string {
  return PLAIN_TEXT.test(value) ? `"${value}"` : printableJson(value)
}

function escapeControls(line: string): string {
  return escapeUnits(line, /[\p{Cc}\u2028\u2029]/gu)
}
