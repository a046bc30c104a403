import { shownSettings } from '../config/shown'
import { LEVELS } from '../log/log'
import { oneOf, optional } from './fields'
import { requireServer } from './live'
import { onFolder } from './operation'
import { followed } from './queue'

/** So many lines of the log are told in a second: more are not read by a person. */
const LINES_PER_SECOND = 200
const SECOND_MS = 1_000
/** A longer line has its long values cut, characters. */
const LINE_CHARACTERS = 16 * 1024
const VALUE_CHARACTERS = 4 * 1024

export const machineOperations = {
  /**
   * Emits the lines of the log as objects, each as the log in JSON has it, until the caller leaves. Printed mails are not
   * among them. Throws `UNPROCESSABLE` where no server runs.
   */
  'log.follow': onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'Follow the log of the server',
      input: { level: optional(oneOf(LEVELS)) },
      follows: true,
    },
    async (folder, { level }, { emit, signal }) => {
      const { logs } = requireServer(folder)
      const wanted = level === null ? LEVELS : LEVELS.slice(LEVELS.indexOf(level))
      await followed({ emit, signal }, (take) => logs.follow(wanted, paced(take)))
      return {}
    },
  ),

  /** What a running server has measured in the last hour, every ten seconds, the oldest first. */
  'server.figures': onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'Show the figures of the last hour',
      input: {},
    },
    async (folder) => ({ figures: requireServer(folder).figures.list() }),
  ),

  /** The settings of a running server; `source` is null for one that has its default. */
  'server.show': onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'Show the settings of the server with their sources',
      input: {},
    },
    async (folder) => {
      const { config } = requireServer(folder)
      const settings = Object.entries(shownSettings(config)).map(([name, value]) => ({
        name,
        value,
        source: config.sources[name] ?? null,
      }))
      return { settings, isDevelopment: folder.keepsMails() }
    },
  ),
}

/** Parses lines for a person: in a second not too many, and the rest is counted. */
function paced(take: (item: unknown) => void): (line: string) => void {
  let began = performance.now()
  let count = 0
  return (line) => {
    const now = performance.now()
    if (now - began >= SECOND_MS) {
      const missed = count - LINES_PER_SECOND
      if (missed > 0) take({ kind: 'missed', count: missed })
      began = now
      count = 0
    }
    count += 1
    if (count <= LINES_PER_SECOND) take(shortened(line))
  }
}

/** The line as an object, which takes little memory while its reader is slow. */
function shortened(line: string): unknown {
  const entry = JSON.parse(line) as Readonly<Record<string, unknown>>
  if (line.length <= LINE_CHARACTERS) return entry
  return Object.fromEntries(
    Object.entries(entry).map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      if (text.length <= VALUE_CHARACTERS) return [name, value]
      return [name, `${text.slice(0, VALUE_CHARACTERS)}… (${text.length} characters)`]
    }),
  )
}
