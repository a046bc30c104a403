import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'bun:test'
import type { Database } from '../../../src/domain/store/store'
import { createSqliteStore } from '../../../src/sqlite/store'
import { type TestStore, folderOf, refusalOf, setupStore } from '../../auth/setup'
import { until } from '../../timing'
import { importFile } from '../../../src/domain/transfer/import'
import { cancelImport, importSteps } from '../../../src/domain/transfer/import-job'
import {
  contextOf,
  dataOf,
  exportText,
  IMPORT_OPTIONS,
  importText,
  lines,
  removeStrays,
  runJobs,
  stepsOf,
} from './setup'
import type { Job } from '../../../src/domain/store/records'

const COUNT = 6_000
const TARGET = { table: 'todo', realm: 'rlm-public' }
/** Without keys: an object that is applied twice is there twice. */
const ROWS = lines(...Array.from({ length: COUNT }, (_, n) => ({ n, text: 'x'.repeat(60) })))

/** A database with an import that is checked and stored as a job, which is not executed. */
async function setupJob(): Promise<TestStore & { database: Database; end: Promise<unknown> }> {
  const base = await setupStore()
  const database = await base.store.create('main')
  await using jobs = runJobs(database)
  await importText(database, base.clock, '{"schema":{"todo":"@id, n"}}')
  await jobs[Symbol.asyncDispose]()
  const isPutDown = new Promise<void>((resolve) => {
    database.onCommit((commit) => {
      if (commit.jobs) resolve()
    })
  })
  const end = importText(database, base.clock, ROWS, { target: TARGET })
  end.catch(() => undefined)
  await isPutDown
  return { ...base, database, end }
}

async function onlyJob(database: Database): Promise<Job> {
  const [job, ...others] = await database.read((tx) => tx.jobs.list())
  if (job === undefined || others.length > 0) throw new Error('There is not one job')
  return job
}

async function step(database: Database): Promise<'more' | 'done' | undefined> {
  return await stepsOf(database).import?.(database, await onlyJob(database))
}

function spoolsOf(database: Database): string[] {
  return readdirSync(join(folderOf(database), 'imports'))
}

describe('an import that a crash interrupts', () => {
  test.each([0, 1, 3])('goes on after %p units and applies every object once', async (steps) => {
    await using base = await setupJob()
    for (let n = 0; n < steps; n++) expect(await step(base.database)).toBe('more')
    const { done, total } = await onlyJob(base.database)
    expect(done === 0).toBe(steps === 0)
    expect(done).toBeLessThan(total ?? 0)
    await base.store[Symbol.asyncDispose]()

    const options = { clock: base.clock, durability: 'relaxed' } as const
    await using store = createSqliteStore(base.folder, options)
    const database = await store.open('main')
    await removeStrays(database)
    await using jobs = runJobs(database)
    await jobs.idle()
    expect(dataOf(await exportText(database)).map(({ n }) => n)).toEqual([...Array(COUNT).keys()])
    expect(spoolsOf(database)).toEqual([])
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
  })

  test('applies every object once though a step begins with an old state of the job', async () => {
    await using base = await setupJob()
    const { database } = base
    const stale = await onlyJob(database)
    for (let n = 0; n < 3; n++) await stepsOf(database).import?.(database, stale)
    await using jobs = runJobs(database)
    await jobs.idle()
    expect(dataOf(await exportText(database)).map(({ n }) => n)).toEqual([...Array(COUNT).keys()])
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
  })

  test('takes back the unit that did not end, with what the job had moved on', async () => {
    await using base = await setupJob()
    const { database } = base
    await step(database)
    const before = await onlyJob(database)
    const rows = dataOf(await exportText(database)).length
    const failing: Database = {
      ...database,
      write: (work) =>
        database.write((tx) => {
          work(tx)
          throw new Error('the power went')
        }),
    }
    const steps = importSteps({ ...contextOf(database), database: failing })
    expect(steps.import?.(failing, before)).rejects.toThrow('the power went')
    await database.read(() => undefined)
    expect(await onlyJob(database)).toEqual(before)
    expect(dataOf(await exportText(database))).toHaveLength(rows)
    await using jobs = runJobs(database)
    await jobs.idle()
    await base.end
    expect(dataOf(await exportText(database)).map(({ n }) => n)).toEqual([...Array(COUNT).keys()])
  })

  test('needs its spool only until everything is applied', async () => {
    await using base = await setupJob()
    const { database } = base
    for (let job = await onlyJob(database); job.done !== job.total; job = await onlyJob(database)) {
      await step(database)
    }
    const last = await onlyJob(database)
    expect(await step(database)).toBe('done')
    expect(spoolsOf(database)).toEqual([])
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
    // As after a crash between the removal of the spool and that of the job.
    await database.write((tx) => tx.jobs.put(last))
    expect(await step(database)).toBe('done')
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
    expect(dataOf(await exportText(database))).toHaveLength(COUNT)
  })
})

test('a spool is for the eyes of its owner and holds what is to be applied', async () => {
  await using base = await setupJob()
  const [name = ''] = spoolsOf(base.database)
  const spool = statSync(join(folderOf(base.database), 'imports', name))
  expect(spool.mode & 0o777).toBe(0o600)
  expect(statSync(join(folderOf(base.database), 'imports')).mode & 0o777).toBe(0o700)
  expect(await onlyJob(base.database)).toMatchObject({
    kind: 'import',
    done: 0,
    total: spool.size,
    created: base.clock.now(),
  })
})

test('a job that cannot continue is reported to its caller, and nothing of it stays', async () => {
  await using base = await setupJob()
  const { database } = base
  const job = await onlyJob(database)
  const failure = 'The schema changed'
  await database.write((tx) => tx.jobs.put({ ...job, failure }))
  const refusal = await refusalOf(() => base.end)
  expect(refusal.message).toBe('Work in the background stopped: The schema changed')
  expect(await database.read((tx) => tx.jobs.list())).toEqual([])
  expect(spoolsOf(database)).toEqual([])
})

test('the caller is told that the database closes; the job continues at the next start', async () => {
  await using base = await setupJob()
  await base.database[Symbol.asyncDispose]()
  expect((await refusalOf(() => base.end)).code).toBe('BUSY')
  const database = await base.store.open('main')
  expect(await onlyJob(database)).toMatchObject({ done: 0, failure: null })
  expect(spoolsOf(database)).toHaveLength(1)
})

test('a spool that is damaged ends its job with a reason', async () => {
  await using base = await setupJob()
  const { database } = base
  const [name = ''] = spoolsOf(database)
  writeFileSync(join(folderOf(database), 'imports', name), '{"place":')
  expect((await refusalOf(() => step(database))).message).toContain('damaged')
  const reasons: unknown[] = []
  await using jobs = runJobs(database, (_job, error) => reasons.push(error))
  await jobs.idle()
  expect((await refusalOf(() => base.end)).message).toContain('damaged')
  expect(reasons).toHaveLength(1)
})

test('files of imports that never became a job are removed, others are not', async () => {
  await using base = await setupJob()
  const { database } = base
  const kept = spoolsOf(database)
  const stray = join(folderOf(database), 'imports', 'stray.ndjson')
  writeFileSync(stray, '{}\n')
  await removeStrays(database)
  expect(existsSync(stray)).toBe(false)
  expect(spoolsOf(database)).toEqual(kept)
  const job = await onlyJob(database)
  await database.write((tx) => tx.jobs.put({ ...job, failure: 'It failed' }))
  await removeStrays(database)
  expect(spoolsOf(database)).toEqual([])
})

describe('an import of a file that is being imported', () => {
  const again = ({ database, clock }: TestStore & { database: Database }, options = {}) => {
    const phases = new Set<string>()
    const end = importText(database, clock, ROWS, {
      target: TARGET,
      progress: (_done, _total, phase) => void phases.add(phase),
      ...options,
    })
    end.catch(() => undefined)
    return { end, phases }
  }

  test('waits for that import, imports nothing, and has its result', async () => {
    await using base = await setupJob()
    const { database } = base
    const { id } = await onlyJob(database)
    const { end, phases } = again(base)
    await until(() => phases.has('Following'))
    expect(await onlyJob(database)).toMatchObject({ id, done: 0 })
    await using jobs = runJobs(database)
    expect(await end).toEqual({ ...((await base.end) as object), followed: id } as never)
    expect(await base.end).toMatchObject({ objects: COUNT, followed: null })
    await jobs.idle()
    expect(dataOf(await exportText(database))).toHaveLength(COUNT)
    expect(spoolsOf(database)).toEqual([])
  })

  test('does so too when that import ends while the file is read', async () => {
    await using base = await setupJob()
    const { database } = base
    const isRead = Promise.withResolvers<void>()
    const mayGoOn = Promise.withResolvers<void>()
    async function* file() {
      yield Buffer.from(ROWS.slice(0, 100))
      isRead.resolve()
      await mayGoOn.promise
      yield Buffer.from(ROWS.slice(100))
    }
    const options = { ...IMPORT_OPTIONS, target: TARGET }
    const end = importFile(contextOf(database), base.clock, file(), options)
    await isRead.promise
    await using jobs = runJobs(database)
    await base.end
    await jobs.idle()
    mayGoOn.resolve()
    expect(await end).toMatchObject({ objects: COUNT, followed: expect.any(String) as string })
    await jobs.idle()
    expect(dataOf(await exportText(database))).toHaveLength(COUNT)
  })

  test('follows one whose caller has gone, also after a restart', async () => {
    await using base = await setupJob()
    await base.store[Symbol.asyncDispose]()
    const options = { clock: base.clock, durability: 'relaxed' } as const
    await using store = createSqliteStore(base.folder, options)
    const database = await store.open('main')
    const { end, phases } = again({ ...base, database })
    await until(() => phases.has('Following'))
    await using jobs = runJobs(database)
    expect(await end).toMatchObject({ objects: COUNT })
    await jobs.idle()
    expect(dataOf(await exportText(database))).toHaveLength(COUNT)
  })

  test('of two that are read at the same time, one is imported', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    await using jobs = runJobs(database)
    await importText(database, base.clock, '{"schema":{"todo":"@id, n"}}')
    const ends = [again({ ...base, database }).end, again({ ...base, database }).end]
    const followed = (await Promise.all(ends)).map((result) => result.followed)
    expect(followed.filter((id) => id === null)).toHaveLength(1)
    await jobs.idle()
    expect(dataOf(await exportText(database))).toHaveLength(COUNT)
    expect(spoolsOf(database)).toEqual([])
  })

  test('is told when that import is cancelled; the next one begins anew', async () => {
    await using base = await setupJob()
    const { database } = base
    const { id } = await onlyJob(database)
    const { end, phases } = again(base)
    await until(() => phases.has('Following'))
    await cancelImport(contextOf(database), id)
    for (const each of [base.end, end]) {
      const { message } = await refusalOf(() => each)
      expect(message).toBe('Work in the background stopped: it was cancelled')
    }
    expect(spoolsOf(database)).toEqual([])
    await using jobs = runJobs(database)
    expect(await again(base).end).toMatchObject({ objects: COUNT, followed: null })
    await jobs.idle()
    expect(dataOf(await exportText(database))).toHaveLength(COUNT)
  })

  test('leaves it to go on when its own caller goes', async () => {
    await using base = await setupJob()
    const { database } = base
    const leaving = new AbortController()
    const { end, phases } = again(base, { signal: leaving.signal })
    await until(() => phases.has('Following'))
    leaving.abort(new Error('gone'))
    expect(await end.catch((error: Error) => error.message)).toBe('gone')
    await using jobs = runJobs(database)
    expect(await base.end).toMatchObject({ objects: COUNT })
    await jobs.idle()
    expect(dataOf(await exportText(database))).toHaveLength(COUNT)
  })

  test.each([
    ['another file', { target: TARGET }, `${ROWS}{"n": -1}\n`],
    ['another realm', { target: { ...TARGET, realm: 'rlm-other' } }, ROWS],
  ])('is queued behind it when it is of %s', async (_name, options, file) => {
    await using base = await setupJob()
    const { database } = base
    await importText(database, base.clock, '{"data":{"rlm-other":{"realms":{"rlm-other":{}}}}}', {
      isAtomic: true,
    })
    const end = importText(database, base.clock, file, options)
    await until(async () => (await database.read((tx) => tx.jobs.list())).length === 2)
    await using jobs = runJobs(database)
    expect(await end).toMatchObject({ followed: null })
    await jobs.idle()
    const count = file === ROWS ? 2 * COUNT : 2 * COUNT + 1
    const rows = dataOf(await exportText(database)).filter((data) => data['n'] !== undefined)
    expect(rows).toHaveLength(count)
  })
})
