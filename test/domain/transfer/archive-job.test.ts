import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { isFileUsed, removeStrays as removeStrayFiles } from '../../../src/domain/blob/collection'
import { filesByHash } from '../../blobs/files'
import { importSteps } from '../../../src/domain/transfer/import-job'
import { importFile } from '../../../src/domain/transfer/import'
import { createSqliteStore } from '../../../src/sqlite/store'
import { folderOf, refusalOf, setupStore } from '../../auth/setup'
import { ANY_SIZE, chunksOf, hashOf } from '../../contract/content-fixture'
import { cut } from '../chunks'
import { SCHEMA, archiveOf, blobLine, fileLine, setupArchives } from './archive-setup'
import {
  IMPORT_OPTIONS,
  contextOf,
  exportText,
  lines,
  removeStrays,
  runJobs,
  stepsOf,
} from './setup'

const COUNT = 50
const IDS = Array.from({ length: COUNT }, (_, n) => `blob${n}`)

/** Blobs, each with bytes of its own but the last two, and an object for each. */
function manyBlobs(): Promise<Buffer> {
  const bytesOf = (id: string) => (id === IDS.at(-1) ? `bytes of ${IDS.at(-2)}` : `bytes of ${id}`)
  const contents = new Set(IDS.map(bytesOf))
  return archiveOf([
    { name: 'data.ndjson', content: lines(SCHEMA, ...IDS.map((id) => fileLine(id, id))) },
    ...[...contents].map((content) => ({ name: `blobs/${hashOf(content)}`, content })),
    { name: 'blobs.ndjson', content: lines(...IDS.map((id) => blobLine(id, bytesOf(id)))) },
  ])
}

/** A database with an import that is stored as a job, which is not executed. */
async function setupJob() {
  const base = await setupStore()
  const database = await base.store.create('main')
  const context = contextOf(database)
  const isPutDown = new Promise<void>((resolve) => {
    database.onCommit((commit) => {
      if (commit.jobs) resolve()
    })
  })
  const end = importFile(context, base.clock, cut(await manyBlobs(), 50_000), IMPORT_OPTIONS)
  end.catch(() => undefined)
  await isPutDown
  return { ...base, ...context, end }
}

type JobBase = Awaited<ReturnType<typeof setupJob>>

async function jobOf({ database }: Pick<JobBase, 'database'>) {
  const [job] = await database.read((tx) => tx.jobs.list())
  if (job === undefined) throw new Error('There is no job')
  return job
}

const countScratch = (database: JobBase['database']) =>
  readdirSync(join(folderOf(database), 'imports')).length

describe('an import of blobs that a crash interrupts', () => {
  test.each([0, 1, 2, 5])('goes on after %p units and brings every blob', async (steps) => {
    await using base = await setupJob()
    for (let n = 0; n < steps; n++) {
      expect(await stepsOf(base.database).import?.(base.database, await jobOf(base))).toBe('more')
    }
    await base.store[Symbol.asyncDispose]()

    const options = { clock: base.clock, durability: 'relaxed' } as const
    await using store = createSqliteStore(base.folder, options)
    const database = await store.open('main')
    await removeStrays(database)
    const { contents } = contextOf(database)
    await removeStrayFiles(database, contents)
    await using jobs = runJobs(database)
    await jobs.idle()
    const blobs = await database.read((tx) => tx.blobs.list('', 1_000))
    expect(blobs.map(({ id }) => id)).toEqual(IDS.toSorted())
    expect(blobs.every(({ idleSince }) => idleSince === null)).toBe(true)
    expect([...filesByHash(join(folderOf(database), 'blobs')).keys()].toSorted()).toEqual(
      [...new Set(blobs.map(({ hash }) => hash))].toSorted(),
    )
    expect(await Array.fromAsync(contents.list())).toHaveLength(COUNT - 1)
    expect((await exportText(database)).split('\n')).toHaveLength(COUNT + 3)
    expect(countScratch(database)).toBe(0)
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
  })
})

test('a step that another process has taken meanwhile leaves no other bytes', async () => {
  await using base = await setupJob()
  const before = await jobOf(base)
  const step = () => stepsOf(base.database).import?.(base.database, before)
  expect(await step()).toBe('more')
  const after = await jobOf(base)
  const files = (await Array.fromAsync(base.contents.list())).toSorted()
  // The bytes of the first step are gone, so that the second one brings them as a neighbour does.
  for (const file of filesByHash(join(folderOf(base.database), 'blobs')).values()) rmSync(file[0]!)
  expect(await step()).toBe('more')
  expect(await jobOf(base)).toEqual(after)
  expect(files.length).toBeGreaterThan(0)
  expect((await Array.fromAsync(base.contents.list())).toSorted()).toEqual(files)
})

test('progress counts the bytes of blobs, and comes to its end', async () => {
  await using base = await setupArchives()
  const told: (readonly [number, number | null])[] = []
  const progress = (done: number, total: number | null) => void told.push([done, total])
  const archive = await manyBlobs()
  for (const isAtomic of [false, true]) {
    told.length = 0
    await base.unpack(archive, { progress, size: archive.length, isAtomic })
    const [done, total] = told.at(-1) ?? []
    expect(done).toBe(total ?? -1)
    expect(told.map(([each]) => each)).toEqual(told.map(([each]) => each).toSorted((a, b) => a - b))
  }
})

test('a content that is removed while it is imported again is brought again', async () => {
  await using base = await setupJob()
  const { database, contents } = base
  await using arrival = await contents.receive(chunksOf('bytes of blob0'), ANY_SIZE)
  const { hash, file, size } = arrival
  const blob = { id: 'before', hash, file, size, type: '', created: 1 }
  await arrival.keep(() => database.write((tx) => tx.blobs.put(blob, null)))
  let isRemoved = false
  const racing: typeof database = {
    ...database,
    read: (work) => database.read(work),
    async write(work) {
      if (!isRemoved) {
        isRemoved = true
        await database.write((tx) => tx.blobs.remove('before'))
        await contents.remove(file)
      }
      return await database.write(work)
    },
  }
  const steps = importSteps(base)
  const racingSteps = importSteps({ ...base, database: racing })
  const before = await jobOf(base)
  const racingStep = async () => await racingSteps.import?.(racing, before)
  expect((await refusalOf(racingStep)).message).toContain('Blobs are being collected')
  expect(await jobOf(base)).toEqual(before)
  expect(await steps.import?.(database, before)).toBe('more')
  expect((await jobOf(base)).done).toBeGreaterThan(0)
  expect(await contents.check(file, hash)).toBe('whole')
})

test('a copy of an archive that changed on the disk ends its job, and no bytes of it stay', async () => {
  await using base = await setupJob()
  const { database } = base
  const folder = join(folderOf(database), 'imports')
  const name = readdirSync(folder).find((file) => file.endsWith('.zip')) ?? ''
  const bytes = Buffer.from(await Bun.file(join(folder, name)).arrayBuffer())
  bytes.write('BYTES', bytes.indexOf('bytes of blob0'))
  await Bun.write(join(folder, name), bytes)
  await using jobs = runJobs(database, () => undefined)
  await jobs.idle()
  expect((await refusalOf(() => base.end)).message).toContain('are not those packed')
  expect(await Array.fromAsync(base.contents.list())).toEqual([])
  expect(existsSync(join(folder, name))).toBe(false)
})

test('all at once: when the objects cannot be stored, no blob is there and no bytes stay', async () => {
  await using base = await setupJob()
  const { database, clock } = base
  const contents = createDiskBlobs(join(folderOf(database), 'blobs'), {
    isDurable: false,
    isUsed: (file) => isFileUsed(database, file),
    report: () => undefined,
  })
  let isLast = false
  const failing: typeof database = {
    ...database,
    read: (work) => database.read(work),
    writeSteps: (work) =>
      database.writeSteps(async (step) => {
        const result = await work(step)
        isLast = (await step((tx) => tx.blobs.usage(null))).blobs > 0
        if (isLast) throw new Error('the disk is gone')
        return result
      }),
  }
  const options = { ...IMPORT_OPTIONS, isAtomic: true }
  const context = { ...base, database: failing, contents }
  const importing = importFile(context, clock, cut(await manyBlobs(), 50_000), options)
  expect(importing).rejects.toThrow('the disk is gone')
  await importing.catch(() => undefined)
  expect(isLast).toBe(true)
  expect(await Array.fromAsync(contents.list())).toEqual([])
  expect(await database.read((tx) => tx.blobs.list('', 10))).toEqual([])
})
