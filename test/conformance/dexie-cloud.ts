import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestServer } from '../setup'
import { until } from '../timing'

const PROGRAM = join(import.meta.dir, '../../node_modules/dexie-cloud/bin/index.js')

/** The commands that were run: `create`, `templates pull`. */
export const COMMANDS_RUN = new Set<string>()

/** The published command line client in a folder of its own, run by Node.js. */
export interface DexieCloud extends Disposable {
  readonly folder: string
  /** Runs a command and answers its questions. */
  run(args: readonly string[], answers?: Answers): Promise<Outcome>
  write(name: string, content: string | Uint8Array): void
  read(name: string): string
  json(name: string): Record<string, unknown>
}

export interface Outcome {
  readonly exitCode: number
  /** Standard output and standard error, as they came. */
  readonly text: string
}

/** Answers by a part of the question. */
export type Answers = Readonly<Record<string, () => string | Promise<string>>>

export function setupDexieCloud(): DexieCloud {
  const folder = mkdtempSync(join(tmpdir(), 'dexie-cloud-'))
  const pathOf = (name: string) => join(folder, name)
  const read = (name: string) => readFileSync(pathOf(name), 'utf8')
  // It looks for its files in the folder that has one of these.
  writeFileSync(pathOf('package.json'), '{}')
  return {
    folder,
    run: (args, answers = {}) => run(folder, args, answers),
    write: (name, content) => writeFileSync(pathOf(name), content),
    read,
    json: (name) => JSON.parse(read(name)) as Record<string, unknown>,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function run(cwd: string, args: readonly string[], answers: Answers): Promise<Outcome> {
  const open = new Map(Object.entries(answers))
  COMMANDS_RUN.add(args.slice(0, args[0] === 'templates' ? 2 : 1).join(' '))
  const child = Bun.spawn(['node', PROGRAM, ...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: cwd, TZ: 'UTC', NO_COLOR: '1' },
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let text = ''
  const listen = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder()
    for await (const bytes of stream) {
      text += decoder.decode(bytes, { stream: true })
      for (const [question, answer] of open) {
        if (!text.includes(question)) continue
        open.delete(question)
        await child.stdin.write(`${await answer()}\n`)
        await child.stdin.flush()
      }
    }
  }
  await Promise.all([listen(child.stdout), listen(child.stderr)])
  return { exitCode: await child.exited, text }
}

/** Answers the questions of a login: the address, and the code from the next mail to it. */
export function login(server: TestServer, email: string): Answers {
  const before = mailsTo(server, email).length
  return {
    'Enter your email address': () => email,
    'Enter OTP': async () => {
      await until(() => mailsTo(server, email).length > before)
      return mailsTo(server, email).at(-1)?.variables.otp ?? ''
    },
  }
}

interface PrintedMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly variables: { readonly otp: string; readonly notice: string }
}

/** The mails that the server has printed, the oldest first. */
export function mailsTo({ lines }: TestServer, email: string): readonly PrintedMail[] {
  return lines
    .filter((line) => line.includes('"logger":"mail"'))
    .map((line) => JSON.parse(line) as PrintedMail)
    .filter(({ to }) => to === email)
}
