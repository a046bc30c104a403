import { expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { callMain } from './api'
import { satchel, serve } from './setup'

const OBJECTS = 100_000

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
    await satchel(['schema', 'push', '-'], surroundings, new Blob(['{"items": "id"}']))
    const importing = satchel(into, surroundings)
    const anybody = callMain(server.ready)
    while ((await anybody.get<unknown[]>('/public/items?$limit=1')).length === 0) await Bun.sleep(1)
    server.kill('SIGKILL')
    const { exitCode, stderr } = await importing
    expect(exitCode).toBe(1)
    expect(stderr).toContain(`The server (process ${server.pid}) went away before it was done`)
  }
  const imports = join(folder.path, 'data/databases/main/imports')
  expect(readdirSync(imports)).toHaveLength(1)
  await using server = await serve(surroundings)
  const anybody = callMain(server.ready)
  let found = await anybody.get<unknown[]>('/public/items')
  for (let tries = 0; found.length < OBJECTS && tries < 300; tries++) {
    await Bun.sleep(50)
    found = await anybody.get<unknown[]>('/public/items')
  }
  expect(found).toHaveLength(OBJECTS)
  expect(found).toMatchObject([{ id: 'it0', n: 0 }, { id: 'it1', n: 1 }, ...found.slice(2)])
  for (let tries = 0; readdirSync(imports).length > 0 && tries < 50; tries++) await Bun.sleep(50)
  expect(readdirSync(imports)).toEqual([])
}, 60_000)
