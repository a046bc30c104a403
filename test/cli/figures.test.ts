import { expect, test } from 'bun:test'
import { createTestClock } from '../auth/setup'
import { setupDataFolder } from '../control/setup'
import { temporaryFolder, startAgain } from '../setup'
import { until } from '../timing'
import { runJson, runSatchel } from './setup'

const SECOND = 1_000

test('prints a line for each minute, and all figures as JSON', async () => {
  using folder = temporaryFolder()
  const clock = createTestClock()
  let sample = () => undefined as void
  const every = (ms: number, work: () => void) => {
    if (ms === 10 * SECOND) sample = work
    return { [Symbol.dispose]() {} }
  }
  await using server = await startAgain(folder.path, clock, {}, { every })
  const data = ['--data', folder.path]
  const early = await runSatchel(['figures', ...data])
  expect(early).toMatchObject({
    exitCode: 0,
    stdout: 'The first figures come within ten seconds\n',
  })
  for (let turn = 0; turn < 20; turn += 1)
    expect((await fetch(`${server.url}/none`)).status).toBe(404)
  for (let turn = 0; turn < 7; turn += 1) {
    clock.advance(10 * SECOND)
    sample()
  }
  const { data: figures } = await runJson<{ readonly data: readonly object[] }>([
    'figures',
    ...data,
  ])
  expect(figures).toHaveLength(7)
  expect(figures[0]).toMatchObject({
    at: '2030-01-01T12:00:10.000Z',
    requests: 2,
    failures: 0,
    medianMs: expect.any(Number),
    memoryBytes: expect.any(Number),
  })
  await until(async () => {
    sample()
    return /"freeBytes":\d/.test(JSON.stringify(await runJson(['figures', ...data])))
  })
  const { stdout } = await runSatchel(['figures', ...data])
  const [heading = '', ...lines] = stdout.trimEnd().split('\n')
  expect(heading).toMatch(/^TIME +REQUESTS\/S +FAILED\/S +HALF IN +95 % IN +COMMITS\/S/)
  expect(lines.length).toBeGreaterThanOrEqual(2)
  expect(lines.at(-1)).toMatch(/^12:01:10 +0\.0 +0\.0 .* MB +[\d.]+ [GT]B$/)
})

test('says that no server runs', async () => {
  using folder = temporaryFolder()
  {
    await using made = await setupDataFolder(folder.path)
    await made.hosts.create('main')
  }
  const { exitCode, stderr } = await runSatchel(['figures', '--data', folder.path])
  expect(exitCode).toBe(1)
  expect(stderr).toContain('server')
})
