import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config'
import { startJob } from '../../src/domain/job/job'
import type { JobStep } from '../../src/domain/job/job-runner'
import { createHosts, type HostsParts } from '../../src/host/hosts'
import { createServices } from '../../src/host/services'
import { createSqliteStore } from '../../src/sqlite/store'
import { codeOf, createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

const SECRET_KEY = Buffer.alloc(32).toString('base64')
const CONFIG = readConfig({ environment: { SATCHEL_SECRET_KEY: SECRET_KEY } })

function setup(parts: Partial<HostsParts> = {}) {
  using undo = new DisposableStack()
  const folder = undo.use(temporaryFolder())
  const clock = createTestClock()
  const opened: string[] = []
  const store = createSqliteStore(folder.path, { clock, durability: 'none' })
  const hosts = createHosts({
    store,
    openServices(database) {
      opened.push(database.name)
      return createServices(CONFIG, clock)(database)
    },
    async tidy() {},
    jobSteps: () => ({}),
    jobFailed() {},
    sweepEvery: 20,
    ...parts,
  })
  const rest = undo.move()
  return {
    hosts,
    opened,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await hosts[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      rest.dispose()
    },
  }
}

test('opens a database once, however many ask for it at the same time', async () => {
  await using server = setup()
  const { hosts, opened } = server
  await hosts.create('main')
  const all = await Promise.all(Array.from({ length: 10 }, () => hosts.open('main')))
  expect(new Set(all).size).toBe(1)
  expect(hosts.findOpen('main')).toBe(all[0])
  expect(opened).toEqual(['main'])
})

test('refuses unknown names again and again', async () => {
  await using server = setup()
  for (const name of ['none', 'none', '../etc', '']) {
    expect(await codeOf(() => server.hosts.open(name))).toBe('UNKNOWN_DATABASE')
  }
  await server.hosts.create('none')
  expect((await server.hosts.open('none')).name).toBe('none')
})

test('closes what nobody has used lately when more are open than it keeps', async () => {
  await using server = setup({ kept: 2 })
  const { hosts } = server
  for (const name of ['a', 'b', 'c', 'd']) await hosts.create(name)
  using held = await hosts.hold('a')
  for (let i = 0; i < 8; i++) {
    await hosts.findOpen('b')?.database.read((tx) => tx.clients.list())
    await Bun.sleep(20)
  }
  expect(['a', 'b', 'c', 'd'].map((name) => hosts.findOpen(name) !== undefined)).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect(await held.database.read((tx) => tx.clients.list())).toEqual([])
  const again = await hosts.open('c')
  expect(await again.database.read((tx) => tx.clients.list())).toEqual([])
})

test('keeps everything open while there is room', async () => {
  await using server = setup({ kept: 2 })
  const { hosts } = server
  for (const name of ['a', 'b']) await hosts.create(name)
  await Bun.sleep(120)
  expect(hosts.findOpen('a')).toBeDefined()
  expect(hosts.findOpen('b')).toBeDefined()
})

test('a database that is removed while it is used is gone, and its name is free', async () => {
  await using server = setup()
  const { hosts, folder } = server
  const { database } = await hosts.create('main')
  const writing = database.write((tx) => tx.origins.put({ id: 'https://a.example', created: 0 }))
  await Promise.all([hosts.remove('main'), writing])
  expect(hosts.findOpen('main')).toBeUndefined()
  expect(existsSync(join(folder, 'databases/main'))).toBe(false)
  expect(await codeOf(() => hosts.open('main'))).toBe('UNKNOWN_DATABASE')
  expect(await codeOf(() => hosts.remove('main'))).toBe('UNKNOWN_DATABASE')
  const remade = await hosts.create('main')
  expect(await remade.database.read((tx) => tx.origins.list())).toEqual([])
})

test('is not asked twice when opening fails, and can be asked again', async () => {
  let isBroken = true
  await using server = setup({
    async tidy() {
      if (isBroken) throw new Error('broken')
    },
  })
  const { hosts } = server
  const refused = await hosts.create('main').catch((error: unknown) => String(error))
  expect(refused).toBe('Error: broken')
  isBroken = false
  expect((await hosts.open('main')).name).toBe('main')
})

test('works off the jobs of a database and closes it again when there is no room for it', async () => {
  const done: string[] = []
  const erase: JobStep = async (database) => {
    done.push(database.name)
    return 'done'
  }
  await using server = setup({ kept: 1, sweepEvery: 60_000 })
  for (const name of ['a', 'b']) {
    const { database } = await server.hosts.create(name)
    await database.write((tx) => startJob(tx, 'erase', {}, 0))
  }
  await server.hosts[Symbol.asyncDispose]()
  const clock = createTestClock()
  const store = createSqliteStore(server.folder, { clock, durability: 'none' })
  await using hosts = createHosts({
    store,
    openServices: createServices(CONFIG, clock),
    async tidy() {},
    jobSteps: () => ({ erase }),
    jobFailed() {},
    kept: 1,
  })
  await hosts.resume('a')
  await hosts.resume('b')
  expect(done).toEqual(['a', 'b'])
  expect(hosts.findOpen('a')).toBeDefined()
  expect(hosts.findOpen('b')).toBeUndefined()
})

test('opens nothing any more when it is closing', async () => {
  await using server = setup()
  await server.hosts.create('main')
  await server.hosts[Symbol.asyncDispose]()
  expect(await codeOf(() => server.hosts.open('main'))).toBe('BUSY')
})
