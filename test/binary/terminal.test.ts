import { expect, test } from 'bun:test'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, satchel, satchelJson } from './setup'

const SECRET = 'a-secret-nobody-sees'
const PROVIDER = ['provider', 'add', 'google', '--client-id', 'x']

/** Runs a command in a terminal and answers `question` with `typed`. */
async function answer(cwd: string, question: string, typed: string) {
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
  child.terminal?.close()
  return { exitCode, screen }
}

test('a client secret that is typed is kept and not shown, and can be refused to be typed', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  await satchelJson(['db', 'create', 'main'], surroundings)
  const list = () => satchelJson<object>(['provider', 'list'], surroundings)

  for (const key of ['\u0003', '\u0004']) {
    const broken = await answer(folder.path, 'not shown: ', key)
    expect(broken.exitCode).toBe(2)
    expect(broken.screen).toEndWith('satchel: Nothing was done: the question was not answered\r\n')
  }
  expect(await list()).toEqual({ data: [] })

  const given = await answer(folder.path, 'not shown: ', `${SECRET}\r`)
  expect(given.exitCode).toBe(0)
  expect(given.screen).toContain('satchel provider test google')
  expect(given.screen).not.toContain(SECRET)
  expect(await list()).toMatchObject({ data: [{ name: 'google' }] })
})

test('help has colours on a terminal, and none in a pipe, with NO_COLOR or on a dumb terminal', async () => {
  using folder = temporaryFolder()
  const showHelp = async (environment: Record<string, string>) => {
    let screen = ''
    const isComplete = Promise.withResolvers<void>()
    const child = Bun.spawn([EXECUTABLE, '--help'], {
      cwd: folder.path,
      env: environment,
      terminal: {
        data(_, bytes) {
          screen += new TextDecoder().decode(bytes)
          if (screen.includes('$ satchel token')) isComplete.resolve()
        },
      },
    })
    await isComplete.promise
    expect(await child.exited).toBe(0)
    child.terminal?.close()
    return screen
  }
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
