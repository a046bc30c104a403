import process from 'node:process'
import { createInterface } from 'node:readline/promises'

/** Where a command reads and writes. */
export interface Terminal {
  /** Somebody looks at standard output: secrets and pictures of progress may be shown. */
  readonly isWatched: boolean
  /** Somebody can answer a question. */
  readonly canAsk: boolean
  /** Waits while the reader of standard output is slow. */
  write(text: string): Promise<void>
  /** Standard error. */
  complain(text: string): void
  ask(question: string): Promise<string>
  /** Standard input as it comes. */
  input(): ReadableStream<Uint8Array>
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr } = process
  return {
    isWatched: stdout.isTTY,
    canAsk: stdin.isTTY && stderr.isTTY,
    write: (text) =>
      new Promise((resolve, reject) => {
        stdout.write(text, (error) => (error ? reject(error) : resolve()))
      }),
    complain: (text) => void stderr.write(text),
    async ask(question) {
      using lines = createInterface({ input: stdin, output: stderr })
      return await lines.question(question)
    },
    input: () => Bun.stdin.stream(),
  }
}
