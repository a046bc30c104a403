import { describe, expect, test } from 'bun:test'
import { closeSync, existsSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { openSession } from '../../src/control/session'
import { readHolder } from '../../src/host/holder'
import { createTestClock } from '../auth/setup'
import { callerOf, setupData } from '../http/setup'
import { temporaryFolder, startAgain } from '../setup'
import { mayMount, mountSmallDisk } from '../small-disk'
import { until } from '../timing'

/** Promise 4: a start on a full disk serves reads, after a clean stop and after kill -9. */

const ALICE = 'alice@example.com'

/** The data folder of a server that was stopped, and as it is when the server is killed. */
async function setup() {
  const folder = temporaryFolder()
  const path = (name: string) => join(folder.path, name)
  let token: string | undefined
  {
    await using server = await setupData({ data: path('stopped') })
    const alice = await server.as(ALICE)
    token = alice.token
    for (const id of ['a', 'b', 'c']) await alice.post('/my/plain', { id })
    copy(path('stopped'), path('killed'))
  }
  return { path, token, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

/** A server of a folder that has a database. */
const start = (data: string) => startAgain(data, createTestClock(), { durability: undefined })

/** By a process of its own: one that closes a database file loses all its locks on it. */
function copy(from: string, to: string): void {
  expect(Bun.spawnSync(['cp', '-a', from, to]).exitCode).toBe(0)
}

/** Writes a file until not one byte more has room. */
function fill(file: string): void {
  const descriptor = openSync(file, 'a')
  try {
    for (const size of [65_536, 4_096, 1]) {
      for (const bytes = Buffer.alloc(size); ;) {
        try {
          writeSync(descriptor, bytes)
        } catch {
          break
        }
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

const idsOf = (body: unknown) => (body as readonly { readonly id: string }[]).map(({ id }) => id)

describe.skipIf(!mayMount)('a start on a full disk', () => {
  test.each(['stopped', 'killed'])(
    'serves reads of a server that was %s, and writes and commands once there is room',
    async (state) => {
      using before = await setup()
      using disk = mountSmallDisk('16m')
      const data = join(disk.path, 'data')
      const main = join(data, 'databases', 'main')
      copy(before.path(state), data)
      const ballast = join(disk.path, 'ballast')
      fill(ballast)
      const hasIndex = () => existsSync(join(main, 'database.sqlite-shm'))
      expect(hasIndex()).toBe(state === 'killed')
      // The second start follows a stop on the full disk.
      for (let count = 0; count < 2; count += 1) {
        fill(ballast)
        await using server = await start(data)
        if (state === 'stopped') expect(hasIndex()).toBe(false)
        const alice = callerOf(`${server.url}/main`, before.token)
        expect(idsOf((await alice.get('/my/plain')).body)).toEqual(['a', 'b', 'c'])
        expect(await alice.post('/my/plain', { id: 'd' })).toMatchObject({
          status: 507,
          body: { code: 'STORAGE_FULL' },
        })
        expect((await alice.get('/my/plain/a')).status).toBe(200)
      }
      fill(ballast)
      await using server = await start(data)
      const alice = callerOf(`${server.url}/main`, before.token)
      rmSync(ballast)
      await until(() => readHolder(data)?.address !== undefined)
      const commands = await openSession(data, () => undefined)
      expect(await commands.run('db.list', {})).toMatchObject([{ name: 'main' }])
      expect((await alice.post('/my/plain', { id: 'd' })).status).toBe(200)
      await server.stop()
      expect(readdirSync(main)).not.toContain('database.sqlite-wal')
      await using again = await start(data)
      const rows = await callerOf(`${again.url}/main`, before.token).get('/my/plain')
      expect(idsOf(rows.body)).toEqual(['a', 'b', 'c', 'd'])
    },
  )
})
