import { statSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import process from 'node:process'
import { UsageError } from '../config/config'
import type { EXEC_VARIABLES } from '../config/settings'
import { hasErrno } from '../disk'
import { SatchelError } from '../domain/value/error'
import { because } from '../net/system-error'
import { type Cli, Ending } from './command'
import { note } from './output'
import { hasControllingTerminal } from './serve'
import { exportTo, formatOf } from './transfer'

export interface ExecOptions {
  /** Of `satchel serve`, as text. */
  readonly schema?: string | undefined
  readonly seed?: string | undefined
  readonly port?: string | undefined
  /** The file to which the database is exported when the command has ended. */
  readonly export?: string | undefined
}

/**
 * `satchel test exec`: starts a backend, runs a command with the address of the backend in its environment, exports the
 * database if wanted, and ends the backend. Throws `Ending` with the exit code of the command unless it is 0,
 * `UsageError`, and the error with which the backend ended before it was ready.
 */
export async function runBeside(
  cli: Cli,
  options: ExecOptions,
  command: readonly string[],
): Promise<void> {
  const { export: file } = options
  if (command.length === 0) {
    throw new UsageError(
      'There is no command to run: give it after --, such as satchel test exec -- npm test',
    )
  }
  for (const flag of ['schema', 'seed'] as const) {
    if (options[flag] !== '-') continue
    throw new UsageError(`Standard input is for the command: give --${flag} the path of a file`)
  }
  if (file !== undefined) requireFolderOf(file)
  const format = formatOf(file)
  await using backend = await startBackend(cli, options)
  const exitCode = await runCommand(command, variablesOf(backend.ready))
  try {
    if (file !== undefined) {
      const summary = await exportTo(cli, file, format, { data: backend.ready.folder, db: 'main' })
      note(cli.terminal, summary)
    }
  } catch (error) {
    if (exitCode === 0) throw error
    note(cli.terminal, error instanceof Error ? error.message : String(error), 'red')
  }
  if (exitCode !== 0) throw new Ending(exitCode)
}

/** The export comes last: a mistake in its name is known before that. */
function requireFolderOf(file: string): void {
  const folder = dirname(file)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return
  throw new UsageError(`There is no folder ${folder} for the export`)
}

interface Ready {
  readonly databases: readonly { readonly url: string }[]
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  readonly test: { readonly token: string }
  readonly folder: string
}

type Variables = Readonly<Record<(typeof EXEC_VARIABLES)[number], string>>

function variablesOf({ databases, client, test, folder }: Ready): Variables {
  return {
    SATCHEL_TEST_URL: databases[0]?.url ?? '',
    SATCHEL_TEST_TOKEN: test.token,
    SATCHEL_TEST_CLIENT_ID: client.clientId,
    SATCHEL_TEST_CLIENT_SECRET: client.clientSecret,
    SATCHEL_TEST_FOLDER: folder,
  }
}

interface RunningBackend extends AsyncDisposable {
  readonly ready: Ready
}

async function startBackend({ terminal }: Cli, options: ExecOptions): Promise<RunningBackend> {
  const { schema, seed, port = '0' } = options
  const flags = Object.entries({ schema, seed, port }).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  )
  const serve = ['serve', '--memory', '--test', '--json', '--log-level', 'warning', ...flags]
  const server = Bun.spawn([...thisProgram(), ...serve], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    // Ctrl-C is for the command, which may still need the backend. The backend ends with its parent.
    detached: true,
  })
  const log: string[] = []
  let isReady = false
  const logged = (async () => {
    for await (const text of server.stderr.pipeThrough(new TextDecoderStream())) {
      if (isReady) terminal.writeError(text)
      else log.push(text)
    }
  })()
  const line = await firstLine(server.stdout)
  if (line === undefined) {
    const [exitCode] = await Promise.all([server.exited, logged])
    throw startError(log.join(''), exitCode)
  }
  isReady = true
  if (log.length > 0) terminal.writeError(log.join(''))
  return {
    ready: JSON.parse(line) as Ready,
    async [Symbol.asyncDispose]() {
      server.kill('SIGTERM')
      await Promise.all([server.exited, logged])
    },
  }
}

/** The words that start this program: the executable, or Bun with the source. */
function thisProgram(): readonly string[] {
  const isCompiled = Bun.main.startsWith('/$bunfs/')
  return isCompiled ? [process.execPath] : [process.execPath, Bun.main]
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  let text = ''
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    text += part
    if (text.includes('\n')) return text.slice(0, text.indexOf('\n'))
  }
  return undefined
}

/** The error with which `satchel serve --json` ended: its last line, with a code and a sentence. */
function startError(log: string, exitCode: number): Error {
  const last = log.trim().split('\n').at(-1) ?? ''
  let message = last
  try {
    message = (JSON.parse(last) as { readonly error: { readonly message: string } }).error.message
  } catch {
    // The program was killed, or could not begin.
  }
  const text = message === '' ? `it ended with ${exitCode}` : message
  const sentence = `The backend did not start: ${text}`
  return exitCode === 2 ? new UsageError(sentence) : new SatchelError('INTERNAL', sentence)
}

/** As in shells. */
const NOT_FOUND = 127
const NOT_EXECUTABLE = 126
const BY_SIGNAL = 128

/** Resolves to the exit code of the command, 128 plus the number of the signal that ended it. */
async function runCommand(
  [program = '', ...args]: readonly string[],
  variables: Variables,
): Promise<number> {
  let child: Bun.Subprocess | undefined
  // A terminal sends its signals to the command as well.
  const isAtTerminal = hasControllingTerminal()
  const pass = (signal: NodeJS.Signals) => {
    if (signal === 'SIGTERM' || !isAtTerminal) child?.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  // Before the command begins, which may answer at once to be signalled.
  for (const signal of signals) process.on(signal, pass)
  try {
    child = spawnCommand([program, ...args], { ...process.env, ...variables })
    const exitCode = await child.exited
    const { signalCode } = child
    return typeof signalCode === 'string' ? BY_SIGNAL + constants.signals[signalCode] : exitCode
  } finally {
    for (const signal of signals) process.off(signal, pass)
  }
}

function spawnCommand(words: readonly string[], env: NodeJS.ProcessEnv): Bun.Subprocess {
  const [program = ''] = words
  try {
    return Bun.spawn([...words], { env, stdio: ['inherit', 'inherit', 'inherit'] })
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) {
      throw new Ending(NOT_FOUND, `The command ${program} was not found`)
    }
    if (hasErrno(error, 'EACCES', 'ENOEXEC', 'EISDIR')) {
      throw new Ending(NOT_EXECUTABLE, `The command ${program} cannot be run${because(error)}`)
    }
    throw error
  }
}
