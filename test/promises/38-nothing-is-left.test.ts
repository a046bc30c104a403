import { expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../timing'
import { ALICE } from '../http/setup'
import { type Executable, setupExecutable } from './setup'

/**
 * Promise 38, in short: work of every kind leaves no descriptor behind, and the log of the database
 * stays below 64 MiB. `bun run lab` measures memory for as long as it is told to.
 */

const MIB = 1024 * 1024

test('promise 38: requests that end in every way leave no descriptor open', async () => {
  await using executable = await setupExecutable()
  const root = await executable.root()
  const objects = Array.from({ length: 1_000 }, (_, n) => ({
    id: `o${n}`,
    text: 'x'.repeat(2_000),
  }))
  await root.post('/public/plain', objects, { prefer: 'return=minimal' })
  await burst(executable)
  // Idle connections of this process are used again.
  const before = descriptorsOf(executable)
  for (let turn = 0; turn < 3; turn += 1) await burst(executable)
  // A leak of one kind would leave thirty; idle connections may be a few more than before.
  await until(() => descriptorsOf(executable) <= before + 5)
  expect(descriptorsOf(executable)).toBeLessThanOrEqual(before + 5)
})

async function burst(executable: Executable): Promise<void> {
  const { anyone, main } = executable
  const alice = await executable.as(ALICE)
  const headers = { authorization: `Bearer ${alice.token}` }
  for (let turn = 0; turn < 10; turn += 1) {
    const id = `b${turn}`
    await alice.post('/my/plain', { id })
    await alice.send('PUT', `/blob/${id}`, { body: 'bytes' })
    await anyone.get('/blob/1:none')
    await anyone.get('/my/plain')
    await alice.get('/my/none')
    await alice.post('/my/plain', { id: 1 })
    await leaveEarly(`${main}/public/plain`, { headers })
    const rest = new ReadableStream({
      pull: async (controller) => {
        await Bun.sleep(1)
        controller.enqueue(Buffer.alloc(1_000))
      },
    })
    await leaveEarly(`${main}/blob/long${turn}`, { headers, method: 'PUT', body: rest })
    await (await fetch(`${main}/blob/1:${id}`, { headers })).arrayBuffer()
    await alice.remove(`/my/plain/${id}`)
  }
}

/** Closes the connection in the middle of the request or of its answer. */
async function leaveEarly(url: string, init: RequestInit): Promise<void> {
  const signal = AbortSignal.timeout(20)
  await fetch(url, { ...init, signal }).then(
    (answer) => answer.body?.cancel(),
    () => undefined,
  )
}

function descriptorsOf({ served }: Executable): number {
  return readdirSync(`/proc/${served.pid}/fd`).length
}

test('promise 38: the log of the database stays below 64 MiB, whatever is written', async () => {
  await using executable = await setupExecutable()
  const root = await executable.root()
  const file = join(executable.folder, 'databases', 'main', 'database.sqlite')
  let largest = 0
  for (let turn = 0; turn < 6; turn += 1) {
    const objects = Array.from({ length: 1_000 }, (_, n) => {
      return { id: `${turn}-${n}`, text: 'x'.repeat(14_000) }
    })
    const { status } = await root.post('/public/plain', objects, { prefer: 'return=minimal' })
    expect(status).toBe(204)
    largest = Math.max(largest, statSync(`${file}-wal`).size)
  }
  expect(largest).toBeLessThan(64 * MIB)
  await until(() => statSync(file).size > 64 * MIB)
})
