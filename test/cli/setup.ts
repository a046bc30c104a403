import { runProgram } from '../../src/cli/program'
import type { Terminal } from '../../src/cli/terminal'
import { createTestClock } from '../auth/setup'

export interface Outcome {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

export interface Scene {
  /** Standard output is a terminal. */
  readonly isOutputTerminal?: boolean
  /** The columns of that terminal. */
  readonly outputWidth?: number
  /** Both outputs have colours. */
  readonly isColored?: boolean
  /** The answer to a question; without it no question can be asked. */
  readonly answer?: string
  /** The content of standard input. */
  readonly input?: string | Uint8Array
  /** Ctrl-C is pressed when this resolves. */
  readonly interrupt?: Promise<void>
  /** Takes what goes to standard output, where that is no text. */
  readonly output?: Buffer[]
}

const clock = createTestClock()

/** Runs a command line in this process. */
export async function runSatchel(args: readonly string[], scene: Scene = {}): Promise<Outcome> {
  const {
    isOutputTerminal = false,
    outputWidth,
    isColored = false,
    answer,
    input = '',
    output: written = [],
    interrupt,
  } = scene
  let stderr = ''
  const terminal: Terminal = {
    isInputTerminal: answer !== undefined,
    isOutputTerminal,
    outputWidth,
    isErrorTerminal: false,
    hasOutputColors: isColored,
    hasErrorColors: isColored,
    canAsk: answer !== undefined,
    async write(output) {
      written.push(Buffer.from(output))
    },
    writeError(text) {
      stderr += text
    },
    async ask(question) {
      stderr += question
      return answer ?? ''
    },
    async askSecret(question) {
      stderr += question
      return answer ?? ''
    },
    onInterrupt(listener) {
      interrupt?.then(listener, () => undefined)
      return { [Symbol.dispose]() {} }
    },
    input: () => new Blob([Buffer.from(input)]).stream(),
  }
  // Commands run one after the other.
  clock.advance(1000)
  const exitCode = await runProgram(args, { terminal, clock })
  return { exitCode, stdout: Buffer.concat(written).toString(), stderr }
}

/** A command line on a data folder, with what the command prints as JSON, which must succeed. */
export async function runJson<T>(args: readonly string[], scene?: Scene): Promise<T> {
  const { exitCode, stdout, stderr } = await runSatchel([...args, '--json'], scene)
  if (exitCode !== 0) throw new Error(`satchel ${args.join(' ')} ended with ${exitCode}: ${stderr}`)
  return JSON.parse(stdout) as T
}
