import { expect, test } from 'bun:test'
import { version } from '../../package.json'
import { runProgram } from '../../src/cli/program'
import type { Terminal } from '../../src/cli/terminal'
import { environmentName, flagName, type Setting, SETTINGS } from '../../src/config/settings'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { runSatchel } from './setup'

const COMMANDS = [
  ['serve'],
  ['db', 'create'],
  ['db', 'list'],
  ['db', 'delete'],
  ['client', 'create'],
  ['client', 'list'],
  ['client', 'revoke'],
  ['client', 'rotate'],
  ['schema', 'push'],
  ['schema', 'show'],
  ['import'],
  ['export'],
  ['origin', 'add'],
  ['origin', 'remove'],
  ['origin', 'list'],
  ['key', 'rotate'],
  ['token'],
]

test.each(COMMANDS)(
  '%s %s has help with an example, and options for machines',
  async (...command) => {
    const words = command.filter((word) => typeof word === 'string')
    const { exitCode, stdout, stderr } = await runSatchel([...words, '--help'])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(stdout).toMatch(/^Examples?:$/m)
    expect(stdout).toContain(`$ satchel ${words.join(' ')}`)
    expect(stdout).toContain('--data <folder>')
    expect(stdout).toContain('--json')
  },
)

test('all help fits into 80 columns', async () => {
  let helps = 0
  async function walk(words: readonly string[]): Promise<void> {
    const { exitCode, stdout } = await runSatchel([...words, '--help'])
    expect({ words, exitCode }).toEqual({ words, exitCode: 0 })
    const long = stdout.split('\n').filter((line) => line.length > 80)
    expect({ words, long }).toEqual({ words, long: [] })
    helps++
    const [, commands = ''] = stdout.split('\nCommands:\n')
    const [listed = ''] = commands.split('\n\n')
    for (const [, name = ''] of listed.matchAll(/^ {2}([a-z-]+)/gm)) {
      if (name !== 'help') await walk([...words, name])
    }
  }
  await walk([])
  expect(helps).toBeGreaterThan(60)
})

test('the help of serve has every setting, as a flag or as a variable', async () => {
  const { stdout } = await runSatchel(['serve', '--help'])
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    expect(stdout).toContain(setting.withoutFlag ? ` ${environmentName(name)} ` : flagName(name))
  }
  expect(stdout).toContain('-p, --port <number>')
})

test('a wrong command line is one error in both forms', async () => {
  const asText = await runSatchel(['client', 'revoke'])
  expect(asText).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: "satchel: Missing required argument 'id'; see satchel client revoke --help\n",
  })
  const { exitCode, stderr } = await runSatchel(['client', 'revoke', '--json'])
  expect(exitCode).toBe(2)
  expect(JSON.parse(stderr)).toEqual({
    error: {
      code: 'USAGE',
      message: "Missing required argument 'id'; see satchel client revoke --help",
    },
  })
})

test('without arguments it shows what there is', async () => {
  const { exitCode, stdout } = await runSatchel([])
  expect(exitCode).toBe(0)
  for (const [command = ''] of COMMANDS) expect(stdout).toContain(`  ${command} `)
})

test('shows help in one piece, so that nothing of it comes first that belongs behind', async () => {
  const { stdout } = await runSatchel(['serve', '--help'])
  expect(stdout).toStartWith('Usage: satchel serve')
  expect(stdout.trimEnd()).toEndWith('--seed seed')
  const pieces: string[] = []
  const terminal: Terminal = {
    isInputTerminal: false,
    isOutputTerminal: false,
    outputWidth: undefined,
    isErrorTerminal: false,
    hasOutputColors: false,
    hasErrorColors: false,
    canAsk: false,
    write: async (text) => void pieces.push(String(text)),
    writeError: () => undefined,
    ask: async () => '',
    askSecret: async () => '',
    onInterrupt: () => ({ [Symbol.dispose]() {} }),
    input: () => new Blob().stream(),
  }
  expect(await runProgram(['serve', '--help'], { terminal, clock: createTestClock() })).toBe(0)
  expect(pieces).toEqual([stdout])
})

test('says its version', async () => {
  for (const flag of ['--version', '-v']) {
    expect(await runSatchel([flag])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' })
  }
})

test('says what it was built from', async () => {
  for (const args of [
    ['--version', '--json'],
    ['--json', '-v'],
  ]) {
    const { exitCode, stdout } = await runSatchel(args)
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toEqual({
      version,
      commit: null,
      bun: Bun.version,
      sqlite: expect.stringMatching(/^3\.\d+\.\d+$/),
    })
  }
  expect(await runSatchel(['--version', '--json', 'serve'])).toMatchObject({
    stdout: `${version}\n`,
  })
})

test.each([
  [['srve'], "Unknown command 'srve' (Did you mean serve?)\n"],
  [['nothing'], "Unknown command 'nothing'; see satchel --help"],
  [['\u001b[8mno\n'], String.raw`Unknown command '\u001b[8mno\u000a'; see satchel --help`],
  [['user', 'nothing'], "Unknown command 'nothing'; see satchel user --help"],
  [['client', 'lst'], '(Did you mean list?)'],
  [['client', 'list', '--jsn'], '(Did you mean --json?)'],
  [['client', 'list', 'surplus'], 'Too many arguments'],
  [['client', 'create'], '--scopes'],
  [['client', 'revoke'], "Missing required argument 'id'; see satchel client revoke --help"],
  [
    ['token', '--sub', 'alice', '--expires-in', 'soon'],
    "Option '--expires-in <seconds>' argument 'soon' is invalid: it must be a number; see satchel token --help",
  ],
  [
    ['user', 'set', 'alice', '--type', 'prof'],
    'is invalid: allowed choices are eval, prod, demo; see satchel user set --help',
  ],
  [['serve', '--port'], 'argument missing'],
  [['serve', '--port', '70000'], '--port must be a port between 0 and 65535'],
  [['serve', '--durability', 'maybe'], '--durability must be full or relaxed'],
  [['serve', '--config', '/nowhere.json'], '/nowhere.json cannot be read: it does not exist'],
  [['schema', 'push', '/nowhere.json'], 'There is no file /nowhere.json'],
])('%p is a mistake of usage: exit code 2 and a way out', async (args, sentence) => {
  const { exitCode, stdout, stderr } = await runSatchel(args)
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
  expect(stderr).toContain(sentence)
})

test('a refusal is one sentence and exit code 1, or one line of JSON', async () => {
  using folder = temporaryFolder()
  const data = ['--data', folder.path]
  await runSatchel(['db', 'create', 'main', ...data])
  const said = await runSatchel(['client', 'revoke', 'nobody', ...data])
  expect(said).toEqual({ exitCode: 1, stdout: '', stderr: 'satchel: No client "nobody"\n' })
  const coded = await runSatchel(['client', 'revoke', 'nobody', '--json', ...data])
  expect(coded.exitCode).toBe(1)
  expect(JSON.parse(coded.stderr)).toEqual({
    error: { code: 'UNKNOWN_CLIENT', message: 'No client "nobody"' },
  })
})

test('a data folder that is not there is not made by looking into it', async () => {
  using folder = temporaryFolder()
  const data = `${folder.path}/none`
  const { exitCode, stderr } = await runSatchel(['client', 'list', '--data', data])
  expect(exitCode).toBe(1)
  expect(stderr).toContain(`There is no data folder ${data}`)
  expect(await Bun.file(`${data}/lock.sqlite`).exists()).toBe(false)
})
