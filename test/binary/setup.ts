import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'bun:test'
import { freePort } from '../ports'

/** The executable that `bun build.ts` makes. */
export const EXECUTABLE = join(import.meta.dir, '..', '..', 'dist', 'satchel')

if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE} is missing: run bun build.ts first`)

/** Servers of other test files are not found, and not told of this one. */
const UNLISTED = { XDG_RUNTIME_DIR: '/dev/null' }

export interface Surroundings {
  /** The folder it is started in. */
  readonly cwd: string
  readonly environment?: Readonly<Record<string, string>>
  /** The words before the executable on the command line. */
  readonly wrapper?: readonly string[]
  /** Another copy of it. */
  readonly executable?: string
}

export interface Outcome {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command to its end. */
export async function satchel(
  args: readonly string[],
  { cwd, environment = {}, wrapper = [], executable = EXECUTABLE }: Surroundings,
  input?: Blob,
): Promise<Outcome> {
  const child = Bun.spawn([...wrapper, executable, ...args], {
    cwd,
    env: { ...UNLISTED, ...environment },
    stdin: input ?? 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [exitCode, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  return { exitCode, stdout, stderr }
}

/** The JSON that a command prints, which must succeed. */
export async function satchelJson<T>(
  args: readonly string[],
  surroundings: Surroundings,
): Promise<T> {
  const { exitCode, stdout, stderr } = await satchel([...args, '--json'], surroundings)
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
  return JSON.parse(stdout) as T
}

/** Declares the tables of the database `main`. */
export async function pushSchema(
  surroundings: Surroundings,
  schema: Readonly<Record<string, string>>,
): Promise<void> {
  const file = new Blob([JSON.stringify(schema)])
  const { exitCode, stderr } = await satchel(['schema', 'push', '-'], surroundings, file)
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
}

export interface Ready {
  readonly event: 'ready'
  readonly url: string
  readonly databases: readonly { readonly name: string; readonly url: string }[]
  readonly client?: { readonly clientId: string; readonly clientSecret: string }
  readonly folder: string
  readonly pid: number
}

/** The executable at work. Disposing ends it with SIGTERM and waits. */
export interface Served extends AsyncDisposable {
  readonly pid: number
  readonly ready: Ready
  /** Everything after the ready line on standard output, and the log; complete when it has ended. */
  readonly rest: Promise<string>
  readonly log: Promise<string>
  /** The `nth` line of the log that this is true of, as soon as it is there. */
  logged(isWanted: (line: string) => boolean, nth?: number): Promise<string>
  readonly exited: Promise<number>
  kill(signal: NodeJS.Signals): void
}

/** Starts `satchel serve` on a free port and waits for its ready line. Another server can have the port after it. */
export async function serve(
  surroundings: Surroundings,
  args: readonly string[] = [],
): Promise<Served> {
  const { cwd, environment = {}, wrapper = [] } = surroundings
  const words = ['serve', '--port', String(freePort()), '--json', ...args]
  const child = Bun.spawn([...wrapper, EXECUTABLE, ...words], {
    cwd,
    env: { ...UNLISTED, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { log, ...follower } = followLog(child.stderr)
  const { line, rest } = await firstLine(child.stdout)
  if (line === undefined) throw new Error(`satchel serve ended before it was ready: ${await log}`)
  return {
    pid: child.pid,
    ready: JSON.parse(line) as Ready,
    rest,
    log,
    ...follower,
    exited: child.exited,
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await child.exited
    },
  }
}

function followLog(stream: ReadableStream<Uint8Array>) {
  let text = ''
  const grown = new EventTarget()
  async function readAll(): Promise<string> {
    for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
      text += chunk
      grown.dispatchEvent(new Event('text'))
    }
    return text
  }
  return {
    log: readAll(),
    async logged(isWanted: (line: string) => boolean, nth = 1): Promise<string> {
      const signal = AbortSignal.timeout(60_000)
      for (;;) {
        const line = text.split('\n').slice(0, -1).filter(isWanted)[nth - 1]
        if (line !== undefined) return line
        await once(grown, 'text', { signal })
      }
    },
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>) {
  const chunks = stream.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]()
  let text = ''
  while (!text.includes('\n')) {
    const { value, done } = await chunks.next()
    if (done) return { line: undefined, rest: Promise.resolve(text) }
    text += value
  }
  const end = text.indexOf('\n')
  return { line: text.slice(0, end), rest: readRest(chunks, text.slice(end + 1)) }
}

async function readRest(chunks: AsyncIterator<string>, begin: string): Promise<string> {
  let text = begin
  for (;;) {
    const { value, done } = await chunks.next()
    if (done) return text
    text += value
  }
}
