import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SERVICE } from '../../src/host/test-mode'
import type { MailContents } from '../../src/host/mailbox'
import type { TestServer } from '../setup'

const PROGRAM = join(import.meta.dir, '../../node_modules/dexie-cloud/bin/index.js')

/** The published command line client in a folder of its own, run by Node.js. */
export interface DexieCloud extends Disposable {
  readonly folder: string
  /** Runs a command and answers its questions. */
  run(args: readonly string[], answers?: Answers): Promise<Outcome>
  /** Runs lines of a guide in which `npx dexie-cloud` is this client. */
  shell(script: string, answers?: Answers): Promise<Outcome>
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
    run: (args, answers = {}) => run(folder, ['node', PROGRAM, ...args], answers),
    shell: (script, answers = {}) =>
      run(folder, ['bash', '-euo', 'pipefail', '-c', `${NPX}\n${script}`], answers),
    write: (name, content) => writeFileSync(pathOf(name), content),
    read,
    json: (name) => JSON.parse(read(name)) as Record<string, unknown>,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** `npx dexie-cloud` without a network. */
const NPX = `npx() { shift; node '${PROGRAM}' "$@"; }`

async function run(cwd: string, command: string[], answers: Answers): Promise<Outcome> {
  const open = new Map(Object.entries(answers))
  const child = Bun.spawn(command, {
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
export function login(server: TestServer, email: string, database = SERVICE): Answers {
  const before = mailsTo(server, email, database)
  return {
    'Enter your email address': () => email,
    'Enter OTP': async () => {
      const after = (await before)[0]?.id ?? ''
      const [mail] = await mailsTo(server, email, database, `&after=${after}&wait=30s`)
      return mail?.otp ?? ''
    },
  }
}

type TestMail = MailContents & { readonly id: string }

/** The mails of a database of a server in test mode, or of its service, newest first. */
export async function mailsTo(
  { url, test }: TestServer,
  email: string,
  database = SERVICE,
  query = '',
): Promise<readonly TestMail[]> {
  const address = `${url}/${database}/_test/mail?to=${encodeURIComponent(email)}${query}`
  const headers = { authorization: `Bearer ${test?.token}` }
  const { mails } = (await (await fetch(address, { headers })).json()) as { mails: TestMail[] }
  return mails
}

/** The commands and subcommands that its help lists: `create`, `templates pull`. */
export async function listCommands(): Promise<readonly string[]> {
  const [all, templates] = await Promise.all([helpOf(), helpOf('templates')])
  return [
    ...all.filter((name) => name !== 'templates'),
    ...templates.map((name) => `templates ${name}`),
  ]
}

async function helpOf(...command: readonly string[]): Promise<readonly string[]> {
  const child = Bun.spawn(['node', PROGRAM, ...command, '--help'], {
    env: { PATH: process.env['PATH'], NO_COLOR: '1' },
    stdout: 'pipe',
  })
  const [, commands = ''] = (await child.stdout.text()).split('Commands:\n')
  const names = [...commands.matchAll(/^ {2}([\w-]+)/gm)].map(([, name = '']) => name)
  return names.filter((name) => name !== 'help')
}
