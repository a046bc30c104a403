import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { filesByHash } from '../blobs/files'
import { temporaryFolder } from '../setup'
import { hashOf } from '../contract/content-fixture'
import { archiveOf, blobLine } from '../domain/transfer/archive-setup'
import { lines as ndjson } from '../domain/transfer/setup'
import { callMain } from './api'
import {
  type Outcome,
  pushSchema,
  satchel,
  satchelJson,
  serve,
  type Served,
  type Surroundings,
} from './setup'
import { until } from '../timing'

interface Begun {
  readonly importing: Promise<Outcome>
  readonly isTime: () => boolean | Promise<boolean>
}

/** Kills a server when it is time. An import that ended before that is begun again in a new folder. */
async function killedMidway(begin: (at: Surroundings, server: Served) => Promise<Begun>) {
  for (;;) {
    using undo = new DisposableStack()
    const surroundings = { cwd: undo.use(temporaryFolder()).path }
    await using server = await serve(surroundings)
    const { importing, isTime } = await begin(surroundings, server)
    while (!(await isTime())) await Bun.sleep(1)
    server.kill('SIGKILL')
    const outcome = await importing
    if (outcome.exitCode === 0) continue
    const parts = undo.move()
    const data = join(surroundings.cwd, 'data/databases/main')
    const { pid } = server
    return { surroundings, data, outcome, pid, [Symbol.dispose]: () => parts.dispose() }
  }
}

const OBJECTS = 40_000

/** An import that has begun is finished by the next start, each object once (design.md §6). */
test('an import goes on after kill -9', async () => {
  const lines = Array.from({ length: OBJECTS }, (_, n) => JSON.stringify({ id: `it${n}`, n }))
  using killed = await killedMidway(async (at, { ready }) => {
    await Bun.write(join(at.cwd, 'items.ndjson'), lines.join('\n'))
    await pushSchema(at, { items: 'id' })
    const into = ['import', 'items.ndjson', '--table', 'items', '--realm', 'rlm-public']
    const importing = satchel(into, at)
    const first = () => callMain(ready).get<unknown[]>('/public/items?$limit=1')
    return { importing, isTime: async () => (await first()).length > 0 }
  })
  const { surroundings, outcome, pid } = killed
  expect(outcome.exitCode).toBe(1)
  expect(outcome.stderr).toContain(
    `The server (process ${pid}) stopped before the command was done`,
  )
  const imports = join(killed.data, 'imports')
  expect(readdirSync(imports)).toHaveLength(1)
  await using server = await serve(surroundings)
  const anybody = callMain(server.ready)
  let found: unknown[] = []
  await until(async () => {
    found = await anybody.get<unknown[]>('/public/items')
    return found.length >= OBJECTS
  })
  expect(found).toHaveLength(OBJECTS)
  expect(found).toMatchObject([{ id: 'it0', n: 0 }, { id: 'it1', n: 1 }, ...found.slice(2)])
  await until(() => readdirSync(imports).length === 0)
})

const BLOBS = 400

/** No bytes without a blob, and no blob without its bytes, wherever it ends (promise 4 of blobs). */
test('an import of blobs goes on after kill -9, and leaves no files behind', async () => {
  const contents = Array.from({ length: BLOBS }, (_, n) => `bytes of ${n} `.repeat(500))
  const archive = await archiveOf([
    { name: 'data.ndjson', content: '{"type":"schema","tables":{}}\n' },
    ...contents.map((content) => ({ name: `blobs/${hashOf(content)}`, content })),
    { name: 'blobs.ndjson', content: ndjson(...contents.map((it, n) => blobLine(`b${n}`, it))) },
  ])
  const storedIn = (data: string) => [...filesByHash(join(data, 'blobs')).keys()].toSorted()
  using killed = await killedMidway(async (at) => {
    await Bun.write(join(at.cwd, 'all.zip'), archive)
    const importing = satchel(['import', 'all.zip'], at)
    const data = join(at.cwd, 'data/databases/main')
    return { importing, isTime: () => storedIn(data).length >= BLOBS / 4 }
  })
  const { surroundings, data, outcome } = killed
  expect(outcome.exitCode).toBe(1)
  const stored = () => storedIn(data)
  await using server = await serve(surroundings)
  await until(() => readdirSync(join(data, 'imports')).length === 0)
  expect(stored()).toEqual(contents.map(hashOf).toSorted())
  const verified = await satchelJson<{ faults: unknown[] }>(['blob', 'verify'], surroundings)
  expect(verified.faults).toEqual([])
  const exported = await satchelJson<unknown>(['export', 'again.zip'], surroundings)
  expect(exported).toEqual({ objects: 0, blobs: BLOBS, leftOut: 0, damaged: [] })
  expect((await fetch(`${server.ready.url}/ready`)).status).toBe(200)
})
