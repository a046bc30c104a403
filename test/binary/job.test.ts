import { expect, test } from 'bun:test'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { callMain } from './api'
import { EXECUTABLE, pushSchema, satchel, satchelJson, serve, type Surroundings } from './setup'

const PLACE = /^Continues the import of items\.ndjson at row [1-9][\d,]* of 50,000$/
const OBJECTS = 150_000
/** Thousands of objects take that long on a machine that is busy with other things. */
const PATIENCE_MS = 120_000

interface Job {
  readonly id: string
  readonly kind: string
  readonly failure: string | null
}

async function setup(objects = OBJECTS) {
  const folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  const lines = Array.from({ length: objects }, (_, n) => JSON.stringify({ id: `it${n}`, n }))
  await Bun.write(join(folder.path, 'items.ndjson'), lines.join('\n'))
  await satchelJson(['db', 'create', 'main'], surroundings)
  await pushSchema(surroundings, { items: 'id' })
  return {
    surroundings,
    imports: join(folder.path, 'data/databases/main/imports'),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

/** Starts an import, presses Ctrl-C when `isTime`, and resolves to the outcome. */
async function interrupted(
  { cwd }: Surroundings,
  isTime: () => boolean | Promise<boolean>,
  table = 'items',
) {
  const into = ['--table', table, '--realm', 'rlm-public']
  const child = Bun.spawn([EXECUTABLE, 'import', 'items.ndjson', ...into], {
    cwd,
    env: {},
    stderr: 'pipe',
  })
  await until(async () => child.exitCode !== null || (await isTime()), PATIENCE_MS)
  child.kill('SIGINT')
  const [exitCode, stderr] = await Promise.all([child.exited, child.stderr.text()])
  return { exitCode, stderr, id: /satchel job cancel (import-\S+) ends it/.exec(stderr)?.[1] }
}

/** An import without a server that was interrupted while it applied; one that ended first is begun again. */
async function interruptedMidway(surroundings: Surroundings, imports: string) {
  // It grows when objects are applied.
  const log = join(imports, '..', 'database.sqlite-wal')
  const isApplying = () => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 1_000_000
  for (;;) {
    const { exitCode, stderr, id } = await interrupted(surroundings, isApplying)
    if (id !== undefined) return { exitCode, stderr, id }
    const ended = { exitCode: 130, stderr: 'satchel: The import had ended already\n' }
    expect([{ exitCode: 0, stderr: '' }, ended]).toContainEqual({ exitCode, stderr })
  }
}

async function listJobs(surroundings: Surroundings): Promise<readonly Job[]> {
  const { data } = await satchelJson<{ data: Job[] }>(['job', 'list'], surroundings)
  return data
}

test('an import goes on in the server after Ctrl-C, which says so, until it is cancelled', async () => {
  using place = await setup()
  const { surroundings, imports } = place
  await using server = await serve(surroundings)
  const anybody = callMain(server.ready)
  /** Undefined if the import ended before it was cancelled. */
  async function cancelledMidway(table: string) {
    await pushSchema(surroundings, { [table]: 'id' })
    const isApplying = async () =>
      (await anybody.get<unknown[]>(`/public/${table}?$limit=1`)).length === 1
    const { exitCode, id } = await interrupted(surroundings, isApplying, table)
    const [job] = await listJobs(surroundings)
    if (id === undefined || job === undefined) return
    const cancelled = await satchel(['job', 'cancel', id], surroundings)
    return cancelled.exitCode === 0 ? { exitCode, id, job, cancelled } : undefined
  }
  let table = 'items'
  let outcome = await cancelledMidway(table)
  while (outcome === undefined) outcome = await cancelledMidway((table += '2'))
  const { exitCode, id, job, cancelled } = outcome
  expect(exitCode).toBe(130)
  expect(job).toMatchObject({ id, kind: 'import', failure: null })
  expect(cancelled.stdout).toMatch(
    /^The import is cancelled at \d+ %: what it has imported stays\n$/,
  )
  expect(await listJobs(surroundings)).toMatchObject([{ id, failure: 'it was cancelled' }])
  expect(readdirSync(imports)).toEqual([])
  const { length } = await anybody.get<unknown[]>(`/public/${table}`)
  expect(length).toBeGreaterThan(0)
  expect(length).toBeLessThan(OBJECTS)
  await satchel(['job', 'cancel', id], surroundings)
  expect((await satchel(['job', 'list'], surroundings)).stdout).toBe('There are no jobs\n')
})

test('an import that is checked only when Ctrl-C comes imports nothing', async () => {
  using place = await setup()
  const { surroundings, imports } = place
  await using server = await serve(surroundings)
  const names = () => {
    try {
      return readdirSync(imports)
    } catch {
      return []
    }
  }
  const outcome = await interrupted(surroundings, () => names().length > 0)
  expect(outcome).toMatchObject({ exitCode: 130, stderr: 'satchel: Nothing was imported\n' })
  await until(() => names().length === 0)
  expect(await listJobs(surroundings)).toEqual([])
  expect(await callMain(server.ready).get<unknown[]>('/public/items?$limit=1')).toEqual([])
})

test('an import without a server goes on in the next one, which names it in its log', async () => {
  const objects = 50_000
  using place = await setup(objects)
  const { surroundings, imports } = place
  const { exitCode, stderr, id } = await interruptedMidway(surroundings, imports)
  expect(exitCode).toBe(130)
  expect(stderr).toMatch(
    /^satchel: The import of items\.ndjson at row [\d,]+ of 50,000 \(\d+ %\) goes on/,
  )
  await using server = await serve(surroundings)
  const line = await server.logged((text) => text.includes('"message":"Continues '))
  expect(JSON.parse(line)).toMatchObject({
    message: expect.stringMatching(PLACE) as string,
    database: 'main',
    kind: 'import',
    job: id,
    file: 'items.ndjson',
    rows: objects,
  })
  await until(async () => (await listJobs(surroundings)).length === 0, PATIENCE_MS)
  expect(await callMain(server.ready).get<unknown[]>('/public/items')).toHaveLength(objects)
})

test('an import says which earlier ones go on first, to people and to programs', async () => {
  const objects = 20_000
  using place = await setup(objects)
  const { surroundings, imports } = place
  expect(await interruptedMidway(surroundings, imports)).toMatchObject({ exitCode: 130 })
  await Bun.write(join(surroundings.cwd, 'one.ndjson'), '{"id":"one"}')
  const command = ['import', 'one.ndjson', '--table', 'items', '--realm', 'rlm-public']
  const checked = await satchelJson<object>([...command, '--dry-run'], surroundings)
  expect(checked).toMatchObject({
    objects: 1,
    resumed: [{ file: 'items.ndjson', row: expect.any(Number) as number, rows: objects }],
  })
  const { exitCode, stdout, stderr } = await satchel(command, surroundings)
  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'Imported 1 object\n' })
  expect(stderr).toMatch(
    /^satchel: Continues the import of items\.ndjson at row [1-9][\d,]* of 20,000, which comes first\n$/,
  )
  await using server = await serve(surroundings)
  expect(await callMain(server.ready).get<unknown[]>('/public/items')).toHaveLength(objects + 1)
})

test('an import of the file that an earlier one still imports waits for that one', async () => {
  const objects = 20_000
  using place = await setup(objects)
  const { surroundings, imports } = place
  const command = ['import', 'items.ndjson', '--table', 'items', '--realm', 'rlm-public']
  for (;;) {
    const { id } = await interruptedMidway(surroundings, imports)
    const { exitCode, stdout, stderr } = await satchel(command, surroundings)
    expect(exitCode).toBe(0)
    // The little that was left had ended before the command looked, or had read the file.
    if (stdout === 'Imported 20,000 objects\n') continue
    expect(stdout).toStartWith('The earlier import of this file has ended: 20,000 objects. ')
    expect(stderr).toContain('satchel: Continues the import of items.ndjson at row')
    expect(stderr).toContain('This file is already being imported: waiting for that import\n')
    expect(id).toStartWith('import-')
    break
  }
  const next = await satchelJson<object>(command, surroundings)
  expect(next).toMatchObject({ objects, followed: null, resumed: [] })
})
