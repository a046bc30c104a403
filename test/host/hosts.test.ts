import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { startJob } from '../../src/domain/job/job'
import type { BlobStore } from '../../src/domain/store/blob-store'
import type { Database } from '../../src/domain/store/store'
import { openHost } from '../../src/host/host'
import { createHosts } from '../../src/host/hosts'
import { codeOf } from '../auth/setup'
import { setupHosts } from './setup'
import { turns, until } from '../timing'

test('opens a database once, however many callers ask for it at the same time', async () => {
  await using server = setupHosts()
  const { hosts, opened } = server
  await hosts.create('main')
  const all = await Promise.all(Array.from({ length: 10 }, () => hosts.open('main')))
  expect(new Set(all).size).toBe(1)
  expect(hosts.findOpen('main')).toBe(all[0])
  expect(opened).toEqual(['main'])
})

test('refuses unknown names again and again', async () => {
  await using server = setupHosts()
  for (const name of ['none', 'none', '../etc', '']) {
    expect(await codeOf(() => server.hosts.open(name))).toBe('UNKNOWN_DATABASE')
  }
  await server.hosts.create('none')
  expect((await server.hosts.open('none')).name).toBe('none')
})

test('closes what was not used lately when more are open than it keeps', async () => {
  await using server = setupHosts({ kept: 2, sweepEvery: 100 })
  const { hosts } = server
  for (const name of ['a', 'b', 'c', 'd']) await hosts.create(name)
  using held = await hosts.hold('a')
  const isOpen = (name: string) => hosts.findOpen(name) !== undefined
  await until(async () => {
    await hosts.findOpen('b')?.database.read((tx) => tx.clients.list())
    return !isOpen('c') && !isOpen('d')
  })
  expect(['a', 'b', 'c', 'd'].map(isOpen)).toEqual([true, true, false, false])
  expect(await held.opened.database.read((tx) => tx.clients.list())).toEqual([])
  const again = await hosts.open('c')
  expect(await again.database.read((tx) => tx.clients.list())).toEqual([])
})

test('holds a database that is being opened anew as soon as it is open again', async () => {
  await using server = setupHosts()
  const { hosts } = server
  await hosts.create('a')
  const reopening = hosts.reopen('a', async () => undefined)
  using held = await hosts.hold('a')
  expect(await held.opened.database.read((tx) => tx.clients.list())).toEqual([])
  expect(held.opened).toBe(await reopening)
})

test('a check of all databases keeps none of them open', async () => {
  await using server = setupHosts({ kept: 1 })
  const { hosts } = server
  for (const name of ['a', 'b', 'c']) await hosts.create(name)
  const openOnes = () => ['a', 'b', 'c'].filter((name) => hosts.findOpen(name) !== undefined)
  await until(async () => {
    await hosts.check()
    return openOnes().length === 1
  })
  await hosts.check()
  expect(openOnes().length).toBeLessThanOrEqual(1)
})

test('keeps everything open while there is room', async () => {
  await using server = setupHosts({ kept: 2, sweepEvery: 1 })
  const { hosts } = server
  for (const name of ['a', 'b']) await hosts.create(name)
  await turns()
  expect(hosts.findOpen('a')).toBeDefined()
  expect(hosts.findOpen('b')).toBeDefined()
})

test('a database that is removed while it is used is gone, and its name is free', async () => {
  await using server = setupHosts()
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
  const secretKey = async () => {
    if (isBroken) throw new Error('broken')
    return new Uint8Array(32)
  }
  await using server = setupHosts({}, { secretKey })
  const { hosts, store } = server
  const failureOf = (work: Promise<unknown>) => work.catch((error: unknown) => String(error))
  expect(await failureOf(hosts.create('main'))).toBe('Error: broken')
  expect(await hosts.list()).toEqual([])
  await store.create('main')
  expect(await failureOf(hosts.open('main'))).toBe('Error: broken')
  isBroken = false
  expect((await hosts.open('main')).name).toBe('main')
})

test('lets a request wait only a while for a database that opens slowly', async () => {
  const migration = Promise.withResolvers<void>()
  const secretKey = async () => {
    await migration.promise
    return new Uint8Array(32)
  }
  await using server = setupHosts({ openWithin: 20 }, { secretKey })
  const { hosts, store } = server
  await store.create('main')
  const opening = hosts.open('main')
  expect(await hosts.openSoon('main').catch((error: unknown) => error)).toMatchObject({
    code: 'BUSY',
    retryAfter: 5,
    message: expect.stringContaining('"main" is still being opened'),
  })
  migration.resolve()
  expect(await opening).toBe(await hosts.openSoon('main'))
})

test('closes every part that was opened when a later one fails', async () => {
  await using server = setupHosts()
  const { all, hosts, store, context } = server
  await hosts.create('main')
  await all[Symbol.asyncDispose]()
  using timers = countTimers()
  let blobStores = 0
  async function openBlobs(
    ...given: Parameters<typeof context.engine.openBlobs>
  ): Promise<BlobStore> {
    blobStores += 1
    const blobs = await context.engine.openBlobs(...given)
    return {
      ...blobs,
      async [Symbol.asyncDispose]() {
        blobStores -= 1
        await blobs[Symbol.asyncDispose]()
      },
    }
  }
  // The mailer subscribes first, after the authority the blob keeper, the runner of the jobs last.
  const outcomes: unknown[] = []
  for (const failing of [0, 1, 2, 3]) {
    const watched = failAfter(failing, await store.open('main'))
    const engine = { ...context.engine, openBlobs }
    const opening = openHost(() => watched.database, { ...context, engine })
    outcomes.push(
      await opening.then(
        (host) => host[Symbol.asyncDispose](),
        (error: unknown) => String(error),
      ),
    )
    expect(watched.state()).toEqual({ isOpen: false, listeners: 0 })
    expect({ blobStores, timers: timers.running() }).toEqual({ blobStores: 0, timers: 0 })
  }
  const failure = 'Error: no more listeners'
  expect(outcomes).toEqual([failure, failure, failure, undefined])
})

/** A database that refuses listeners after so many. */
function failAfter(most: number, inner: Database) {
  let isOpen = true
  let added = 0
  let listeners = 0
  const database: Database = {
    ...inner,
    onCommit(listener) {
      if (added === most) throw new Error('no more listeners')
      added += 1
      listeners += 1
      const stop = inner.onCommit(listener)
      return () => {
        listeners -= 1
        stop()
      }
    },
    async [Symbol.asyncDispose]() {
      isOpen = false
      await inner[Symbol.asyncDispose]()
    },
  }
  return { database, state: () => ({ isOpen, listeners }) }
}

/** Counts the intervals that run, until disposed. */
function countTimers() {
  const { setInterval: start, clearInterval: stop } = globalThis
  const running = new Set<unknown>()
  globalThis.setInterval = Object.assign((...given: Parameters<typeof start>) => {
    const timer = start(...given)
    running.add(timer)
    return timer
  }, start)
  globalThis.clearInterval = (timer?: unknown) => {
    running.delete(timer)
    stop(timer as Timer)
  }
  return {
    running: () => running.size,
    [Symbol.dispose]() {
      globalThis.setInterval = start
      globalThis.clearInterval = stop
    },
  }
}

test('runs the jobs of a database and closes it again when there is no room for it', async () => {
  await using server = setupHosts({ kept: 1, sweepEvery: 60_000 })
  const { hosts, store } = server
  for (const name of ['a', 'b']) {
    await using database = await store.create(name)
    await database.write((tx) => startJob(tx, 'erase', { realm: 4711 }, 0))
  }
  const jobsOf = async (name: string) => {
    const { database } = await hosts.open(name)
    return await database.read((tx) => tx.jobs.list())
  }
  await hosts.resume('a')
  await hosts.resume('b')
  expect(hosts.findOpen('a')).toBeDefined()
  expect(hosts.findOpen('b')).toBeUndefined()
  expect([await jobsOf('a'), await jobsOf('b')]).toEqual([[], []])
})

test('long jobs of one database do not hold up those of the next', async () => {
  await using server = setupHosts()
  const { store, context } = server
  for (const name of ['a', 'b', 'c']) {
    await using database = await store.create(name)
    await database.write((tx) => startJob(tx, 'erase', { realm: 4711 }, 0))
  }
  const done = Promise.withResolvers<void>()
  await using all = createHosts({
    store,
    resumeWithin: 20,
    async open(through) {
      const host = await openHost(through, context)
      if (host.name !== 'a') return host
      return { ...host, jobs: { ...host.jobs, idle: () => done.promise } }
    },
  })
  const hosts = all.at('test')
  const failed: string[] = []
  await hosts.resumeAll(['a', 'none', 'b', 'c'], (name) => void failed.push(name))
  const jobsOf = async (name: string) =>
    (await hosts.open(name)).database.read((tx) => tx.jobs.list())
  for (const name of ['b', 'c']) await until(async () => (await jobsOf(name)).length === 0)
  expect(failed).toEqual(['none'])
  done.resolve()
})

test('opens nothing any more when it is closing', async () => {
  await using server = setupHosts()
  await server.hosts.create('main')
  await server.all[Symbol.asyncDispose]()
  expect(await codeOf(() => server.hosts.open('main'))).toBe('BUSY')
})
