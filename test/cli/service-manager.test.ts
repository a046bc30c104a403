import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import process from 'node:process'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { listenForState, PYTHON } from './notify-socket'

const MAIN = join(import.meta.dir, '..', '..', 'src', 'main.ts')
const listens = describe.skipIf(PYTHON === null)

listens('A server that is a service (needs python3: apt-get install python3)', () => {
  for (const isAbstract of [false, true]) {
    const name = isAbstract ? 'an abstract name' : 'a name in a folder'
    test(`tells its manager at ${name} when it is ready, reloads, stops, and that it turns`, async () => {
      using folder = temporaryFolder()
      await using manager = await listenForState(folder.path, isAbstract)
      const server = serve(folder.path, manager.environment)
      const { messages } = manager
      await until(() => messages.some((message) => message.startsWith('READY=1')))
      const url = /READY=1 STATUS=Serving (http:\/\/127\.0\.0\.1:\d+)$/m.exec(
        messages.join('\n'),
      )?.[1]
      expect((await fetch(`${url}/health`)).status).toBe(200)
      const signs = () => messages.filter((message) => message === 'WATCHDOG=1').length
      const before = signs()
      await until(() => signs() > before + 1)
      server.kill('SIGHUP')
      await until(() => messages.some((message) => message.startsWith('RELOADING=1')))
      server.kill('SIGTERM')
      expect(await server.exited).toBe(0)
      await until(() => messages.some((message) => message.startsWith('STOPPING=1')))
      const states = messages.filter((message) => message !== 'WATCHDOG=1')
      expect(states).toEqual([
        `READY=1 STATUS=Serving ${url}`,
        'RELOADING=1 STATUS=Reading the settings again',
        `READY=1 STATUS=Serving ${url}`,
        'STOPPING=1 STATUS=Completing open requests',
      ])
    })
  }

  test('gives no sign of turning to a manager that watches another process', async () => {
    using folder = temporaryFolder()
    await using manager = await listenForState(folder.path)
    const server = serve(folder.path, { ...manager.environment, WATCHDOG_PID: '1' })
    await until(() => manager.messages.length > 0)
    server.kill('SIGTERM')
    await server.exited
    expect(manager.messages).not.toContain('WATCHDOG=1')
  })
})

test('A server serves when the socket of its manager is not there, and logs that once', async () => {
  using folder = temporaryFolder()
  const server = serve(folder.path, { NOTIFY_SOCKET: join(folder.path, 'missing') })
  const log = server.stderr.text()
  await until(async () => (await server.stdout.getReader().read()).value !== undefined)
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  expect((await log).match(/The service manager cannot be told the state/g)).toHaveLength(1)
})

function serve(folder: string, environment: Readonly<Record<string, string>>) {
  return Bun.spawn(
    [process.execPath, MAIN, 'serve', '--json', '-p', '0', '--data', join(folder, 'data')],
    {
      // A session of its own has no terminal, so that SIGHUP reloads.
      detached: true,
      env: { PATH: process.env['PATH'], XDG_RUNTIME_DIR: '/dev/null', ...environment },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
}
