import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { isAlive, temporaryFolder } from '../setup'
import { until } from '../timing'
import { EXECUTABLE, satchel } from './setup'

const BUN = process.execPath
const SCHEMA = JSON.stringify({ todos: '@id, title' })

/** A program that stores a row in the backend of its environment. */
const STORES = `
  const { SATCHEL_TEST_URL: url, SATCHEL_TEST_TOKEN: token } = process.env
  const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' }
  const post = (path, body, given = headers) =>
    fetch(url + path, { method: 'POST', headers: given, body: JSON.stringify(body) })
  const { accessToken } = await (await post('/_test/login', { email: 'alice@example.com' })).json()
  const bearer = { ...headers, authorization: 'Bearer ' + accessToken }
  const stored = await post('/my/todos', { id: 'milk', title: 'Milk' }, bearer)`

function exec(cwd: string, ...args: string[]) {
  return satchel(['test', 'exec', ...args], {
    cwd,
    environment: { PATH: process.env['PATH'] ?? '' },
  })
}

test('a command runs beside a backend, which ends with it, and its exit code is passed on', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'schema.json'), SCHEMA)
  const program = `${STORES}
    console.log(JSON.stringify([stored.status, url, process.env.SATCHEL_TEST_FOLDER, process.argv.slice(-2)]))
    process.exit(3)`
  const args = ['--schema', 'schema.json', '--', BUN, '-e', program, '--', '--schema', 'x']
  const { exitCode, stdout, stderr } = await exec(folder.path, ...args)
  expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: '' })
  const [status, url, data, words] = JSON.parse(stdout) as [number, string, string, string[]]
  expect({ status, words }).toEqual({ status: 200, words: ['--schema', 'x'] })
  expect(existsSync(data)).toBe(false)
  const outcome = await fetch(url).then(
    () => 'answered',
    () => 'gone',
  )
  expect(outcome).toBe('gone')
  expect((await exec(folder.path, 'true')).exitCode).toBe(0)
})

test('commands of satchel find the backend by its folder, and clients by their secret', async () => {
  using folder = temporaryFolder()
  const token = `${EXECUTABLE} token --sub alice@example.com --data "$SATCHEL_TEST_FOLDER"`
  const credentials = `grant_type: 'client_credentials', scopes: ['ACCESS_DB'], client_id: process.env.SATCHEL_TEST_CLIENT_ID, client_secret: process.env.SATCHEL_TEST_CLIENT_SECRET`
  const asked = `const body = JSON.stringify({ ${credentials} })
    const headers = { 'content-type': 'application/json' }
    console.log((await fetch(process.env.SATCHEL_TEST_URL + '/token', { method: 'POST', headers, body })).status)`
  const { stdout } = await exec(folder.path, '--', 'sh', '-c', `${token}; "$0" -e "$1"`, BUN, asked)
  expect(stdout).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n200\n$/)
})

test('the database is exported at the end, also after a command that failed', async () => {
  using folder = temporaryFolder()
  const seed = { schema: { todos: '@id, title' }, data: { 'rlm-public': { todos: { egg: {} } } } }
  writeFileSync(join(folder.path, 'seed.json'), JSON.stringify(seed))
  const program = `${STORES}; process.exit(stored.status === 200 ? 9 : 1)`
  const args = ['--seed', 'seed.json', '--export', 'left.ndjson', '--', BUN, '-e', program]
  const { exitCode, stdout, stderr } = await exec(folder.path, ...args)
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 9,
    stdout: '',
    stderr: 'satchel: Exported 2 objects to left.ndjson\n',
  })
  const left = readFileSync(join(folder.path, 'left.ndjson'), 'utf8')
  expect(left).toContain('"id":"milk"')
  expect(left).toContain('"id":"egg"')
  // Without an export the end is the command's; an export that fails is a failure of its own.
  const gone = ['--export', 'left.ndjson', '--', 'sh', '-c']
  const remove = 'rm left.ndjson; mkdir left.ndjson'
  const failed = await exec(folder.path, ...gone, remove)
  expect(failed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is a folder') })
  expect((await exec(folder.path, ...gone, 'exit 4')).exitCode).toBe(4)
})

test('a signal ends the command, and then the backend', async () => {
  using folder = temporaryFolder()
  const waits = 'trap "exit 7" TERM; echo "$SATCHEL_TEST_FOLDER $$"; while :; do sleep 0.1; done'
  const running = Bun.spawn([EXECUTABLE, 'test', 'exec', '--', 'sh', '-c', waits], {
    cwd: folder.path,
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const { value } = await running.stdout.getReader().read()
  const [data = '', pid] = new TextDecoder().decode(value).trim().split(' ')
  expect(existsSync(data)).toBe(true)
  running.kill('SIGTERM')
  expect(await running.exited).toBe(7)
  expect({ data: existsSync(data), isAlive: isAlive(Number(pid)) }).toEqual({
    data: false,
    isAlive: false,
  })
  expect((await exec(folder.path, '--', 'sh', '-c', 'kill -9 $$')).exitCode).toBe(137)
})

test('the backend answers a command that Ctrl-C ends, and is gone after kill -9', async () => {
  using folder = temporaryFolder()
  const program = `
    process.on('SIGINT', async () => {
      const { status } = await fetch(process.env.SATCHEL_TEST_URL + '/public/none')
      console.log('answered ' + status)
      process.exit(5)
    })
    console.log('waits in ' + process.env.SATCHEL_TEST_FOLDER + '.')
    setInterval(() => {}, 1000)`
  const start = () => {
    const seen = { screen: '' }
    const data = (_: unknown, bytes: Uint8Array) =>
      void (seen.screen += new TextDecoder().decode(bytes))
    const words = [EXECUTABLE, 'test', 'exec', '--', BUN, '-e', program]
    return { seen, child: Bun.spawn(words, { cwd: folder.path, terminal: { data } }) }
  }
  const { seen, child } = start()
  await until(() => seen.screen.includes('waits'))
  child.terminal?.write('\u0003')
  expect(await child.exited).toBe(5)
  await until(() => seen.screen.includes('answered 404'))
  const killed = start()
  await until(() => /waits in \S+\./.test(killed.seen.screen))
  const data = /waits in (\S+)\./.exec(killed.seen.screen)?.[1] ?? ''
  expect(existsSync(data)).toBe(true)
  killed.child.kill('SIGKILL')
  await until(() => !existsSync(data))
})

test('a mistake is explained, and nothing runs', async () => {
  using folder = temporaryFolder()
  const marks = ['--', 'touch', 'ran']
  for (const [args, exitCode, sentence] of [
    [[], 2, 'There is no command to run: give it after --'],
    [['--'], 2, 'There is no command to run: give it after --'],
    [['--', 'no-such-command'], 127, 'The command no-such-command was not found'],
    [['--', './schema.json'], 126, 'The command ./schema.json cannot be run'],
    [['--schema', 'none.json', ...marks], 1, 'The backend did not start: '],
    [['--port', '99999', ...marks], 2, '--port must be a port between 0 and 65535'],
    [['--seed', '-', ...marks], 2, 'Standard input is for the command'],
    [['--export', 'left.pdf', ...marks], 2, '.pdf is no format of an export'],
    [['--export', 'none/left.zip', ...marks], 2, 'There is no folder none for the export'],
    [['--shema', 'schema.json', ...marks], 2, 'Did you mean --schema?'],
  ] as const) {
    writeFileSync(join(folder.path, 'schema.json'), SCHEMA)
    const outcome = await exec(folder.path, ...args)
    expect({ args, ...outcome }).toMatchObject({
      exitCode,
      stderr: expect.stringContaining(sentence),
    })
    expect(existsSync(join(folder.path, 'ran'))).toBe(false)
  }
})
