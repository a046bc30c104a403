import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { isAlive, temporaryFolder } from '../setup'
import { until } from '../timing'
import { EXECUTABLE } from './setup'

interface TestReady {
  readonly url: string
  readonly pid: number
  readonly folder: string
  readonly test: { readonly token: string }
}

test('a server for tests ends with its parent, also after kill -9, and leaves nothing', async () => {
  using folder = temporaryFolder()
  const command = `${EXECUTABLE} serve --memory --test --port 0 --json & wait`
  const runner = Bun.spawn(['sh', '-c', command], {
    cwd: folder.path,
    env: {},
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const reader = runner.stdout.getReader()
  const { value } = await reader.read()
  const ready = JSON.parse(new TextDecoder().decode(value)) as TestReady
  expect(ready.test.token).toMatch(/^[\w-]{43}$/)
  expect(isAlive(ready.pid)).toBe(true)
  // Requests in flight keep it no longer.
  const waiting = fetch(`${ready.url}/main/_test/mail?wait=60s`, {
    headers: { authorization: `Bearer ${ready.test.token}` },
  }).then(
    () => 'answered',
    () => 'broken off',
  )
  runner.kill('SIGKILL')
  await runner.exited
  await until(() => !isAlive(ready.pid))
  await waiting
  expect(existsSync(ready.folder)).toBe(false)
})
