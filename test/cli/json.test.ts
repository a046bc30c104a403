import { expect, test } from 'bun:test'
import { join } from 'node:path'
import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { createProgram } from '../../src/cli/program'
import { processTerminal } from '../../src/cli/terminal'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { setupTestMode } from '../testing/setup'
import { type Outcome, runSatchel } from './setup'

/** Every command with arguments, in an order in which each works; those with 1 are refused. */
const RUNS: readonly (readonly [line: string, exitCode?: number])[] = [
  ['db create todo'],
  ['db list'],
  ['db address todo https://todo.example.com'],
  ['db offload todo clients'],
  ['db adopt todo', 1],
  ['db compact todo'],
  ['db undelete todo'],
  ['client create --scopes ACCESS_DB --email bob@example.com'],
  ['client list'],
  ['client rotate CLIENT --days 3'],
  ['client revoke CLIENT'],
  ['schema push FOLDER/schema.json --wait'],
  ['schema show'],
  ['import FOLDER/items.json --table items --realm rlm-public'],
  ['export FOLDER/all.zip'],
  ['backup FOLDER/backups'],
  ['backup list FOLDER/backups'],
  ['backup verify FOLDER/backups'],
  ['backup prune FOLDER/backups --keep 7d'],
  ['restore FOLDER/backups/BACKUP --as old --db todo'],
  ['audit'],
  ['object list items'],
  ['object show items none', 1],
  ['object seers items none', 1],
  ['object delete items none', 1],
  ['device list'],
  ['job list'],
  ['job cancel import-x', 1],
  ['verify'],
  ['blob list'],
  ['blob show 1:none', 1],
  ['blob quota --total 20GB'],
  ['blob gc'],
  ['blob verify'],
  ['origin add https://app.example.com'],
  ['origin list'],
  ['origin remove https://app.example.com'],
  ['user add alice@example.com --eval-days 3 --valid-until 2031-01-31'],
  ['user set alice@example.com --name Alice'],
  ['user list'],
  ['user deactivate alice@example.com'],
  ['user reactivate alice@example.com'],
  ['user show alice@example.com'],
  ['realm add Shopping --id rlmA --owner alice@example.com'],
  ['realm list'],
  ['realm show rlmA'],
  ['realm update rlmA --name Groceries'],
  ['role put editor --realm rlmA --permissions {"update":"*"}'],
  ['role list --realm rlmA'],
  ['role remove editor --realm rlmA'],
  ['member add rlmA --email bob@example.com --silent'],
  ['member list --realm rlmA'],
  ['member update none --name Alice', 1],
  ['member resend none', 1],
  ['member remove none', 1],
  ['realm remove rlmA'],
  ['user delete alice@example.com --yes'],
  ['token --sub alice@example.com'],
  ['policy set --new-users webhook --hook-url https://localhost:1/hook'],
  ['policy show'],
  ['policy rotate-secret'],
  ['policy test alice@example.com', 1],
  ['provider add google --client-id x --secret-file FOLDER/secret'],
  ['provider list'],
  ['provider test none', 1],
  ['provider remove google'],
  ['mail show'],
  ['mail set smtp://127.0.0.1:1 --from app@example.com'],
  ['mail test --to alice@example.com', 1],
  ['mail reset'],
  ['template list'],
  ['template set otp-subject FOLDER/secret'],
  ['template show otp-subject'],
  ['template preview otp-subject'],
  ['template reset otp-subject'],
  ['key rotate'],
  ['key reseal', 2],
  ['config check'],
  ['explain --as alice@example.com --do add --table items'],
  ['db delete todo --yes'],
]

/** They work on no data folder. */
const FOLDERLESS = /^(?:config|backup (?:list|verify|prune)) /

/** The same on a server in test mode. */
const TEST_RUNS = [
  'status',
  'figures',
  'health',
  'doctor',
  'admin revoke',
  'test snapshot',
  'test snapshots',
  'test restore SNAPSHOT',
  'test fork SNAPSHOT',
  'test forget SNAPSHOT',
  'test reset',
  'test mail',
  'test login bob@example.com',
  'test clock --advance 1d',
  'test idp',
  'test idp-login bob@example.com --redirect-uri http://localhost:5173/',
  'test fault --latency 1ms',
]

test('every command prints one object with --json, with times and errors of one form', async () => {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, 'schema.json'), '{"items": "@id, title"}')
  await Bun.write(join(folder.path, 'items.json'), '[{"title": "Milk"}]')
  await Bun.write(join(folder.path, 'secret'), 'a-secret')
  const options = ['--data', folder.path]
  await runSatchel(['db', 'create', 'main', ...options])
  let client = ''
  let backup = ''
  for (const [line, exitCode = 0] of RUNS) {
    const words = line
      .replaceAll('FOLDER', folder.path)
      .replace('CLIENT', client)
      .replace('BACKUP', backup)
      .split(' ')
    const common = FOLDERLESS.test(line) ? [] : options
    const value = checked(line, await runSatchel([...words, ...common, '--json']), exitCode)
    const made = value as { clientId?: unknown; backup?: unknown }
    if (typeof made.clientId === 'string') client = made.clientId
    if (typeof made.backup === 'string') backup = made.backup
  }
  await using server = await setupTestMode()
  let snapshot = ''
  for (const line of TEST_RUNS) {
    const words = line.replace('SNAPSHOT', snapshot).split(' ')
    const outcome = await runSatchel([...words, '--data', server.folder, '--json'])
    const { id } = checked(line, outcome, 0) as { id?: unknown }
    if (typeof id === 'string') snapshot = id
  }
  const ran = [...RUNS.map(([line]) => line), ...TEST_RUNS]
  // The line of `serve` is the subject of test/cli/serve.test.ts; the output of `test exec` is its command's, and
  // `log follow` prints one object for each line.
  const apart = ['serve', 'test exec', 'log follow']
  const all = commandLines().filter((line) => !apart.includes(line))
  expect(all.filter((line) => !ran.some((each) => `${each} `.startsWith(`${line} `)))).toEqual([])
})

test('a mistake of usage is an error of the same form in every command', async () => {
  const lines = commandLines()
  expect(lines.length).toBeGreaterThan(60)
  for (const line of lines) {
    const outcome = await runSatchel([...line.split(' '), '--nonsense', '--json'])
    const value = checked(line, outcome, 2)
    expect(value).toMatchObject({ error: { code: 'USAGE' } })
  }
})

/** The object that a command printed, after its form is checked. */
function checked(line: string, { exitCode, stdout, stderr }: Outcome, expected: number): object {
  const [output, silent] = expected === 0 ? [stdout, stderr] : [stderr, stdout]
  expect({ line, exitCode, silent, output }).toMatchObject({ exitCode: expected, silent: '' })
  expect(output).toMatch(/^\{.*\}\n$/)
  const value = JSON.parse(output) as object
  if (expected !== 0) {
    const text = expect.any(String) as string
    expect({ line, value }).toEqual({ line, value: { error: { code: text, message: text } } })
  }
  expect({ line, wrong: wrongTimes(value) }).toEqual({ line, wrong: [] })
  return value
}

/** The values that are times or durations of another form than all others. */
function wrongTimes(value: unknown, name = ''): string[] {
  if (typeof value === 'number') {
    const isTime = value > 1e11 && !name.endsWith('Bytes')
    const lacksUnit = /^(?:duration|latency|timeout|wait|age)$/i.test(name)
    return isTime || lacksUnit ? [`${name}: ${value}`] : []
  }
  // The name of a backup is the name of its folder.
  const isName = ['backup', 'kept', 'removed'].includes(name)
  if (typeof value === 'string' && !isName) {
    const isTime = /^\d{4}-\d\d-\d\d(?!\d)/.test(value)
    return isTime && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)
      ? [`${name}: ${value}`]
      : []
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) =>
    wrongTimes(member, Array.isArray(value) ? name : key),
  )
}

/** All commands that have no subcommands: `serve`, `db create`, … */
function commandLines(): string[] {
  const program = createProgram(
    '',
    { terminal: processTerminal(), clock: createTestClock() },
    () => {},
  )
  const walk = (command: CommandUnknownOpts, words: readonly string[]): string[] =>
    command.commands.length === 0
      ? [words.join(' ')]
      : command.commands.flatMap((each) => walk(each, [...words, each.name()]))
  return walk(program, [])
}
