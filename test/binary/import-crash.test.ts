import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { filesByHash } from '../blobs/files'
import { temporaryFolder } from '../setup'
import { hashOf } from '../contract/content-fixture'
import { archiveOf, blobLine } from '../domain/transfer/archive-setup'
import { lines as ndjson } from '../domain/transfer/setup'
import { callMain } from './api'
import { pushSchema, satchel, satchelJson, serve } from './setup'
import { until } from '../timing'

const OBJECTS = 40_000

/** An import that has begun is finished by the next start, each object once (design.md §6). */
test('an import goes on after kill -9', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  const lines = Array.from({ length: OBJECTS }, (_, n) => JSON.stringify({ id: `it${n}`, n }))
  const file = join(folder.path, 'items.ndjson')
  await Bun.write(file, lines.join('\n'))
  const into = ['import', file, '--table', 'items', '--realm', 'rlm-public']
  {
    await using server = await serve(surroundings)
    await pushSchema(surroundings, { items: 'id' })
    const importing = satchel(into, surroundings)
    const anybody = callMain(server.ready)
    while ((await anybody.get<unknown[]>('/public/items?$limit=1')).length === 0) await Bun.sleep(1)
    server.kill('SIGKILL')
    const { exitCode, stderr } = await importing
    expect(exitCode).toBe(1)
    expect(stderr).toContain(
      `The server (process ${server.pid}) stopped before the command was done`,
    )
  }
  const imports = join(folder.path, 'data/databases/main/imports')
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
}, 180_000)

const BLOBS = 400

/** No bytes without a blob, and no blob without its bytes, wherever it ends (promise 4 of blobs). */
test('an import of blobs goes on after kill -9, and leaves no files behind', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  const contents = Array.from({ length: BLOBS }, (_, n) => `bytes of ${n} `.repeat(500))
  const archive = await archiveOf([
    { name: 'data.ndjson', content: '{"type":"schema","tables":{}}\n' },
    ...contents.map((content) => ({ name: `blobs/${hashOf(content)}`, content })),
    { name: 'blobs.ndjson', content: ndjson(...contents.map((it, n) => blobLine(`b${n}`, it))) },
  ])
  await Bun.write(join(folder.path, 'all.zip'), archive)
  const data = join(folder.path, 'data/databases/main')
  const stored = () => [...filesByHash(join(data, 'blobs')).keys()].toSorted()
  {
    await using server = await serve(surroundings)
    const importing = satchel(['import', 'all.zip'], surroundings)
    while (stored().length < BLOBS / 4) await Bun.sleep(1)
    server.kill('SIGKILL')
    expect((await importing).exitCode).toBe(1)
  }
  expect(stored().length).toBeLessThan(BLOBS)
  await using server = await serve(surroundings)
  await until(() => readdirSync(join(data, 'imports')).length === 0)
  expect(stored()).toEqual(contents.map(hashOf).toSorted())
  const verified = await satchelJson<{ faults: unknown[] }>(['blob', 'verify'], surroundings)
  expect(verified.faults).toEqual([])
  const exported = await satchelJson<unknown>(['export', 'again.zip'], surroundings)
  expect(exported).toEqual({ objects: 0, blobs: BLOBS, leftOut: 0, damaged: [] })
  expect((await fetch(`${server.ready.url}/ready`)).status).toBe(200)
}, 180_000)
