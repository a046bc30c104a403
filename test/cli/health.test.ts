import { expect, test } from 'bun:test'
import { setupServer, temporaryFolder } from '../setup'
import { runSatchel } from './setup'

test('a server that answers is healthy', async () => {
  await using server = await setupServer()
  const asked = await runSatchel(['health', '--json', '--data', server.folder])
  expect(asked).toMatchObject({ exitCode: 0, stdout: '{"status":"healthy"}\n', stderr: '' })
})

test('a folder without a server is unhealthy, and the answer says why', async () => {
  using folder = temporaryFolder()
  const asked = await runSatchel(['health', '--data', folder.path])
  expect(asked).toMatchObject({ exitCode: 1, stdout: `No server serves ${folder.path}\n` })
})

test('a server that has ended is unhealthy', async () => {
  using folder = temporaryFolder()
  const server = await setupServer({ data: folder.path })
  const { readHolder, writeHolder } = await import('../../src/host/holder')
  const holder = readHolder(folder.path)
  await server.stop()
  if (holder !== undefined) writeHolder(folder.path, holder)
  const asked = await runSatchel(['health', '--json', '--data', folder.path])
  expect(asked.exitCode).toBe(1)
  expect(JSON.parse(asked.stdout)).toMatchObject({
    status: 'unhealthy',
    reason: expect.stringContaining('The server does not answer'),
  })
})
