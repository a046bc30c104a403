import { expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
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
  const ended = await end(folder.path, async (executable) => {
    const alice = await executable.as(ALICE)
    const stored = await alice.send('POST', '/my/items', { body: BODY, headers: MINIMAL })
    expect(stored.status).toBe(204)
    const again = BODY.replaceAll('SE', 'NO')
    return [
      alice
        .send('POST', '/my/items', { body: again, headers: MINIMAL })
        .then(({ status }) => status),
      alice.get('/my/items').then((list) => objectsOf(list).length),
    ]
  })
  expect(ended.results).toEqual([204, COUNT])
  expect(ended.log).not.toContain('were aborted')
  await using restarted = await startExecutable(folder.path, { client: ended.client })
  const alice = await restarted.as(ALICE)
  expect(objectsOf(await alice.get('/my/items?country=NO'))).toHaveLength(COUNT)
})

test('promise 45: SIGTERM does not wait for work whose caller has gone, and stores no part of it', async () => {
  using folder = temporaryFolder()
  const ended = await end(folder.path, async (executable) => {
    const { token } = await executable.as(ALICE)
    for (let n = 0; n < 5; n += 1) {
      const leaving = fetch(`${executable.main}/my/items`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: BODY.replaceAll('"o', `"${n}-`),
        signal: AbortSignal.timeout(150 + n),
      })
      void leaving.catch(() => undefined)
    }
    await Bun.sleep(300)
    return []
  })
  expect(ended.log).not.toContain('were aborted')
  await using restarted = await startExecutable(folder.path, { client: ended.client })
  const alice = await restarted.as(ALICE)
  expect(objectsOf(await alice.get('/my/items')).length % COUNT).toBe(0)
})

const MINIMAL = { prefer: 'return=minimal' }

/** Sends SIGTERM while the requests of `begin` are in flight, and returns their results. */
async function end(
  folder: string,
  begin: (executable: Executable) => Promise<readonly Promise<number>[]>,
) {
  await using executable = await startExecutable(folder)
  const { served, client } = executable
  const requests = await begin(executable)
  await Bun.sleep(100)
  // What arrived before this one has begun.
  await executable.anyone.get('/public/plain')
  served.kill('SIGTERM')
  const results = await Promise.all(requests)
  expect(await served.exited).toBe(0)
  const wal = join(folder, 'databases', 'main', 'database.sqlite-wal')
  expect(statSync(wal, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
  expect(existsSync(join(folder, 'holder.json'))).toBe(false)
  return { results, client, log: await served.log }
}
