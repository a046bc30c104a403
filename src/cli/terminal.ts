import process from 'node:process'
import { UsageError } from '../config/config'
import { openOutlet } from '../log/line-sink'
import { wantsColors } from './color'

/** The input and output of a command. */
export interface Terminal {
  /** Standard input is a terminal: a person types. */
  readonly isInputTerminal: boolean
  /** Standard output is a terminal: secrets may be shown. */
  readonly isOutputTerminal: boolean
  /** The columns of standard output, if it is a terminal that knows them. */
  readonly outputWidth: number | undefined
  /** Standard error is a terminal: progress may be drawn, and logs are text. */
  readonly isErrorTerminal: boolean
  /** Texts may have colours on standard output, on standard error. */
  readonly hasOutputColors: boolean
  readonly hasErrorColors: boolean
  /** Standard input and error are terminals: questions may be asked. */
  readonly canAsk: boolean
  /** Waits while the reader of standard output is slow. */
  write(output: string | Uint8Array): Promise<void>
  /** Writes to standard error. */
  writeError(text: string): void
  ask(question: string): Promise<string>
  /** `ask` without an echo of the input. */
  askSecret(question: string): Promise<string>
  /** Calls `listener` at the first Ctrl-C, instead of ending the process, until disposed. */
  onInterrupt(listener: () => void): Disposable
  /** Standard input as it comes. */
  input(): ReadableStream<Uint8Array>
}

const INPUT = 0
const OUTPUT = 1
const ERROR = 2

/**
 * The terminal of this process. It writes to the descriptors and looks at them only when asked:
 * the streams of `node:process` would take a quarter of the time in which a server starts.
 */
export function processTerminal(): Terminal {
  const output = openOutlet(OUTPUT)
  const error = openOutlet(ERROR)
  return {
    get isInputTerminal() {
      return isTerminal(INPUT)
    },
    get isOutputTerminal() {
      return isTerminal(OUTPUT)
    },
    get outputWidth() {
      // A stream of a terminal without a size has none or 0.
      return isTerminal(OUTPUT) ? process.stdout.columns || undefined : undefined
    },
    get isErrorTerminal() {
      return isTerminal(ERROR)
    },
    get hasOutputColors() {
      return wantsColors(isTerminal(OUTPUT), process.env)
    },
    get hasErrorColors() {
      return wantsColors(isTerminal(ERROR), process.env)
    },
    get canAsk() {
      return isTerminal(INPUT) && isTerminal(ERROR)
    },
    write: (text) => output.write(typeof text === 'string' ? Buffer.from(text) : text),
    writeError: (text) => error.writeNow(Buffer.from(text)),
    ask: (question) => read(question, process.stderr),
    async askSecret(question) {
      const { Writable } = await import('node:stream')
      let isAsked = false
      const screen = new Writable({
        write(drawn: Uint8Array, _encoding, done) {
          if (!isAsked) error.writeNow(drawn)
          done()
        },
      })
      const answer = read(question, screen, () => (isAsked = true))
      return await answer.finally(() => error.writeNow(Buffer.from('\n')))
    },
    onInterrupt(listener) {
      process.once('SIGINT', listener)
      return { [Symbol.dispose]: () => void process.off('SIGINT', listener) }
    },
    input: () => Bun.stdin.stream(),
  }
}

/** Throws `UsageError` at Ctrl+C and at the end of the input. */
async function read(
  question: string,
  screen: NodeJS.WritableStream,
  onAsked?: () => void,
): Promise<string> {
  const { createInterface } = await import('node:readline/promises')
  using lines = createInterface({ input: process.stdin, output: screen, terminal: true })
  const over = new AbortController()
  lines.once('close', () => over.abort())
  try {
    const answer = lines.question(question, { signal: over.signal })
    onAsked?.()
    return await answer
  } catch {
    throw new UsageError('Nothing was done: the question was not answered')
  }
}

function isTerminal(descriptor: number): boolean {
  return process.getBuiltinModule('node:tty').isatty(descriptor)
}
