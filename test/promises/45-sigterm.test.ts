import { expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beginUpload, type RawUpload } from '../http/blob-setup'
import { ALICE, objectsOf } from '../http/setup'
import { temporaryFolder } from '../setup'
import { type Executable, startExecutable } from './setup'

/**
 * Promise 45: SIGTERM finishes what is in flight, however heavy it is, and ends work whose caller has
 * gone. Signals during small requests are in `test/binary/lifecycle.test.ts`.
 */

const COUNT = 5_000

/** A unit of work that takes a fifth of a second: one that is fifty times slower still ends before it is aborted. */
const BODY = JSON.stringify(
  Array.from({ length: COUNT }, (_, n) => ({ id: `o${n}`, country: 'SE' })),
)

test('promise 45: SIGTERM answers a large write and a large list that are in flight', async () => {
  using folder = temporaryFolder()
  const ended = await end(folder.path, async ({ url, ...executable }) => {
    const alice = await executable.as(ALICE)
    const stored = await alice.send('POST', '/my/items', { body: BODY, headers: MINIMAL })
    expect(stored.status).toBe(204)
    const [write, list] = [begin(url, alice.token, BODY.length), begin(url, alice.token)]
    await Promise.all([write.begun, list.begun])
    write.send(BODY.replaceAll('SE', 'NO'))
    return [write, list]
  })
  const [write = '', list = ''] = ended.received
  expect(write.slice(0, 12)).toBe('HTTP/1.1 204')
  expect(list.match(/"id":/g)).toHaveLength(COUNT)
  expect(ended.log).not.toContain('were aborted')
  await using restarted = await startExecutable(folder.path, { client: ended.client })
  const alice = await restarted.as(ALICE)
  expect(objectsOf(await alice.get('/my/items?country=NO'))).toHaveLength(COUNT)
})

test('promise 45: SIGTERM does not wait for work whose caller has gone, and stores no part of it', async () => {
  using folder = temporaryFolder()
  const ended = await end(folder.path, async ({ url, ...executable }) => {
    const { token } = await executable.as(ALICE)
    for (let n = 0; n < 5; n += 1) {
      const body = BODY.replaceAll('"o', `"${n}-`)
      using leaving = begin(url, token, body.length)
      await leaving.begun
      await new Promise((resolve) => leaving.socket.write(body, resolve))
      // The body arrived before this one.
      await executable.anyone.get('/public/plain')
    }
    return []
  })
  expect(ended.log).not.toContain('were aborted')
  await using restarted = await startExecutable(folder.path, { client: ended.client })
  const alice = await restarted.as(ALICE)
  expect(objectsOf(await alice.get('/my/items')).length % COUNT).toBe(0)
})

const MINIMAL = { prefer: 'return=minimal' }

/** A write of so many bytes, or a list. */
function begin(url: string, token: string | undefined, bytes?: number): RawUpload {
  const method = bytes === undefined ? 'GET' : 'POST'
  const minimal = 'Prefer: return=minimal\r\n'
  return beginUpload(url, token, '/main/my/items', bytes ?? 0, method, minimal)
}

/** Sends SIGTERM while the requests of `start` are in flight, and returns all they receive. */
async function end(
  folder: string,
  start: (executable: Executable) => Promise<readonly RawUpload[]>,
) {
  await using executable = await startExecutable(folder)
  const { served, client } = executable
  const requests = await start(executable)
  // What arrived before this one has begun.
  await executable.anyone.get('/public/plain')
  served.kill('SIGTERM')
  for (const { closed } of requests) await closed
  expect(await served.exited).toBe(0)
  const wal = join(folder, 'databases', 'main', 'database.sqlite-wal')
  expect(statSync(wal, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
  expect(existsSync(join(folder, 'holder.json'))).toBe(false)
  return { received: requests.map(({ received }) => received), client, log: await served.log }
}
