import { createFrameReader, type FrameHead } from '../domain/backup/frames'
import { knownLine } from '../domain/backup/known'
import {
  BLOB_LIST,
  ERASED_LIST,
  blobPath,
  folderOf,
  type ManifestDatabase,
  type ManifestFile,
  readManifest,
  writeManifest,
} from '../domain/backup/manifest'
import { SatchelError } from '../domain/value/error'
import { type BlobEntry, readBlobList, readManifestOf } from './contents'
import { streamOf } from './read'
import { backupName, type Draft, type Sink, type Target } from './target'
import { type BackupFault, compareBackup, type VerifyOptions } from './verify'

/**
 * Makes a backup, which is none before it was read again. Where a blob that it shares with the backup before is damaged,
 * it is made once more without sharing. Throws `DAMAGED` when that helps nothing, and what ends it; then nothing is left
 * of it.
 */
export async function makeVerifiedBackup(
  target: Target,
  send: SendBackup,
  options: MakeOptions & VerifyOptions,
): Promise<MadeBackup> {
  const { fault, ...made } = await makeBackup(target, send, options)
  if (fault === undefined) return made
  if (made.written < made.bytes) {
    return await makeVerifiedBackup(target, send, { ...options, isWhole: true })
  }
  throw new SatchelError(
    'DAMAGED',
    `${fault.path} of the backup differs from the written bytes when it is read again: look at the disk of ${target.name}, and at the data with satchel verify`,
  )
}

/** The process that has the data: sends a backup to `download`, without the blobs that `upload` lists. */
export type SendBackup = (streams: {
  readonly upload: ReadableStream<Uint8Array>
  readonly download: (bytes: Uint8Array) => Promise<void>
}) => Promise<unknown>

export interface MakeOptions {
  readonly now: number
  /** Of this program. */
  readonly version: string
  /** Nothing is shared with other backups. */
  readonly isWhole?: boolean
}

export interface MadeBackup {
  readonly name: string
  /** The SHA-256 of the manifest. */
  readonly hash: string
  readonly databases: readonly ManifestDatabase[]
  /** Of all files, and of those that were written, in bytes: the others are shared with the backup before. */
  readonly bytes: number
  readonly written: number
}

/**
 * Writes what `send` sends as a backup that is whole by itself; blobs that the newest backup of the target has are
 * shared with it, unless `isWhole`. Nothing is left of one that fails or has a fault.
 */
async function makeBackup(
  target: Target,
  send: SendBackup,
  options: MakeOptions & VerifyOptions,
): Promise<MadeBackup & { readonly fault: BackupFault | undefined }> {
  const { now, version, isWhole = false } = options
  await target.clean(now)
  const earlier = await target.list()
  const before = isWhole || !target.canShare ? undefined : earlier.at(-1)
  const name = backupName(now, earlier)
  await using draft = await target.begin(name)
  const writer = createBackupWriter(target, draft, before)
  const reader = createFrameReader(writer)
  const known = before === undefined ? nothing() : listKnown(target, before)
  try {
    await send({ upload: streamOf(known), download: reader.push })
  } finally {
    // A list that was not read to its end would keep a file open.
    await known.return(undefined)
  }
  reader.close()
  const { databases, files, bytes, written } = await writer.finish()
  const created = new Date(now).toISOString()
  const { text, hash } = writeManifest({ version, created, databases, files })
  const { manifest } = readManifest(text)
  const { faults } = await compareBackup(await draft.sync(), name, manifest, options)
  const made = { name, hash, databases, bytes, written, fault: faults[0] }
  if (made.fault !== undefined) return made
  await draft.finish(text)
  try {
    await readManifestOf(target, name)
  } catch (error) {
    await target.remove(name)
    throw error
  }
  return made
}

interface OpenDatabase extends Omit<ManifestDatabase, 'blobs'> {
  readonly blobs: { count: number; bytes: number; readonly damaged: string[] }
  readonly list: HashedSink
  /** Made with the first deleted user. */
  erased?: HashedSink
}

/** Writes parts as they arrive to their files. */
function createBackupWriter(target: Target, draft: Draft, before: string | undefined) {
  const files: ManifestFile[] = []
  const databases: ManifestDatabase[] = []
  let bytes = 0
  let shared = 0
  let database: OpenDatabase | undefined
  let part: { readonly sink: HashedSink; readonly blob?: BlobEntry } | undefined

  async function begin(head: FrameHead): Promise<void> {
    if (head.kind === 'database') {
      await endDatabase()
      const { kind: _, ...rest } = head
      const list = await createHashed(draft, `${folderOf(head.name)}/${BLOB_LIST}`)
      database = { ...rest, blobs: { count: 0, bytes: 0, damaged: [] }, list }
    } else if (head.kind === 'erased') {
      const owner = requireDatabase(database)
      owner.erased ??= await createHashed(draft, `${folderOf(owner.name)}/${ERASED_LIST}`)
      const lines = head.users.map((user) => `${JSON.stringify(user)}\n`)
      await owner.erased.write(Buffer.from(lines.join('')))
    } else if (head.kind === 'file') {
      const folder = database === undefined ? '' : `${folderOf(database.name)}/`
      if (head.path === 'secret.key' && !target.takesKeys) return
      part = { sink: await createHashed(draft, folder + head.path, head.size) }
    } else {
      await beginBlob(requireDatabase(database), head)
    }
  }

  async function beginBlob(
    owner: OpenDatabase,
    { state, hash, size, file }: Extract<FrameHead, { kind: 'blob' }>,
  ): Promise<void> {
    const blob = { hash, size, file }
    const path = blobPath(owner.name, hash)
    if (state === 'damaged') owner.blobs.damaged.push(hash)
    else if (state === 'sent') part = { sink: await createHashed(draft, path, size), blob }
    else if (before !== undefined && (await draft.reuse(before, path))) {
      shared += size
      await noteBlob(owner, blob)
    } else {
      throw new SatchelError('STORAGE_FAILED', `${path} of the backup ${before} cannot be shared`)
    }
  }

  async function noteBlob(owner: OpenDatabase, blob: BlobEntry): Promise<void> {
    await owner.list.write(Buffer.from(`${JSON.stringify(blob)}\n`))
    owner.blobs.count += 1
    owner.blobs.bytes += blob.size
    bytes += blob.size
  }

  async function end(): Promise<void> {
    if (part === undefined) return
    const { sink, blob } = part
    part = undefined
    const ended = await sink.end()
    if (blob !== undefined && ended.hash !== blob.hash) {
      requireDatabase(database).blobs.damaged.push(blob.hash)
      await sink.discard()
      return
    }
    if (blob === undefined) note(ended)
    else await noteBlob(requireDatabase(database), blob)
  }

  function note(ended: ManifestFile): void {
    bytes += ended.size
    files.push(ended)
  }

  async function endDatabase(): Promise<void> {
    if (database === undefined) return
    const { list, erased, ...ended } = database
    note(await list.end())
    if (erased !== undefined) note(await erased.end())
    databases.push(ended)
    database = undefined
  }

  return {
    begin,
    bytes: async (piece: Uint8Array) => await part?.sink.write(piece),
    end,
    async finish() {
      await endDatabase()
      return { databases, files, bytes, written: bytes - shared }
    },
  }
}

function requireDatabase(database: OpenDatabase | undefined): OpenDatabase {
  if (database === undefined) throw new Error('a part came before its database')
  return database
}

/** A file whose hash is known when it has ended. */
interface HashedSink {
  write(bytes: Uint8Array): Promise<void>
  end(): Promise<ManifestFile>
  discard: Sink['discard']
}

async function createHashed(draft: Draft, path: string, bytes?: number): Promise<HashedSink> {
  const sink = await draft.create(path, bytes)
  const hasher = new Bun.CryptoHasher('sha256')
  let size = 0
  return {
    async write(bytes) {
      hasher.update(bytes)
      size += bytes.length
      await sink.write(bytes)
    },
    async end() {
      await sink.end()
      return { path, size, hash: hasher.digest('hex') }
    },
    discard: () => sink.discard(),
  }
}

/** The blobs that are in a backup. */
async function* listKnown(target: Target, backup: string): AsyncGenerator<Uint8Array> {
  const { manifest } = await readManifestOf(target, backup)
  const names = manifest.databases.map(({ name }) => name).toSorted()
  for (const name of names) {
    for await (const { hash } of readBlobList(target, backup, name)) {
      yield Buffer.from(`${knownLine(name, hash)}\n`)
    }
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
