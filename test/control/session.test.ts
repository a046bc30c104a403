import { expect, test } from 'bun:test'
import { thisProcess, writeHolder } from '../../src/host/holder'
import { listenForCommands } from '../../src/control/listener'
import { openSession } from '../../src/control/session'
import { codeOf, refusalOf } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { setupDataFolder } from './setup'

test('works directly on a folder that no process holds, and releases it', async () => {
  using folder = temporaryFolder()
  for (const name of ['one', 'two']) {
    await using session = await openSession(folder.path, () => setupDataFolder(folder.path))
    await session.run('db.create', { name })
  }
  await using reopened = await setupDataFolder(folder.path)
  expect(await reopened.hosts.list()).toEqual(['one', 'two'])
})

test('works through the holder of a folder, with the same result', async () => {
  await using folder = await setupDataFolder()
  const listener = listenForCommands(folder, 'token')
  writeHolder(folder.path, { ...thisProcess(), address: listener.address, token: 'token' })
  {
    await using session = await openSession(folder.path, () => undefined)
    await session.run('db.create', { name: 'todo' })
    expect(await session.run('db.list', {})).toEqual([{ name: 'todo', url: null }])
    const unknown = () => session.run('client.list', { database: 'none' })
    expect(await codeOf(unknown)).toBe('UNKNOWN_DATABASE')
  }
  expect(await folder.hosts.list()).toEqual(['todo'])
  await listener.stop(true)
})

test('waits for a command that works on the folder', async () => {
  using folder = temporaryFolder()
  const other = await setupDataFolder(folder.path)
  async function take() {
    const taken = await setupDataFolder(folder.path).catch(() => undefined)
    await other[Symbol.asyncDispose]()
    return taken
  }
  await using session = await openSession(folder.path, take)
  expect(await session.run('db.list', {})).toEqual([])
})

test('gives up on a holder that takes no commands, naming it', async () => {
  using folder = temporaryFolder()
  writeHolder(folder.path, { ...thisProcess(), address: 'http://127.0.0.1:1', token: 'token' })
  const refusal = await refusalOf(() => openSession(folder.path, () => undefined, 2))
  expect(refusal.code).toBe('DATA_FOLDER_IN_USE')
  expect(refusal.message).toContain(`process ${process.pid}`)
})
