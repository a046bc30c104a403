import { type Command, InvalidArgumentError, type OptionValues } from '@commander-js/extra-typings'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import type { Clock } from '../clock'
import { type Config, readConfig, UsageError } from '../config/config'
import { SETTINGS } from '../config/settings'
import type { Streams } from '../control/operation'
import type { InputOf, OperationName, OutputOf } from '../control/operations'
import type { Session } from '../control/session'
import { quoted, SatchelError } from '../domain/value/error'
import { isRecord } from '../domain/value/value'
import { findServedFolders } from '../host/running'
import { note, print, showProgress, type Unit } from './output'
import type { Terminal } from './terminal'

/** The terminal and the clock that every command gets. */
export interface Cli {
  readonly terminal: Terminal
  readonly clock: Clock
}

/** Ctrl-C during a command, with what it has done as the message: exit code 130. */
export class Interruption extends Error {}

/** A command ends with an exit code of its own, and says nothing unless there is a message. */
export class Ending extends Error {
  constructor(
    readonly exitCode: number,
    message?: string,
  ) {
    super(message)
  }
}

/** The options of every command that works on a data folder, and examples for its help. */
export function withFolder<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
  ...examples: readonly string[]
) {
  return command
    .addHelpText('after', example(...examples))
    .option('--data <folder>', `${SETTINGS.data.help} (default: ${SETTINGS.data.fallback})`)
    .option('--config <file>', 'read settings from this JSON file')
    .option('--json', 'print JSON for programs')
}

/** The options of every command that works on a database, and examples for its help. */
export function withDatabase<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
  ...examples: readonly string[]
) {
  return withFolder(command, ...examples).option('--db <name>', 'the database', 'main')
}

export interface FolderOptions {
  readonly data?: string | undefined
  readonly config?: string | undefined
}

interface SessionOptions {
  /** The command creates the usual data folder when no folder is named and there is none. */
  readonly makesFolder?: boolean
  /** The command removes or replaces data, so its folder must be named. */
  readonly isDestructive?: boolean
}

/**
 * Runs `work` on the data folder, through the server that holds it if there is one. Where no folder is
 * named and there is none in the usual place, that is the folder of the service for root, or that of the one server of
 * this user. Throws `UNKNOWN_DATABASE` when there is no such folder.
 */
export async function inSession<T>(
  cli: Cli,
  options: FolderOptions,
  work: (session: Session) => Promise<T>,
  session: SessionOptions = {},
): Promise<T> {
  const config = findFolder(cli, options, session)
  const { clock } = cli
  const [{ openSession }, { takeDataFolder }] = await Promise.all([
    import('../control/session'),
    import('../host/data-folder'),
  ])
  await using opened = await openSession(config.data, () => takeDataFolder(config, clock))
  return await work(opened)
}

/** The settings of a command, with the data folder that `inSession` says. */
export function findFolder(
  cli: Cli,
  { data, config: file }: FolderOptions,
  { makesFolder = false, isDestructive = false }: SessionOptions = {},
): Config {
  const { terminal } = cli
  const config = { ...readConfig({ file, flags: { data } }), memory: false }
  if (existsSync(config.data)) return config
  const isNamed = config.data !== resolve(SETTINGS.data.fallback)
  if (isNamed || isDestructive) throw noFolder(config.data)
  if (makesFolder) return config
  if (file === undefined && isForService()) {
    note(terminal, `Using the settings of the service, ${SERVICE_SETTINGS}`)
    return findFolder(cli, { config: SERVICE_SETTINGS })
  }
  const folder = requireOneServer(config.data)
  note(terminal, `Using the data of the running server, ${quoted(folder)}`)
  return { ...config, data: folder }
}

/** Where the package for Debian keeps the settings of its service, which runs as a user of its own. */
const SERVICE_SETTINGS = '/etc/satchel/satchel.json'

/** True for root on a machine with that package, unless root runs a server too. */
function isForService(): boolean {
  const isRoot = process.getuid?.() === 0
  return isRoot && existsSync(SERVICE_SETTINGS) && findServedFolders().length === 0
}

/** The data folder of the one server of this user. Throws `UNKNOWN_DATABASE` when there is not one. */
function requireOneServer(usual: string): string {
  const folders = findServedFolders()
  const [folder, another] = folders
  if (folder === undefined) throw noFolder(usual)
  if (another === undefined) return folder
  throw new SatchelError(
    'UNKNOWN_DATABASE',
    `There is no data folder ${usual}, and several servers run: choose one with --data, of ${folders.join(', ')}`,
  )
}

function noFolder(path: string): SatchelError {
  return new SatchelError(
    'UNKNOWN_DATABASE',
    `There is no data folder ${path}: choose another with --data, or create it with mkdir or satchel serve`,
  )
}

/** The options of a command that carries out an operation: those of its folder, and the input. */
export type OptionsOf<Name extends OperationName> = FolderOptions & {
  readonly json?: true | undefined
} & Omit<InputOf<Name>, 'database'> &
  (InputOf<Name> extends { readonly database: string } ? { readonly db: string } : unknown)

/**
 * Runs the operation `name`, whose input are the options and arguments of the command by their names, and
 * `--db` as the database. With `progressIn` its progress is shown meanwhile, in these units.
 */
export async function carryOut<Name extends OperationName>(
  cli: Cli,
  name: Name,
  options: OptionsOf<Name>,
  { streams, progressIn, ...session }: SessionOptions & Running = {},
): Promise<OutputOf<Name>> {
  const { data, config, json: _, db: database, ...given } = options as OptionsOf<'blob.verify'>
  const input = { database, ...given } as unknown as InputOf<Name>
  using progress = progressIn && showProgress(cli, options, progressIn)
  const all = progress === undefined ? streams : { ...streams, progress: progress.update }
  return await inSession(cli, { data, config }, (opened) => opened.run(name, input, all), session)
}

interface Running {
  readonly streams?: Streams
  readonly progressIn?: Unit
}

/**
 * Carries an operation out and prints its output: `describe` makes text of it, for a terminal of `width`
 * columns, `valueOf` the value for JSON.
 */
export async function tell<Name extends OperationName>(
  cli: Cli,
  name: Name,
  options: OptionsOf<Name>,
  describe: (output: OutputOf<Name>, width: number | undefined) => string,
  valueOf: (output: OutputOf<Name>) => object = (output) => output as object,
): Promise<void> {
  const output = await carryOut(cli, name, options)
  await print(cli, options, valueOf(output), describe(output, cli.terminal.outputWidth))
}

/** Examples for the help of a command. */
export function example(...lines: readonly string[]): string {
  if (lines.length === 0) return ''
  const title = lines.length === 1 ? 'Example' : 'Examples'
  return `\n${title}:\n${lines.map((line) => `  $ ${line}`).join('\n')}`
}

/** The items of `A,B` or `A B`; none for an empty text. */
export function items(text: string): readonly string[] {
  return text.split(/[\s,]+/).filter((item) => item !== '')
}

/** Reads an object in JSON. The function throws `InvalidArgumentError` for anything else. */
export function jsonObject(expected: string): (text: string) => object {
  return (text) => {
    try {
      const value: unknown = JSON.parse(text)
      if (isRecord(value)) return value
    } catch {
      // Said below.
    }
    throw new InvalidArgumentError(`it must be ${expected}.`)
  }
}

/** Asks before `name` is deleted. Throws `UsageError` for any other answer than `name`, which is `called` so. */
export async function confirm(
  { terminal }: Cli,
  name: string,
  { what, called, question }: Readonly<Record<'what' | 'called' | 'question', string>>,
): Promise<void> {
  if (!terminal.canAsk) {
    throw new UsageError(`Nothing was deleted: repeat with --yes to delete ${what} ${name}`)
  }
  const answer = await terminal.ask(`${question} to continue: `)
  if (answer.trim() !== name) throw new UsageError(`Nothing was deleted: ${called} does not match`)
}

/** Throws `InvalidArgumentError` for anything but a whole number from `least`. */
export function whole(least: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least) return number
    throw new InvalidArgumentError(`it must be a whole number of at least ${least}.`)
  }
}

/** Throws `InvalidArgumentError` for anything but a number from 0. */
export function number(text: string): number {
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text)
  throw new InvalidArgumentError('it must be a number.')
}
