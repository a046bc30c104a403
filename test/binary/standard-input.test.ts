import { expect, test } from 'bun:test'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, type Ready, satchel } from './setup'

const SCHEMA = JSON.stringify({ todos: '@id, title' })
const SEED = JSON.stringify({ data: { 'rlm-public': { todos: { one: { title: 'first' } } } } })

interface TestReady extends Ready {
  readonly test: { readonly token: string }
}

/** Starts a server for tests that reads this input, and asks it for the public rows before and after a reset. */
async function titles(cwd: string, input: string, ...args: string[]) {
  const command = ['serve', '--memory', '--test', '--port', '0', '--json', ...args]
  const server = Bun.spawn([EXECUTABLE, ...command], {
    cwd,
    env: { XDG_RUNTIME_DIR: '/dev/null' },
    stdin: new Blob([input]),
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const { value } = await server.stdout.getReader().read()
  const ready = JSON.parse(new TextDecoder().decode(value)) as TestReady
  const read = async () => {
    const answer = await fetch(`${ready.url}/main/public/todos`)
    const rows = (await answer.json()) as readonly { readonly title: string }[]
    return answer.ok ? rows.map(({ title }) => title) : answer.status
  }
  const first = await read()
  const headers = { authorization: `Bearer ${ready.test.token}` }
  const reset = await fetch(`${ready.url}/main/_test/reset`, { method: 'POST', headers })
  const second = await read()
  server.kill()
  await server.exited
  return { first, reset: reset.status, second }
}

test('a schema, a seed or both come from standard input, also at a reset', async () => {
  using folder = temporaryFolder()
  const { path } = folder
  await Bun.write(`${path}/schema.json`, SCHEMA)
  await Bun.write(`${path}/seed.json`, SEED)
  const seeded = { first: ['first'], reset: 200, second: ['first'] }
  const empty = { first: [], reset: 200, second: [] }
  const stdin = ['--schema', '-', '--seed', '-']
  expect(await titles(path, SCHEMA, '--schema', '-')).toEqual(empty)
  expect(await titles(path, SEED, '--schema', 'schema.json', '--seed', '-')).toEqual(seeded)
  expect(await titles(path, SCHEMA, '--schema', '-', '--seed', 'seed.json')).toEqual(seeded)
  expect(await titles(path, `${SCHEMA}\n${SEED}`, ...stdin)).toEqual(seeded)
})

test('a mistake in standard input is named as such', async () => {
  using folder = temporaryFolder()
  const serve = async (input: string, ...args: string[]) => {
    const command = ['serve', '--memory', '--test', '--port', '0', ...args]
    const { exitCode, stderr } = await satchel(command, { cwd: folder.path }, new Blob([input]))
    return `${exitCode} ${stderr}`
  }
  const wrong = JSON.stringify({ todos: '++id' })
  expect(await serve(wrong, '--schema', '-')).toMatch(/^1 satchel: standard input: .*todos/s)
  expect(await serve('{', '--schema', '-')).toMatch(/^1 satchel: standard input: /)
  expect(await serve('{', '--seed', '-')).toMatch(/^1 satchel: standard input: /)
  expect(await serve('', '--schema', '-')).toMatch(/^1 satchel: standard input: /)
  // Without a second line there is no seed.
  expect(await serve(SCHEMA, '--schema', '-', '--seed', '-')).toMatch(
    /^1 satchel: standard input: /,
  )
})
