import { expect, test } from 'bun:test'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { EXECUTABLE, satchel, satchelJson } from './setup'

const SECRET = 'a-secret-nobody-sees'
const PROVIDER = ['provider', 'add', 'google', '--client-id', 'x']

/** Runs a command in a terminal, answers `question` with `typed`, and waits for the `ending`. */
async function answer(cwd: string, question: string, typed: string, ending: string) {
  let screen = ''
  let hasAnswered = false
  const child = Bun.spawn([EXECUTABLE, ...PROVIDER], {
    cwd,
    env: {},
    terminal: {
      data(terminal, bytes) {
        screen += new TextDecoder().decode(bytes)
        if (hasAnswered || !screen.includes(question)) return
        hasAnswered = true
        terminal.write(typed)
      },
    },
  })
  const exitCode = await child.exited
  // What it wrote last may come after its exit code.
  await until(() => screen.includes(ending))
  child.terminal?.close()
  return { exitCode, screen }
}

test('a client secret that is typed is kept and not shown, and can be refused to be typed', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  await satchelJson(['db', 'create', 'main'], surroundings)
  const list = () => satchelJson<object>(['provider', 'list'], surroundings)

  for (const key of ['\u0003', '\u0004']) {
    const ending = 'satchel: Nothing was done: the question was not answered\r\n'
    const broken = await answer(folder.path, 'not shown: ', key, ending)
    expect(broken.exitCode).toBe(2)
    expect(broken.screen).toEndWith(ending)
  }
  expect(await list()).toEqual({ data: [] })

  const ending = 'satchel provider test google'
  const given = await answer(folder.path, 'not shown: ', `${SECRET}\r`, ending)
  expect(given.exitCode).toBe(0)
  expect(given.screen).not.toContain(SECRET)
  expect(await list()).toMatchObject({ data: [{ name: 'google' }] })
})

interface Showing {
  /** The end of what it shows. */
  readonly until: RegExp
  /** It is stopped when it shows this. */
  readonly stopAt?: string
  readonly cols?: number
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs a command in a terminal to its end, and gives what it has shown. */
async function show(
  cwd: string,
  args: readonly string[],
  { until, stopAt, cols = 80, environment = { TERM: 'xterm' } }: Showing,
): Promise<string> {
  let screen = ''
  let isStopped = false
  const isComplete = Promise.withResolvers<void>()
  const child = Bun.spawn([EXECUTABLE, ...args], {
    cwd,
    env: { XDG_RUNTIME_DIR: '/dev/null', ...environment },
    terminal: {
      cols,
      data(_, bytes) {
        screen += new TextDecoder().decode(bytes)
        if (until.test(screen)) isComplete.resolve()
        if (isStopped || stopAt === undefined || !screen.includes(stopAt)) return
        isStopped = true
        child.kill()
      },
    },
  })
  await isComplete.promise
  expect(await child.exited).toBe(0)
  child.terminal?.close()
  return screen
}

test('help has colours on a terminal, and none in a pipe, with NO_COLOR or on a dumb terminal', async () => {
  using folder = temporaryFolder()
  const showHelp = (environment: Record<string, string>) =>
    show(folder.path, ['--help'], { until: /\$ satchel token/, environment })
  const heading = '\u001b[1mCommands:\u001b[0m'
  expect(await showHelp({ TERM: 'xterm' })).toContain(heading)
  for (const environment of [{ TERM: 'xterm', NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    const plain = await showHelp(environment)
    expect(plain).toContain('Commands:')
    expect(plain).not.toContain('\u001b')
  }
  const pipe = async (environment: Record<string, string>) =>
    (await satchel(['--help'], { cwd: folder.path, environment })).stdout
  expect(await pipe({ TERM: 'xterm' })).not.toContain('\u001b')
  expect(await pipe({ FORCE_COLOR: '1' })).toContain(heading)
})

test('log lines of a server have colours on a terminal, and none with NO_COLOR', async () => {
  using folder = temporaryFolder()
  const serve = (environment: Record<string, string>) =>
    show(folder.path, ['serve', '--memory', '--port', '0'], {
      stopAt: 'Ctrl-C stops it.',
      until: /Stopping\r\n/,
      environment,
    })
  expect(await serve({ TERM: 'xterm' })).toMatch(
    // oxlint-disable-next-line no-control-regex
    /\u001b\[2m[\d:.]{12}\u001b\[0m \u001b\[32minfo   \u001b\[0m {2}Stopping/,
  )
  const plain = await serve({ TERM: 'xterm', NO_COLOR: '1' })
  expect(plain).toMatch(/\n[\d:.]{12} info {5}Stopping/)
  expect(plain).not.toContain('\u001b')
})

test('a table fits the terminal that it is shown on', async () => {
  using folder = temporaryFolder()
  const name = 'a name that is longer than the rest of a line of eighty columns'
  for (const args of [
    ['db', 'create', 'main'],
    ['user', 'add', 'alice@example.com', '--name', name],
  ])
    expect(await satchel(args, { cwd: folder.path })).toMatchObject({ exitCode: 0 })
  const list = (cols: number) =>
    show(folder.path, ['user', 'list'], { until: /a name[^\n]*\n/, cols })
  const narrow = Bun.stripANSI(await list(80))
  expect(narrow).toContain('…')
  for (const line of narrow.split('\r\n')) expect(line.length).toBeLessThanOrEqual(80)
  expect(await list(200)).toContain(name)
  expect((await satchel(['user', 'list'], { cwd: folder.path })).stdout).toContain(name)
})
