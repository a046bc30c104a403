import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { lookAtDatabase, nameOfNetwork } from '../../src/doctor/folder'
import { setupDataFolder } from '../control/setup'
import { temporaryFolder } from '../setup'

test('network file systems are known by their number, signed or not', () => {
  expect(nameOfNetwork(0x6969)).toBe('NFS')
  expect(nameOfNetwork(0xff534d42 | 0)).toBe('CIFS')
  expect(nameOfNetwork(0xfe534d42)).toBe('SMB')
  expect(nameOfNetwork(0xef53)).toBeNull()
})

test('a look at a database that is closed leaves no file', async () => {
  using folder = temporaryFolder()
  await using made = await setupDataFolder(folder.path)
  await made.hosts.create('main')
  await made[Symbol.asyncDispose]()
  const facts = lookAtDatabase(folder.path, 'main')
  expect(facts).toEqual({
    name: 'main',
    fault: null,
    latestTime: expect.any(Number),
    stoppedJobs: 0,
  })
  expect(existsSync(join(folder.path, 'databases', 'main', 'database.sqlite-shm'))).toBe(false)
})
