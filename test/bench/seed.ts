import { existsSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { openDatabase, type tables } from './floors/database'
import { parseObject, prepareInsert } from './floors/insert'
import type { Options } from './options'
import { batchTexts, largeTableText, readerRealm } from './rows'
import { openSatchel, prepareSatchel, type Client, type Satchel } from './satchel'

/** The large databases, made once per run: `items` with `--rows` objects and `thousand` with 1,000. */
export interface Seeds {
  /** The floor's database file. */
  floor(): Promise<string>
  /** Satchel's data folder and its client. */
  satchel(): Promise<{ data: string; client: Client }>
}

interface Ground {
  readonly folder: string
  readonly options: Options
  readonly signal: AbortSignal
  readonly say: (text: string) => void
}

export function createSeeds(ground: Ground): Seeds {
  let floor: Promise<string> | undefined
  let satchel: ReturnType<Seeds['satchel']> | undefined
  return {
    floor: () => (floor ??= seedFloor(ground)),
    satchel: () => (satchel ??= seedSatchel(ground)),
  }
}

async function seedFloor({ folder, options, say }: Ground): Promise<string> {
  const file = join(folder, `floor-${options.rows}.sqlite`)
  if (existsSync(file)) return file
  say(`seeding the floor with ${options.rows} objects`)
  const part = `${file}.part`
  await rm(part, { force: true })
  {
    using database = openDatabase(part)
    const fill = (table: keyof typeof tables, indexes: string[], texts: Iterable<string>) => {
      const insert = prepareInsert(database, table, indexes)
      let revision = 0
      database.transaction(() => {
        for (const text of texts) insert(parseObject(text), ++revision)
      })()
    }
    fill('items', ['country'], largeTable(options.rows))
    fill('thousand', [], thousand())
    database.run('PRAGMA wal_checkpoint(TRUNCATE)')
  }
  await rename(part, file)
  return file
}

async function seedSatchel(ground: Ground): ReturnType<Seeds['satchel']> {
  const { folder, options, signal, say } = ground
  const data = join(folder, `satchel-${options.rows}`)
  const record = `${data}.client.json`
  const build = await hashOf(options.satchel)
  const known = await readRecord(record)
  // Another build may have other tables.
  if (known?.build === build) return { data, client: known.client }
  say(`seeding Satchel with ${options.rows} objects`)
  for (const path of [record, data]) await rm(path, { recursive: true, force: true })
  const settings = { executable: options.satchel, data, signal }
  let client: Client
  {
    await using satchel = await openSatchel(settings)
    const schema = { items: '@id, country', thousand: '@id' }
    await prepareSatchel(satchel, settings, schema, ['reader', 'lister', 'writer', 'joiner'])
    await postAll(satchel, '/all/items', largeTable(options.rows))
    await postAll(satchel, '/all/thousand', thousand())
    client = satchel.client
  }
  await writeFile(record, JSON.stringify({ build, client } satisfies SeedRecord))
  return { data, client }
}

/** The record beside the data of an earlier run. */
interface SeedRecord {
  /** The hash of the executable that made it. */
  readonly build: string
  readonly client: Client
}

async function readRecord(path: string): Promise<SeedRecord | undefined> {
  if (!existsSync(path)) return undefined
  return JSON.parse(await readFile(path, 'utf8')) as SeedRecord
}

async function hashOf(path: string): Promise<string> {
  return Bun.hash(await readFile(path)).toString(16)
}

/** Stores the texts of objects, a thousand per request. */
export async function postAll(
  satchel: Satchel,
  path: string,
  texts: Iterable<string>,
): Promise<void> {
  let batch: string[] = []
  const flush = async () => {
    await satchel.send('POST', path, `[${batch.join(',')}]`)
    batch = []
  }
  for (const text of texts) {
    if (batch.push(text) === 1000) await flush()
  }
  if (batch.length > 0) await flush()
}

function* largeTable(rows: number): Generator<string> {
  for (let index = 0; index < rows; index += 1) yield largeTableText(index, rows)
}

function thousand(): string[] {
  return batchTexts(1000, [readerRealm], '0'.repeat(12))
}
