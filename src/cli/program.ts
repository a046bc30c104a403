import { Command, CommanderError, type CommandUnknownOpts } from '@commander-js/extra-typings'
import { version } from '../../package.json'
import { COMMIT } from '../commit'
import { UsageError } from '../config/config'
import { addConfigCommands } from './config'
import { hasErrno } from '../disk'
import { withColors } from './color'
import { HELP_WIDTH, styleHelp, wrapHelp } from './help'
import { SatchelError } from '../domain/value/error'
import { addAdminCommands } from './admin'
import { addAuditCommand } from './audit'
import { addBackupCommands } from './backup'
import { addBlobCommands } from './blob'
import { addClientCommands, addTokenCommand } from './client'
import { type Cli, Ending, Interruption } from './command'
import { addDatabaseCommands, addOriginCommands } from './db'
import { note, writeError } from './output'
import { addJobCommands } from './job'
import { addDeviceCommands } from './device'
import { addDoctorCommand } from './doctor'
import { addKeyCommands } from './key'
import { addExportCommand, addImportCommand } from './transfer'
import { addLogCommands } from './log'
import { addMailCommands, addTemplateCommands } from './mail'
import { addObjectCommands } from './object'
import { addPolicyCommands } from './policy'
import { addProviderCommands } from './provider'
import { addRestoreCommand } from './restore'
import { addSchemaCommands } from './schema'
import { addServeCommand } from './serve-command'
import { addExplainCommand, addTestCommands } from './test'
import { addFiguresCommand } from './figures'
import { addHealthCommand } from './health'
import { addMemberCommands, addRealmCommands, addRoleCommands } from './sharing'
import { addStatusCommand } from './status'
import { oneLine } from './table'
import { systemSentence } from '../net/system-error'
import { addUserCommands } from './user'
import { addVerifyCommand } from './verify'

/** The exit codes. */
export const EXIT = { done: 0, failed: 1, misused: 2, interrupted: 130 } as const

/** The commands in the order of the help, each with the function that adds it to the program. */
const COMMANDS: Readonly<Record<string, (program: Command, cli: Cli) => void>> = {
  serve: addServeCommand,
  db: addDatabaseCommands,
  client: addClientCommands,
  schema: addSchemaCommands,
  import: addImportCommand,
  export: addExportCommand,
  backup: addBackupCommands,
  restore: addRestoreCommand,
  job: addJobCommands,
  status: addStatusCommand,
  figures: addFiguresCommand,
  health: addHealthCommand,
  doctor: addDoctorCommand,
  verify: addVerifyCommand,
  admin: addAdminCommands,
  audit: addAuditCommand,
  log: addLogCommands,
  object: addObjectCommands,
  blob: addBlobCommands,
  device: addDeviceCommands,
  origin: addOriginCommands,
  user: addUserCommands,
  realm: addRealmCommands,
  member: addMemberCommands,
  role: addRoleCommands,
  policy: addPolicyCommands,
  provider: addProviderCommands,
  mail: addMailCommands,
  template: addTemplateCommands,
  key: addKeyCommands,
  token: addTokenCommand,
  config: addConfigCommands,
  explain: addExplainCommand,
  test: addTestCommands,
}

/** Runs the command line `args` and returns the exit code; nothing is thrown. */
export async function runProgram(args: readonly string[], cli: Cli): Promise<number> {
  const attempt = async (work: () => Promise<void>): Promise<number> => {
    try {
      await work()
      return EXIT.done
    } catch (error) {
      return explain(error, args.includes('--json'), cli)
    }
  }
  // Written at once: help comes in several parts, whose writes could overtake each other.
  let help = ''
  const code = await attempt(() => parse(args, cli, (text) => (help += text)))
  return help === '' ? code : (await attempt(() => writeHelp(help, cli))) || code
}

/** A reader that has seen enough of the help misses nothing. */
async function writeHelp(help: string, { terminal }: Cli): Promise<void> {
  try {
    await terminal.write(withColors(styleHelp(wrapHelp(help)), terminal.hasOutputColors))
  } catch (error) {
    if (!hasErrno(error, 'EPIPE')) throw error
  }
}

async function parse(
  args: readonly string[],
  cli: Cli,
  show: (text: string) => void,
): Promise<void> {
  if (asksForBuild(args)) return show(`${JSON.stringify(await describeBuild())}\n`)
  const program = createProgram(args[0] ?? '', cli, show)
  if (args.length === 0) return program.outputHelp()
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    const isMistake = error instanceof CommanderError && error.exitCode !== 0
    if (!isMistake || error.code === 'commander.help') throw error
    throw new UsageError(mistake(error.message, nameOf(program, args)), { cause: error })
  }
}

/** `satchel --version --json`, in either order. */
function asksForBuild(args: readonly string[]): boolean {
  const isVersion = args.includes('--version') || args.includes('-v')
  return args.length === 2 && isVersion && args.includes('--json')
}

/** `commit` is null when the program runs from its sources. */
async function describeBuild() {
  const { sqliteVersion } = await import('../sqlite/version')
  return { version, commit: COMMIT, bun: Bun.version, sqlite: sqliteVersion() }
}

/** An error of the command line as a sentence, with a way out: a similar word, or the help of the command. */
function mistake(message: string, command: string): string {
  const text = message
    .replace(/^error: /, '')
    .replace('\n(', ' (')
    .replace(/(?<= is invalid)\. (\w)/, (_, letter: string) => `: ${letter.toLowerCase()}`)
  const hint = text.endsWith('?)') ? '' : `; see ${command} --help`
  return oneLine(`${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}${hint}`)
}

/** The command that `args` begin with, such as `satchel user add`. */
function nameOf(program: CommandUnknownOpts, [word, ...rest]: readonly string[]): string {
  const found = program.commands.find((command) => command.name() === word)
  return found === undefined ? program.name() : `${program.name()} ${nameOf(found, rest)}`
}

/** With only the command called `name`, which is faster to create, or with all if there is none. */
export function createProgram(name: string, cli: Cli, show: (text: string) => void) {
  const program = new Command('satchel')
    .description('An open backend for local-first applications in one executable.')
    .version(version, '-v, --version')
    .exitOverride()
    // The options of a command that `satchel test exec` runs are not ours.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: show,
      writeErr: (text) => writeError(cli.terminal, styleHelp(wrapHelp(text))),
      // `explain` reports the errors of all commands.
      outputError: () => undefined,
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
    })
    .addHelpText('after', FIRST_STEPS)
  const wanted = Object.hasOwn(COMMANDS, name) ? [COMMANDS[name]] : Object.values(COMMANDS)
  for (const add of wanted) add?.(program, cli)
  return program
}

const FIRST_STEPS = `
Examples:
  $ satchel serve
  $ satchel schema push schema.json
  $ satchel token --sub alice@example.com`

/** Reports an error on standard error and returns the exit code; help and version are not errors. */
export function explain(thrown: unknown, asJson: boolean, { terminal }: Cli): number {
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return EXIT.done
    // A command without its subcommand: its help was shown.
    if (thrown.code === 'commander.help') return EXIT.misused
  }
  if (thrown instanceof Ending) {
    if (thrown.message !== '') note(terminal, thrown.message, 'red')
    return thrown.exitCode
  }
  const error = understood(thrown)
  // `satchel export | head`
  if (hasErrno(error, 'EPIPE')) {
    note(terminal, 'The output was closed before all of it was written', 'red')
    return EXIT.failed
  }
  const isUsage = error instanceof UsageError
  const message = error instanceof Error ? error.message : String(error)
  if (asJson) {
    terminal.writeError(`${JSON.stringify({ error: { code: codeOf(error), message } })}\n`)
  } else {
    const isKnown = isUsage || error instanceof SatchelError || error instanceof Interruption
    const stack = !isKnown && error instanceof Error ? `\n${error.stack}` : ''
    note(terminal, `${message}${stack}`, 'red')
  }
  if (error instanceof Interruption) return EXIT.interrupted
  return isUsage ? EXIT.misused : EXIT.failed
}

/** Errors of the system as errors of ours; all others as they are. */
function understood(error: unknown): unknown {
  const sentence = systemSentence(error)
  return sentence === undefined
    ? error
    : new SatchelError('STORAGE_FAILED', sentence, { cause: error })
}

function codeOf(error: unknown): string {
  if (error instanceof UsageError) return 'USAGE'
  if (error instanceof Interruption) return 'INTERRUPTED'
  return error instanceof SatchelError ? error.code : 'INTERNAL'
}
