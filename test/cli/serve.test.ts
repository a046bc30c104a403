import { describe, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { createProgram } from '../../src/cli/program'
import { isPersonal, readServeOptions, readyLine, readyText } from '../../src/cli/serve'
import { processTerminal } from '../../src/cli/terminal'
import { readConfig } from '../../src/config/config'
import { flagName, SETTINGS } from '../../src/config/settings'
import type { Server } from '../../src/server'
import { createTestClock } from '../auth/setup'
import { runSatchel } from './setup'

const url = 'http://127.0.0.1:7080'
const client = { clientId: 'the-id', clientSecret: 'the-secret' }
const server: Server = {
  url,
  folder: resolve('data'),
  databases: [{ name: 'main', url: `${url}/main` }],
  stop: async () => {},
  reload: async () => {},
  [Symbol.asyncDispose]: async () => {},
}

function textOf(
  of: Server,
  isOutputTerminal: boolean,
  flags: Readonly<Record<string, unknown>> = {},
) {
  const config = readConfig({ environment: {}, flags })
  return readyText(of, config, { ...processTerminal(), isOutputTerminal })
}

test('programs get one line, with the client on the start that made it', () => {
  const databases = [{ name: 'main', url: `${url}/main` }]
  expect(JSON.parse(readyLine(server))).toEqual({
    event: 'ready',
    url,
    databases,
    folder: resolve('data'),
    pid: process.pid,
  })
  expect(JSON.parse(readyLine({ ...server, client }))).toEqual({
    event: 'ready',
    url,
    databases,
    client,
    folder: resolve('data'),
    pid: process.pid,
  })
  expect(readyLine({ ...server, client })).not.toContain('\n')
})

test('people get the address, the folder, where to begin and, on a terminal only, the secret', () => {
  const watched = textOf({ ...server, client }, true)
  for (const part of [`${url}/main`, resolve('data'), 'the-id', 'the-secret', 'token --sub']) {
    expect(watched).toContain(part)
  }
  const unwatched = textOf({ ...server, client }, false)
  expect(unwatched).toContain('satchel client rotate the-id')
  expect(unwatched).not.toContain('the-secret')
  expect(textOf(server, true)).not.toContain('Client')
})

test('people begin on the page of a server in development, which has nothing to try elsewhere', () => {
  const page = /^Begin here +http:\/\/127\.0\.0\.1:7080\/$/m
  expect(textOf(server, true)).toMatch(page)
  const elsewhere = textOf(server, true, { publicUrl: 'https://db.example.com' })
  expect(elsewhere).not.toMatch(page)
  expect(elsewhere).toContain(`Page            ${url}/\n`)
})

test('people get told which flags mails need, where they are not printed', () => {
  const NEEDED = 'not sent: set --smtp-url, --mail-hook, or --print-mails for tests'
  expect(textOf(server, true, { host: '0.0.0.0' })).toContain(NEEDED)
  expect(textOf(server, true)).not.toContain(NEEDED)
  expect(textOf(server, true, { host: '0.0.0.0', printMails: true })).not.toContain(NEEDED)
})

test('the suggested commands name the folder unless it is the default', () => {
  expect(textOf(server, true)).not.toContain('--data')
  expect(textOf({ ...server, folder: '/srv/data' }, true)).toContain('--data /srv/data')
  const inMemory = textOf({ ...server, folder: '/dev/shm/x' }, true, { memory: true })
  expect(inMemory).toContain('in memory, discarded at exit')
  expect(inMemory).toContain('--data /dev/shm/x')
})

test('the suggested commands lead to the page for administrators, where there is one', () => {
  expect(textOf({ ...server, folder: '/srv/data' }, true)).toContain(
    'admin --open --data /srv/data',
  )
  expect(textOf(server, true, { noAdmin: true })).not.toContain('admin')
})

/** The options that the whole program finds. */
async function optionsOf(words: readonly string[]): Promise<unknown> {
  const cli = { terminal: processTerminal(), clock: createTestClock() }
  const program = createProgram('serve', cli, () => undefined)
  const serve = program.commands.find((command) => command.name() === 'serve')
  serve?.action(() => undefined)
  await program.parseAsync(words, { from: 'user' })
  return { ...serve?.opts() }
}

test('plain command lines have the options that the whole program finds', async () => {
  const flags = Object.entries(SETTINGS)
    .filter(([, setting]) => !('withoutFlag' in setting))
    .map(([name, setting]) => [flagName(name), ...('value' in setting ? [`its ${name}`] : [])])
  const lines = [
    [],
    ...flags,
    flags.flat(),
    ['--json', '--config', 'my.json', '-p', '0'],
    ['--port', '1', '-p', '2', '--json', '--json'],
    ['--data', ''],
  ]
  for (const line of lines) {
    const words = ['serve', ...line]
    expect({ line, options: readServeOptions(words) }).toEqual({
      line,
      options: (await optionsOf(words)) as never,
    })
  }
  expect(readServeOptions(['serve', ...flags.flat()])).toHaveProperty('publicUrl', 'its publicUrl')
})

test.each([
  [[]],
  [['db', 'list']],
  [['--version']],
  [['serve', '--help']],
  [['serve', '-h']],
  [['serve', '--nonsense']],
  [['serve', '--max-users', '1']],
  [['serve', 'folder']],
  [['serve', '--port']],
  [['serve', '--port', '-1']],
  [['serve', '--port=0']],
  [['serve', '-p0']],
  [['serve', '--memory', 'yes']],
  [['serve', '--', '--json']],
  [['serve', '--constructor']],
])('the whole program reads other command lines: %j', (words) => {
  expect(readServeOptions(words)).toBeUndefined()
})

test('a server in memory takes no folder', async () => {
  const args = ['serve', '--memory', '--data', './data', '--port', '0']
  expect(await runSatchel(args)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('--data and --memory cannot be combined'),
  })
})

describe('the link to the page for administrators', () => {
  const link = `${url}/admin#code`
  const person = { isInputTerminal: true, isOutputTerminal: true }

  test('is among the ready lines, and never in the line for programs', () => {
    const config = readConfig({ environment: {} })
    expect(readyText(server, config, processTerminal(), link)).toContain(link)
    expect(readyText(server, config, processTerminal())).not.toContain('/admin')
    expect(readyLine({ ...server, linkAdmin: () => link })).not.toContain('/admin')
  })

  test('is for a person at a terminal, not for the log of a service or of a container', () => {
    expect(isPersonal(person, {}, [])).toBe(true)
    expect(isPersonal({ ...person, isInputTerminal: false }, {}, [])).toBe(false)
    expect(isPersonal({ ...person, isOutputTerminal: false }, {}, [])).toBe(false)
    expect(isPersonal(person, { JOURNAL_STREAM: '8:1' }, [])).toBe(false)
    expect(isPersonal(person, { container: 'podman' }, [])).toBe(false)
    expect(isPersonal(person, {}, [import.meta.path])).toBe(false)
  })
})
