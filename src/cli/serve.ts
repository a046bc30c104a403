import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { version } from '../../package.json'
import { type Config, readConfig, requireOneStorage } from '../config/config'
import { flagName, SETTINGS } from '../config/settings'
import { listServer } from '../host/running'
import { batchLines, openOutlet } from '../log/line-sink'
import { lostLines, openLogs, serverLog } from '../log/log'
import { programName } from '../program'
import type { Server } from '../server'
import type { Cli } from './command'
import { styled, withColors } from './color'
import { credentials } from './output'
import { reloadSettings } from './reload'
import type { Terminal } from './terminal'

const STANDARD_ERROR = 2

/** Settings by their names, as text, and two more; switches are `true`. */
export interface ServeOptions extends Readonly<Record<string, unknown>> {
  readonly config?: string
  readonly json?: true
}

/**
 * The options of a command line that is `serve` with known flags, each followed by its value; undefined for
 * any other: the whole program understands more, and explains mistakes, but takes longer to load than a
 * server takes to start.
 */
export function readServeOptions([command, ...words]: readonly string[]): ServeOptions | undefined {
  if (command !== 'serve') return undefined
  const options: Record<string, unknown> = {}
  while (words.length > 0) {
    const word = words.shift() ?? ''
    const [name, hasValue] = FLAGS.get(word) ?? []
    if (name === undefined) return undefined
    const value = hasValue ? words.shift() : true
    if (value === undefined || (value !== true && /^-./.test(value))) return undefined
    options[name] = value
  }
  return options
}

/** Each flag with the name of its option and whether it has a value. */
const FLAGS: ReadonlyMap<string, readonly [name: string, hasValue: boolean]> = new Map([
  ['--config', ['config', true]],
  ['--json', ['json', false]],
  ...Object.entries(SETTINGS)
    .filter(([, setting]) => !('withoutFlag' in setting))
    .flatMap(([name, setting]) => {
      const option = [name, 'value' in setting] as const
      const flags = 'short' in setting ? [flagName(name), `-${setting.short}`] : [flagName(name)]
      return flags.map((flag) => [flag, option] as const)
    }),
])

/** Serves until a signal stops it. Throws `UsageError` and what `startServer` throws. */
export async function runServer(
  { terminal, clock }: Cli,
  { config: file, json, ...flags }: ServeOptions,
): Promise<void> {
  const sources = { file, flags }
  const config = readConfig(sources)
  requireOneStorage(config, sources)
  const format = !json && terminal.isErrorTerminal ? 'text' : 'json'
  // Only where it matters: telling a terminal from a pipe takes long.
  const isColored = format === 'text' && terminal.hasErrorColors
  const look = { clock, format, isColored } as const
  const sink = batchLines(openOutlet(STANDARD_ERROR), (lines) => lostLines(look, lines))
  const logs = openLogs({ ...look, level: config.logLevel, sink })
  const isAttached = hasControllingTerminal()
  const signalled = untilSignal(() => sink.flushNow(), isAttached && !isHangUpIgnored())
  const stopped = config.test ? Promise.race([signalled, untilOrphaned()]) : signalled
  let reload = () => {}
  if (!isAttached) process.on('SIGHUP', () => reload())
  keepRunning()
  const { startServer } = await import('../server')
  try {
    using manager = await findServiceManager()
    using entry = new DisposableStack()
    let written: Promise<void> | undefined
    const ready = (started: Server) => {
      entry.use(listServer(started.folder))
      const serving = `Serving ${started.url}`
      manager?.ready(serving)
      reload = () => {
        manager?.reloading()
        reloadSettings(config, sources, { logs, server: started })
        manager?.ready(serving)
      }
      const text = json
        ? readyLine(started)
        : readyText(started, config, terminal, linkFor(started, config, terminal))
      written = terminal.write(`${text}\n`)
    }
    await using server = await startServer(config, { clock, logs, ready })
    using _ = entry.move()
    await written
    if (format === 'json')
      serverLog.info('Ready', { version, url: server.url, folder: server.folder })
    await stopped
    // Being ready again would be told to the manager after the end.
    reload = () => {}
    manager?.stopping()
    serverLog.info('Stopping')
  } finally {
    await logs.flush()
  }
}

/** Loaded where a service manager wants to be told only: it calls functions of the system. */
async function findServiceManager() {
  const { NOTIFY_SOCKET: address } = process.env
  if (address === undefined || address === '') return undefined
  return (await import('./service-manager')).connectServiceManager(address)
}

/** An unexpected error in one request must not end the others. */
function keepRunning(): void {
  process.on('unhandledRejection', (error) => serverLog.error('Unhandled rejection', { error }))
  process.on('uncaughtException', (error) => serverLog.error('Uncaught exception', { error }))
}

/** The line of JSON on standard output that tells a program that the server is ready. */
export function readyLine({ url, databases, client, folder, test }: Server): string {
  return JSON.stringify({
    event: 'ready',
    url,
    databases,
    ...(client === undefined ? {} : { client }),
    ...(test === undefined ? {} : { test }),
    folder,
    pid: process.pid,
  })
}

/** The link to the page for administrators, in development and for a person at a terminal only. */
function linkFor(server: Server, config: Config, terminal: Terminal): string | undefined {
  if (!config.development || !isPersonal(terminal, process.env)) return undefined
  return server.linkAdmin?.()
}

/** The ready lines for a person at a terminal, with the first step. */
export function readyText(
  server: Server,
  config: Config,
  terminal: Terminal,
  link?: string,
): string {
  const { url, databases, client, folder, test } = server
  const kept = config.memory ? 'in memory, discarded at exit' : folder
  const at = (text: string) => styled('cyan', text)
  const lines = [
    styled('bold', `Satchel ${version} is ready`),
    '',
    ...databases.map((database) => `Database        ${at(database.url)}`),
    ...networkAddresses(config, url).map((found) => `On the network  ${at(found)}`),
    ...(config.publicUrl === null ? [] : [`Public address  ${at(config.publicUrl)}`]),
    ...(link === undefined ? [] : [`Administration  ${at(link)}`]),
    `Data            ${kept}`,
    ...(hasMails(config) ? [] : [NO_MAILS]),
    ...(client === undefined ? [] : ['', credentials({ terminal }, client)]),
    ...(test === undefined
      ? []
      : ['', styled('yellow', TEST_BANNER), `Test token      ${test.token}`]),
    '',
    ...firstStep(`${url}/`, config).map((line) => line.replace(url, at(url))),
    ...commands(folder, config),
    '',
    'Ctrl-C stops it.',
    '',
  ]
  return withColors(lines.join('\n'), terminal.hasOutputColors)
}

/**
 * True when only a person at a terminal reads the output: no log of a service or of a container keeps it.
 * `markers` are files that containers have.
 */
export function isPersonal(
  terminal: Pick<Terminal, 'isInputTerminal' | 'isOutputTerminal'>,
  environment: Readonly<Record<string, string | undefined>>,
  markers: readonly string[] = ['/.dockerenv', '/run/.containerenv'],
): boolean {
  return (
    terminal.isOutputTerminal &&
    terminal.isInputTerminal &&
    environment['JOURNAL_STREAM'] === undefined &&
    environment['container'] === undefined &&
    !markers.some((path) => existsSync(path))
  )
}

/** Mails are sent or printed, unless a database has a mail server of its own. */
function hasMails({ development, smtpUrl, mailHook, printMails }: Config): boolean {
  return development || printMails || smtpUrl !== null || mailHook !== null
}

const NO_MAILS = 'Mails           not sent: set --smtp-url, --mail-hook, or --print-mails for tests'

/** The addresses that a phone in the same network opens, for a server that listens on all of them. */
function networkAddresses({ host, publicUrl }: Config, url: string): string[] {
  if (publicUrl !== null || !['0.0.0.0', '::'].includes(host)) return []
  const { networkInterfaces } = process.getBuiltinModule('node:os')
  return Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ family, internal }) => family === 'IPv4' && !internal)
    .map(({ address }) => Object.assign(new URL(url), { hostname: address }).href)
}

/** Shown to a person who starts a server in test mode, which is for no other data (promises.md 43). */
const TEST_BANNER =
  'TEST MODE: every program with the test token may read, change and discard all data.'

/** The page that the README begins with too. Elsewhere than in development there is nothing to try on it. */
function firstStep(page: string, { development }: Config): string[] {
  if (!development) return [`Page            ${page}`]
  return [
    `Begin here      ${page}`,
    '                an application to try, the codes of its logins, and the guides',
  ]
}

/** Commands that reach this server from the folder and the shell it was started in. */
function commands(folder: string, { noAdmin }: Config): string[] {
  const satchel = programName({ isHere: true })
  const option = folder === resolve(SETTINGS.data.fallback) ? '' : ` --data ${folder}`
  return [
    `Commands        ${satchel} --help`,
    `                ${satchel} token --sub alice@example.com${option}`,
    ...(noAdmin ? [] : [`                ${satchel} admin --open${option}`]),
  ]
}

/** 128 plus the number of the signal, as in shells. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Resolves at the first SIGTERM or SIGINT, or SIGHUP if `atHangUp`. The second one ends the process at
 * once: the user does not want to wait for the shutdown (promises.md 45).
 */
function untilSignal(beforeExit: () => void, atHangUp: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let isStopping = false
  for (const [signal, exitCode] of Object.entries(EXIT_CODES)) {
    if (signal === 'SIGHUP' && !atHangUp) continue
    process.on(signal, () => {
      if (isStopping) {
        beforeExit()
        process.exit(exitCode)
      }
      isStopping = true
      resolve()
    })
  }
  return promise
}

/** How often to look for the parent, and how long requests have when it is gone, ms. */
const PARENT_EVERY_MS = 200
const ORPHAN_GRACE_MS = 500

/**
 * Resolves when the process that started this one is gone, however it ended: a test runner that was
 * killed leaves no server behind. The process ends soon after that, even with requests in flight.
 */
function untilOrphaned(): Promise<void> {
  const parent = process.ppid
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(timer)
      setTimeout(() => process.exit(0), ORPHAN_GRACE_MS).unref()
      resolve()
    }, PARENT_EVERY_MS)
    timer.unref()
  })
}

/** True when the terminal that started the process ends it by hanging up; a service has none. */
export function hasControllingTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return true
  } catch {
    return false
  }
}

/** True under `nohup`, where the server outlives its terminal. Known on Linux only. */
function isHangUpIgnored(): boolean {
  try {
    const status = readFileSync('/proc/self/status', 'utf8')
    const mask = /^SigIgn:\s*([\da-f]+)$/m.exec(status)?.[1] ?? '0'
    return (BigInt(`0x${mask}`) & 1n) === 1n
  } catch {
    return false
  }
}
