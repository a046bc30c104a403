import { expect, test } from 'bun:test'
import { serverLog } from '../../src/log/log'
import { setupServer, temporaryFolder } from '../setup'
import { until } from '../timing'
import { runSatchel } from './setup'

test('log follow prints lines until Ctrl-C', async () => {
  await using server = await setupServer()
  const { promise: interrupt, resolve: press } = Promise.withResolvers<void>()
  const output: Buffer[] = []
  const text = () => Buffer.concat(output).toString()
  const args = ['log', 'follow', '--level', 'warning', '--data', server.folder]
  const following = runSatchel(args, { output, interrupt })
  await until(() => {
    serverLog.warning('Careful\u001b', { path: 'a b' })
    return text() !== ''
  })
  press()
  expect((await following).exitCode).toBe(0)
  expect(text().split('\n')[0]).toBe('12:00:00.000  warning  server  Careful\\u001b  path="a b"')
})

test('log follow needs a server that runs', async () => {
  using folder = temporaryFolder()
  const { exitCode, stderr } = await runSatchel(['log', 'follow', '--data', folder.path])
  expect(exitCode).toBe(1)
  expect(stderr).toContain('No server runs on this data folder')
})
