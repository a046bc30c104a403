import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'bun:test'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { createDiskScratch } from '../../../src/blobs/disk/scratch'
import { isFileUsed } from '../../../src/domain/blob/collection'
import type { Scratch } from '../../../src/domain/store/scratch'
import { sweepScratch } from '../../../src/domain/transfer/spool'
import type { Job } from '../../../src/domain/store/records'
import { type JobRunner, createJobRunner } from '../../../src/domain/job/job-runner'
import { MAINTENANCE } from '../../../src/domain/object/maintenance'
import type { Database } from '../../../src/domain/store/store'
import {
  type Selection,
  type TextFormat,
  exportDatabase,
} from '../../../src/domain/transfer/export'
import { JSON_LIMITS } from '../../../src/domain/json/scan'
import { PART_BYTES } from '../../../src/domain/transfer/entry'
import { type ImportOptions, importFile } from '../../../src/domain/transfer/import'
import type { ImportResult } from '../../../src/domain/transfer/import-job'
import { importSteps } from '../../../src/domain/transfer/import-job'
import type { TransferContext } from '../../../src/domain/transfer/archive'
import type { Clock } from '../../../src/clock'
import { ZIP } from '../../../src/zip/format'
import { type TestStore, createTestClock, folderOf, setupStore } from '../../auth/setup'
import { cut } from '../chunks'

export interface TestDatabase extends TestStore {
  readonly database: Database
  readonly jobs: JobRunner
  import(file: string | Buffer, options?: Partial<ImportOptions>): Promise<ImportResult>
  export(format?: TextFormat, selection?: Partial<Selection>): Promise<string>
}

/** An empty database whose jobs are worked off. */
export async function setupDatabase(): Promise<TestDatabase> {
  const base = await setupStore()
  const database = await base.store.create('main')
  const jobs = runJobs(database)
  return {
    ...base,
    database,
    jobs,
    import: (file, options) => importText(database, base.clock, file, options),
    export: (format, selection) => exportText(database, format, selection),
    async [Symbol.asyncDispose]() {
      await jobs[Symbol.asyncDispose]()
      await base[Symbol.asyncDispose]()
    },
  }
}

export function stepsOf(database: Database) {
  return { ...MAINTENANCE, ...importSteps(contextOf(database)) }
}

/** The temporary files of a database where a server has them. */
export function scratchOf(database: Database): Scratch {
  return createDiskScratch(join(folderOf(database), 'imports'), createTestClock())
}

/** Removes the temporary files that no job needs, of any age. */
export function removeStrays(database: Database): Promise<void> {
  return sweepScratch(database, scratchOf(database), Number.POSITIVE_INFINITY)
}

/** A database with its blobs where a server has them. */
export function contextOf(database: Database): TransferContext {
  const contents = createDiskBlobs(join(folderOf(database), 'blobs'), {
    isDurable: false,
    isUsed: (file) => isFileUsed(database, file),
    report: (error) => {
      throw error
    },
  })
  return { database, contents, archives: ZIP, scratch: scratchOf(database) }
}

export function runJobs(
  database: Database,
  report: (job: Job, error: unknown) => void = unexpected,
): JobRunner {
  return createJobRunner(database, stepsOf(database), report)
}

function unexpected(_job: Job, error: unknown): never {
  throw error
}

export const IMPORT_OPTIONS: ImportOptions = {
  target: null,
  isAtomic: false,
  isDryRun: false,
  limits: { ...JSON_LIMITS, bytes: PART_BYTES, maxEntries: 10_000 },
  size: null,
  name: null,
  progress: () => undefined,
  allow: () => undefined,
}

export function importText(
  database: Database,
  clock: Clock,
  file: string | Buffer,
  options: Partial<ImportOptions> = {},
): Promise<ImportResult> {
  return importFile(contextOf(database), clock, cut(file, 50_000), {
    ...IMPORT_OPTIONS,
    ...options,
  })
}

export async function exportText(
  database: Database,
  format: TextFormat = 'ndjson',
  selection: Partial<Selection> = {},
): Promise<string> {
  let text = ''
  const pieces = exportDatabase(database, format, { realm: null, table: null, ...selection })
  for await (const piece of pieces) text += piece.text
  return text
}

/** NDJSON of these values. */
export function lines(...values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('')
}

/** Nothing waits to be imported, in the folder or as a job. */
export async function expectNothingLeft({ database }: TestDatabase): Promise<void> {
  expect(readdirSync(join(folderOf(database), 'imports'))).toEqual([])
  expect(await database.read((tx) => tx.jobs.list())).toEqual([])
}

export interface ObjectLine {
  readonly table: string
  readonly id: string
  readonly data: Readonly<Record<string, unknown>>
}

export function objectLines(text: string): ObjectLine[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{"realm"'))
    .map((line) => JSON.parse(line) as ObjectLine)
}

/** Table and key of each object of an NDJSON export. */
export function objectsOf(text: string): string[] {
  return objectLines(text).map(({ table, id }) => `${table} ${id}`)
}

export function dataOf(text: string) {
  return objectLines(text).map(({ data }) => data)
}
