import type { Clock } from '../../clock'
import { startJob } from '../job/job'
import { createContentLoader, verifyContents } from './archive-contents'
import type { Declaration, Item, ObjectEntry, PartLimits } from './entry'
import {
  blobsOf,
  bytesOf,
  findImport,
  type ImportResult,
  type ImportUnderWay,
  observeImport,
  untilImported,
  watchImports,
} from './import-job'
import { inspect } from './inspection'
import { type OpenedArchive, openFile } from './import-file'
import type { Target } from './text-file'
import { applyEntries, applyOwners, changesOwners } from './application'
import type { TransferContext } from './archive'
import { FOLLOWING } from './import-progress'
import { type SpoolWriter, createSpool, openSpool, requireSpace } from './spool'
import { parseTable, requireTableName, type TableSchema } from '../value/schema'
import { getOwn } from '../value/value'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { declareTables } from '../object/tables'

export interface ImportOptions {
  /** For a file of nothing but objects of one table. */
  readonly target: Target | null
  /** All in one unit of work instead of many short ones. */
  readonly isAtomic: boolean
  /** Only finds out whether the file is good. */
  readonly isDryRun: boolean
  /** How much each part of the file may hold. */
  readonly limits: PartLimits
  /** The size of the file in bytes, where it is known. */
  readonly size: number | null
  /** The name of the file for messages about the import; null: none. */
  readonly name: string | null
  /** Called with the bytes done; the total may change, and is null while it is unknown. */
  readonly progress: (done: number, total: number | null, phase: string) => void
  /**
   * Throws when the caller may not import any more: asked when the file was read, which may take days, and in
   * the unit from which on the import goes on by itself.
   */
  readonly allow: (tx: ReadTx) => void
  /**
   * Aborted when the caller does not wait any longer. Until the job is started, and with `isAtomic`,
   * nothing is imported then; after that the job goes on without the caller.
   */
  readonly signal?: AbortSignal | undefined
}

/**
 * Imports a file (design.md §6, protocol.md §9.4): NDJSON, the JSON import file, an archive with
 * blobs, or with a `target` plain objects. All of it is found good before anything is applied; then
 * it is applied by a job in short units, which a crash only delays, or in one unit. The caller may do
 * everything, so no quota is asked. While the same bytes are being imported for the same table, or that was
 * interrupted, such an import goes on and this one waits for its end. Throws `INVALID_REQUEST`, `INVALID_SCHEMA`, `UNPROCESSABLE`,
 * `UNKNOWN_TABLE`, `UNKNOWN_REALM` or `CONFLICT` naming the location in the file, or what `allow` throws, and
 * nothing is imported.
 */
export async function importFile(
  context: TransferContext,
  clock: Clock,
  file: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<ImportResult> {
  const stages = createStages(options)
  const begun = await beginImport(context, clock, file, options, stages)
  if (!('job' in begun)) return begun
  const watch = begun.result.followed === null ? stages.applied : stages.followed
  await untilImported(context, begun, watch, options.signal)
  return begun.result
}

/** Checks a file, and imports it at once, starts the job that does, or finds the one that does already. */
async function beginImport(
  context: TransferContext,
  clock: Clock,
  file: AsyncIterable<Uint8Array>,
  options: ImportOptions,
  stages: ReturnType<typeof createStages>,
): Promise<ImportResult | ImportUnderWay> {
  const { target, isAtomic, isDryRun, limits, allow, signal, name } = options
  const { database, scratch } = context
  const now = clock.now()
  using imports = await watchImports(database)
  const hasher = new Bun.CryptoHasher('sha256').update(JSON.stringify(target))
  const onRead = (bytes: Uint8Array) => {
    hasher.update(bytes)
    stages.read(bytes.length)
  }
  await using opened = await openFile(context, file, { target, limits, onRead })
  const { archive } = opened
  await using spool = await createSpool(scratch)
  const { declared, bytes, rows, hasOwners, keys } = await spoolItems(spool, opened.items)
  await database.read(allow)
  const digest = hasher.digest('hex')
  const isJob = !isAtomic && !isDryRun
  const same = isJob ? imports.get(digest) : undefined
  if (same?.hasStopped === false) return same
  await declareUnknown(database, declared, keys)
  const tables = await rehearse(database, declared, now)
  const size = spool.size + bytes
  using written = await openSpool(scratch, spool.name)
  const contents = await inspect(database, written, tables, limits, (done) =>
    stages.examined(done, size),
  )
  if (archive !== undefined) {
    await verifyContents(archive.archive, archive.files, (done) =>
      stages.examined(spool.size + done, size),
    )
  }
  if (!isDryRun) await requireSpace(scratch, size)
  const result = { ...contents, tables: declared.schemas.size, followed: null }
  const plan = {
    name,
    rows,
    declared,
    hasOwners,
    archive,
    digest,
    result,
    size,
    now,
    progress: stages.applied,
    allow,
    signal,
  }
  if (isJob) return await startImport(database, spool, plan)
  if (!isDryRun) await applyAtOnce(context, spool.name, plan)
  return result
}

/** The three passes over a file, one after the other, as one stretch of bytes. */
function createStages({ size, isDryRun, progress, signal }: ImportOptions) {
  const passes = isDryRun ? 2 : 3
  let read = 0
  return {
    read: (bytes: number) => {
      signal?.throwIfAborted()
      read += bytes
      progress(read, size === null ? null : size * passes, 'Reading')
    },
    examined: (done: number, total: number) => {
      signal?.throwIfAborted()
      progress(read + done, read + total * (passes - 1), 'Checking')
    },
    applied: (done: number, total: number) =>
      progress(read + total + done, read + total * 2, 'Importing'),
    followed: (done: number, total: number) => progress(done, total, FOLLOWING),
  }
}

/**
 * Sorts the items of a file: entries go to the spool, in their order; declarations add up, and so do
 * the bytes of all blobs.
 */
async function spoolItems(
  spool: SpoolWriter,
  items: AsyncIterable<Item>,
): Promise<{
  declared: Declared
  bytes: number
  rows: number
  hasOwners: boolean
  keys: KeyGuesses
}> {
  const declared: Declared = { schemas: new Map(), idPrefixes: new Map(), sealed: undefined }
  const keys: KeyGuesses = new Map()
  let bytes = 0
  let rows = 0
  let hasOwners = false
  for await (const item of items) {
    if ('declaration' in item) addDeclaration(declared, item.declaration)
    else {
      await spool.write(item)
      rows += 1
    }
    if ('blob' in item) bytes += item.blob.size
    if ('table' in item) guessKey(keys, item)
    if (!('declaration' in item)) hasOwners ||= changesOwners(item)
  }
  await spool.finish()
  return { declared, bytes, rows, hasOwners, keys }
}

/** By table, the properties that hold the key in every object so far; null for compound keys. */
type KeyGuesses = Map<string, Set<string> | null>

function guessKey(keys: KeyGuesses, { table, id, data }: ObjectEntry): void {
  if (data === null) return
  if (id?.startsWith('[') === true) keys.set(table, null)
  const isKey = (property: string) => getOwn(data, property) === id || id === null
  const known = keys.get(table)
  if (known === undefined) {
    keys.set(table, new Set(id === null ? ['id'] : Object.keys(data).filter(isKey)))
    return
  }
  for (const property of known ?? []) if (!isKey(property)) known?.delete(property)
}

/**
 * Declares the tables that the file has objects for and nothing declares, unless the database is sealed. The
 * key of each is the property that holds it in all objects, `id` if that is not one of them.
 */
async function declareUnknown(
  database: Database,
  declared: Declared,
  keys: KeyGuesses,
): Promise<void> {
  const { isSealed, known } = await database.read((tx) => ({
    isSealed: tx.tables.isSealed(),
    known: new Set(tx.tables.list().map(({ name }) => name)),
  }))
  if (isSealed) return
  for (const [table, properties] of keys) {
    if (properties === null || known.has(table) || declared.schemas.has(table)) continue
    requireTableName(table)
    const [first = 'id'] = properties
    const key = properties.has('id') ? 'id' : first
    declared.schemas.set(table, parseTable(table, isPlainName(key) ? key : 'id'))
  }
}

/** Properties with other names are no key paths. */
function isPlainName(name: string): boolean {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)
}

/** How a file that was found valid is applied. */
interface Plan {
  /** The name of the file, and how many rows it has. */
  readonly name: string | null
  readonly rows: number
  readonly declared: Declared
  /** True with realms or members, so that an owner may lack a row when the file is applied. */
  readonly hasOwners: boolean
  readonly archive: OpenedArchive | undefined
  /** The hash of the bytes of the file and its target. */
  readonly digest: string
  readonly result: ImportResult
  /** Of the spool and of all blobs, in bytes. */
  readonly size: number
  readonly now: number
  /** Called with the number of these bytes that are done. */
  readonly progress: (done: number, total: number) => void
  readonly allow: (tx: ReadTx) => void
  readonly signal: AbortSignal | undefined
}

async function applyAtOnce(context: TransferContext, name: string, plan: Plan): Promise<void> {
  const { declared, hasOwners, archive, size, now, progress, allow, signal } = plan
  using spool = await openSpool(context.scratch, name)
  await using contents = createContentLoader(context)
  let done = 0
  if (archive !== undefined) {
    for (const blobs of blobsOf(spool)) {
      await contents.load(archive.archive, blobs)
      progress((done += bytesOf(blobs)), size)
    }
  }
  await contents.keep(() =>
    context.database.writeSteps(
      async (step) => {
        await step((tx) => {
          allow(tx)
          declare(tx, declared, now)
        })
        for (let offset = 0; offset < spool.size;) {
          const { entries, next } = spool.read(offset)
          await step((tx) => applyEntries(tx, entries, now, contents.fileOf))
          signal?.throwIfAborted()
          progress(done + next, size)
          offset = next
        }
        let after = hasOwners ? 0 : undefined
        while (after !== undefined) {
          const from = after
          after = await step((tx) => applyOwners(tx, from, now))
        }
      },
      { isUnbounded: true },
    ),
  )
}

/** Declares, and puts the job down that does the rest, in one unit; finds it when another caller was faster. */
async function startImport(
  database: Database,
  spool: SpoolWriter,
  plan: Plan,
): Promise<ImportUnderWay> {
  const { declared, hasOwners, archive, digest, result, size, now, progress, allow, signal } = plan
  const files = {
    spool: spool.name,
    ...(archive === undefined ? {} : { archive: archive.scratch.name }),
  }
  const place = { file: plan.name, row: 0, rows: plan.rows }
  const owners = hasOwners ? { owners: 0 } : {}
  const state = { ...files, ...place, offset: 0, ...owners, digest, result }
  const begun = await database.write((tx) => {
    signal?.throwIfAborted()
    allow(tx)
    const same = findImport(tx, digest)
    if (same !== undefined) return same
    declare(tx, declared, now)
    const { id } = startJob(tx, 'import', state, now, size)
    return { job: id, result }
  })
  if (begun.result.followed === null) {
    spool.keep()
    archive?.scratch.keep()
    progress(0, size)
  }
  return observeImport(database, begun.job, begun.result)
}

/** All parts of a file about the database itself, combined. */
interface Declared {
  readonly schemas: Map<string, TableSchema | null>
  readonly idPrefixes: Map<string, string>
  sealed: boolean | undefined
}

/** Adds a declaration; the latest counts. */
function addDeclaration(declared: Declared, declaration: Declaration): void {
  const { schemas = [], idPrefixes = [], sealed = declared.sealed } = declaration
  for (const [table, schema] of schemas) declared.schemas.set(table, schema)
  for (const [table, prefix] of idPrefixes) declared.idPrefixes.set(table, prefix)
  declared.sealed = sealed
}

/** Throws `CONFLICT` or `UNPROCESSABLE`. `now` in ms. */
function declare(tx: WriteTx, declared: Declared, now: number): void {
  const { schemas, idPrefixes, sealed } = declared
  declareTables(tx, schemas, now, idPrefixes)
  if (sealed !== undefined) tx.tables.seal(sealed)
}

/** The tables by name as they will be: they are declared, looked at, and that is taken back. */
async function rehearse(
  database: Database,
  declared: Declared,
  now: number,
): Promise<ReadonlyMap<string, Table>> {
  const rehearsal = new Error('a rehearsal, taken back')
  let tables: readonly Table[] = []
  try {
    await database.write((tx) => {
      declare(tx, declared, now)
      tables = tx.tables.list()
      throw rehearsal
    })
  } catch (error) {
    if (error !== rehearsal) throw error
  }
  return new Map(tables.map((table) => [table.name, table]))
}
