import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Holder } from '../../src/host/holder'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import {
  EXECUTABLE,
  pushSchema,
  type Ready,
  satchel,
  satchelJson,
  type Served,
  serve,
} from './setup'

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** Commands find the server, or do without one; what they did is the same. */
describe.each(['while a server runs', 'while no server runs'])('%s', (situation) => {
  const folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  const isServed = situation === 'while a server runs'
  let running: Served | undefined

  const run = <T>(...args: string[]) => satchelJson<T>(args, surroundings)

  /** Lets `look` look through a server, within a second of the command that came before. */
  async function see(look: (ready: Ready) => Promise<void>): Promise<void> {
    if (running !== undefined) return await look(running.ready)
    await using server = await serve(surroundings)
    await look(server.ready)
  }

  afterAll(async () => {
    await running?.[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test('a first start makes main', async () => {
    const server = await serve(surroundings)
    expect(server.ready.databases.map(({ name }) => name)).toEqual(['main'])
    if (isServed) running = server
    else await server[Symbol.asyncDispose]()
  })

  test('db', async () => {
    const created = await run<{ url: string | null; client: Credentials }>('db', 'create', 'other')
    expect(created.url).toBe(running === undefined ? null : `${running.ready.url}/other`)
    await see(async ({ url }) => {
      expect((await fetch(`${url}/other/.well-known/jwks.json`)).status).toBe(200)
    })
    const { data } = await run<{ data: { name: string }[] }>('db', 'list')
    expect(data.map(({ name }) => name)).toEqual(['main', 'other'])
    await run('db', 'delete', 'other', '--yes')
    await see(async ({ url }) => {
      expect((await fetch(`${url}/other/.well-known/jwks.json`)).status).toBe(404)
    })
  })

  test('schema and token', async () => {
    const schema = new Blob(['{"todoItems": "@id, title"}'])
    const pushed = await satchel(['schema', 'push', '-'], surroundings, schema)
    expect(pushed).toEqual({ exitCode: 0, stdout: 'Created todoItems\n', stderr: '' })
    expect(await run<unknown>('schema', 'show')).toEqual({
      schema: { todoItems: '@id, title' },
      hidden: {},
      sealed: false,
      building: [],
    })
    const { stdout } = await satchel(['token', '--sub', 'alice@example.com'], surroundings)
    await see(async ({ url }) => {
      const posted = await fetch(`${url}/main/my/todoItems`, {
        method: 'POST',
        headers: { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' },
        body: '{"title": "Buy milk"}',
      })
      expect(posted.status).toBe(200)
      expect(await posted.json()).toMatchObject({ owner: 'alice@example.com' })
    })
  })

  test('a refusal is the same sentence and exit code', async () => {
    const refused = await satchel(['client', 'revoke', 'nobody'], surroundings)
    expect(refused).toEqual({ exitCode: 1, stdout: '', stderr: 'satchel: No client "nobody"\n' })
    const unknown = await satchel(['client', 'list', '--db', 'none', '--json'], surroundings)
    expect(unknown.exitCode).toBe(1)
    expect(JSON.parse(unknown.stderr)).toMatchObject({ error: { code: 'UNKNOWN_DATABASE' } })
  })
})

test('commands at the same time wait for each other', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  await satchelJson(['db', 'create', 'main'], surroundings)
  const names = ['one', 'two', 'three', 'four']
  await Promise.all(names.map((name) => satchelJson(['db', 'create', name], surroundings)))
  const { data: listed } = await satchelJson<{ data: { name: string }[] }>(
    ['db', 'list'],
    surroundings,
  )
  expect(listed.map(({ name }) => name)).toEqual(['four', 'main', 'one', 'three', 'two'])
})

test('a holder on another machine is named, and its folder is left alone', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  await using server = await serve(surroundings)
  const file = join(folder.path, 'data', 'holder.json')
  const holder = (): Promise<Holder> => Bun.file(file).json()
  await until(async () => (await holder()).address !== null)
  await Bun.write(
    file,
    JSON.stringify({ ...(await holder()), host: 'elsewhere', token: 'unknown' }),
  )
  const refused = await satchel(['client', 'list'], surroundings)
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
  expect(refused.stderr).toContain(`process ${server.pid} on elsewhere`)
})

test('an export whose reader goes away says so in one line', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  await satchelJson(['db', 'create', 'main'], surroundings)
  await pushSchema(surroundings, { cities: '@id' })
  const lines = Array.from({ length: 2_000 }, (_, n) => ({ name: 'x'.repeat(500), n }))
  const file = new Blob([JSON.stringify(lines)])
  const list = ['import', '-', '--table', 'cities', '--realm', 'rlm-public']
  expect((await satchel(list, surroundings, file)).exitCode).toBe(0)
  const command = `${EXECUTABLE} export 2> lines | head -1; cat lines`
  const shell = Bun.spawn(['sh', '-c', command], { cwd: folder.path, env: {}, stdout: 'pipe' })
  const [, ...rest] = (await shell.stdout.text()).split('\n')
  expect(rest).toEqual(['satchel: The output was closed before all of it was written', ''])
})

describe('a command that names no data folder, where there is none', () => {
  test('uses that of the one running server, and says which', async () => {
    using runtime = temporaryFolder()
    using one = temporaryFolder()
    using elsewhere = temporaryFolder()
    const environment = { XDG_RUNTIME_DIR: runtime.path }
    await using server = await serve({ cwd: one.path, environment })
    const here = { cwd: elsewhere.path, environment }
    const { exitCode, stdout, stderr } = await satchel(
      ['token', '--sub', 'alice@example.com'],
      here,
    )
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: `satchel: Using the data of the running server, "${join(one.path, 'data')}"\n`,
    })
    const headers = { authorization: `Bearer ${stdout.trim()}` }
    expect((await fetch(`${server.ready.url}/main/token/validate`, { headers })).status).toBe(200)
  })

  test('says so when no server runs, when several run, and when it deletes something', async () => {
    using runtime = temporaryFolder()
    using one = temporaryFolder()
    using other = temporaryFolder()
    using elsewhere = temporaryFolder()
    const environment = { XDG_RUNTIME_DIR: runtime.path }
    const here = { cwd: elsewhere.path, environment }
    const missing = `There is no data folder ${join(elsewhere.path, 'data')}`
    const refusal = async (...args: readonly string[]) => {
      const { exitCode, stderr } = await satchel(args, here, new Blob(['{}']))
      expect(exitCode).toBe(1)
      return stderr
    }
    const ended = await serve({ cwd: one.path, environment })
    ended.kill('SIGKILL')
    await ended.exited
    expect(await refusal('schema', 'show')).toContain(`${missing}: `)
    await using first = await serve({ cwd: one.path, environment })
    for (const args of [
      ['db', 'delete', 'main', '--yes'],
      ['import', '-'],
    ]) {
      expect(await refusal(...args)).toContain(`${missing}: `)
    }
    await using second = await serve({ cwd: other.path, environment })
    const stderr = await refusal('schema', 'show')
    expect(stderr).toContain(`${missing}, and several servers run`)
    for (const { path } of [one, other]) expect(stderr).toContain(join(path, 'data'))
    expect(first.pid).not.toBe(second.pid)
  })
})
