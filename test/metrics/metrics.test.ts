import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config'
import { runSatchel } from '../cli/setup'
import { setupServer, temporaryFolder } from '../setup'

async function setup(flags: Readonly<Record<string, unknown>> = {}) {
  const server = await setupServer({ metrics: '127.0.0.1:0', ...flags })
  const line = server.lines.find((each) => each.includes('Metrics are served')) ?? '{}'
  const { url } = JSON.parse(line) as { url: string }
  return {
    ...server,
    scrape: (init: RequestInit = {}, path = url) => fetch(path, init),
    url,
  }
}

test('a scrape has each sample below its type, and no names', async () => {
  await using server = await setup()
  await fetch(`${server.main}/all/hiddenTable/hiddenKey`)
  const answer = await server.scrape()
  const text = await answer.text()
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4')
  const types = new Map<string, string>()
  for (const line of text.trimEnd().split('\n')) {
    const [, name = '', type = ''] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? []
    if (name !== '') types.set(name, type)
    if (line.startsWith('#')) continue
    const [, sample = ''] =
      /^([a-z_]+)(?:\{(?:[a-z]+="[^"\\]*",?)+\})? (?:[\d.e+-]+)$/.exec(line) ?? []
    const family = types.has(sample) ? sample : sample.replace(/_(?:bucket|sum|count)$/, '')
    expect([line, types.has(family)]).toEqual([line, true])
  }
  expect(text).toContain('route="/:database/all/:table/:key",method="GET",status="4xx"')
  expect(text).not.toMatch(/hidden|"main"/)
})

test('a scrape by OpenMetrics ends with its mark', async () => {
  await using server = await setup()
  const answer = await server.scrape({ headers: { accept: 'application/openmetrics-text' } })
  expect(answer.headers.get('content-type')).toContain('application/openmetrics-text')
  expect(await answer.text()).toEndWith('\n# EOF\n')
})

test('databases are named when that is asked for', async () => {
  await using server = await setup({ metricsNames: true })
  expect(await (await server.scrape()).text()).toContain('satchel_database_bytes{database="main"}')
})

test('a scrape tells how many objects and users there are, which nobody counts', async () => {
  await using server = await setup({ metricsNames: true })
  const pushed = { input: '{"things":"@id"}' }
  await runSatchel(['schema', 'push', '-', '--data', server.folder], pushed)
  const post = async (path: string, body: unknown, sub?: string) => {
    const token = await server.token(sub === undefined ? {} : { sub })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(server.main + path, init)).status
  }
  const things = [{ title: 'a' }, { title: 'b' }]
  expect(await post('/my/things', things, 'a@example.com')).toBe(200)
  const user = { userId: 'b@example.com', type: 'prod', data: null }
  expect(await post('/users', [user])).toBe(200)
  const text = await (await server.scrape()).text()
  for (const line of [
    'satchel_objects 2',
    'satchel_users 2',
    'satchel_database_objects{database="main"} 2',
    'satchel_database_users{database="main"} 2',
  ]) {
    expect(text.split('\n')).toContain(line)
  }
})

test('a scrape needs a known host, the path and GET', async () => {
  await using server = await setup()
  const foreign = await server.scrape({ headers: { host: 'attacker.example' } })
  const posted = await server.scrape({ method: 'POST' })
  const elsewhere = await server.scrape({}, new URL('/', server.url).href)
  expect([foreign.status, posted.status, elsewhere.status]).toEqual([421, 405, 404])
})

test('a scrape needs the token of the file', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'token')
  writeFileSync(file, 'a-token-of-the-test\n')
  await using server = await setup({ metricsTokenFile: file })
  const statusWith = async (authorization: string) =>
    (await server.scrape({ headers: { authorization } })).status
  expect((await server.scrape()).status).toBe(401)
  expect(await statusWith('Bearer another-token-here')).toBe(401)
  expect(await statusWith('Bearer a-token-of-the-test')).toBe(200)
})

test('settings of metrics that do not fit are refused', () => {
  const read = (flags: object) => () => readConfig({ environment: {}, flags: { ...flags } })
  expect(read({ metrics: '0.0.0.0:9464' })).toThrow('needs --metrics-token-file')
  expect(read({ metrics: '9464' })).toThrow('--metrics must be')
  expect(read({ metricsNames: true })).toThrow('--metrics-names needs --metrics')
  expect(read({ metricsTokenFile: 'x' })).toThrow('--metrics-token-file needs --metrics')
})
