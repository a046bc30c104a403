import { shownSettings } from '../config/shown'
import { LEVELS } from '../log/log'
import { oneOf, optional } from './fields'
import { requireServer } from './live'
import { onFolder } from './operation'
import { followed } from './queue'

/** So many lines of the log are told in a second: more are not read by a person. */
const LINES_PER_SECOND = 200
const SECOND_MS = 1_000

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
    if (count <= LINES_PER_SECOND) take(JSON.parse(line))
  }
}
