import { join } from 'node:path'
import { folderOf } from '../../auth/setup'
import { filesByHash } from '../../blobs/files'
import type { Blob } from '../../../src/domain/store/blobs'
import { exportArchive } from '../../../src/domain/transfer/archive-export'
import { type ImportOptions, importFile } from '../../../src/domain/transfer/import'
import type { ImportResult } from '../../../src/domain/transfer/import-job'
import type { TransferContext } from '../../../src/domain/transfer/archive'
import { openZip } from '../../../src/zip/reader'
import { ANY_SIZE, chunksOf, hashOf } from '../../contract/content-fixture'
import { cut } from '../chunks'
import { temporaryFolder } from '../../setup'
import { type Given, fileAt, makeZip } from '../../zip/setup'
import { IMPORT_OPTIONS, type TestDatabase, contextOf, lines, setupDatabase } from './setup'

export interface ArchiveBase extends TestDatabase, TransferContext {
  /** Brings a blob with this content, for people with these ids. */
  upload(id: string, content: string, uploaders?: readonly string[]): Promise<void>
  /** The whole export, or that of a part. */
  pack(part?: { readonly realm?: string; readonly table?: string }): Promise<Buffer>
  unpack(archive: Uint8Array, options?: Partial<ImportOptions>): Promise<ImportResult>
  /** Every blob with its uploaders, and the files of the blob store. */
  blobs(): Promise<{ readonly blobs: readonly StoredBlob[]; readonly contents: readonly string[] }>
}

export type StoredBlob = Blob & { readonly uploaders: readonly (string | undefined)[] }

/** An empty database whose jobs are worked off, and its blobs. */
export async function setupArchives(): Promise<ArchiveBase> {
  const base = await setupDatabase()
  const context = contextOf(base.database)
  const { database, contents } = context
  return {
    ...base,
    ...context,
    async upload(id, content, uploaders = ['alice']) {
      await using arrival = await contents.receive(chunksOf(content), ANY_SIZE)
      const { hash, file, size } = arrival
      const blob = { id, hash, file, size, type: 'text/plain', created: base.clock.now() }
      await arrival.keep(() =>
        database.write((tx) => {
          if (uploaders.length === 0) tx.blobs.put(blob, null)
          for (const user of uploaders) {
            tx.blobs.put(blob, tx.realms.ensure(user).ref)
          }
        }),
      )
    },
    async pack({ realm = null, table = null } = {}) {
      const pieces: Uint8Array[] = []
      const told = () => undefined
      for await (const piece of exportArchive(context, base.clock.now(), { realm, table }, told)) {
        pieces.push(Buffer.from(piece))
      }
      return Buffer.concat(pieces)
    },
    unpack: (archive, options) =>
      importFile(context, base.clock, cut(Buffer.from(archive), 50_000), {
        ...IMPORT_OPTIONS,
        ...options,
      }),
    async blobs() {
      const blobs = await database.read((tx) => {
        const found: StoredBlob[] = []
        for (const blob of tx.blobs.byFile(undefined, 1_000)) {
          const uploaders: (string | undefined)[] = []
          for (const ref of tx.blobs.uploaders(blob.id)) {
            uploaders.push(tx.realms.findByRef(ref)?.id)
          }
          found.push({ ...blob, uploaders })
        }
        return found
      })
      const files = filesByHash(join(folderOf(database), 'blobs'))
      return { blobs, contents: [...files.keys()].toSorted() }
    },
  }
}

/** The texts in an archive by name. */
export async function filesIn(archive: Uint8Array): Promise<Record<string, string>> {
  using folder = temporaryFolder()
  const path = `${folder.path}/read.zip`
  await Bun.write(path, archive)
  const files: Record<string, string> = {}
  await using zip = await openZip(await fileAt(path))
  for await (const file of zip.list()) {
    files[file.name] = Buffer.concat(await Array.fromAsync(zip.open(file))).toString()
  }
  return files
}

/** An archive of these files, in their order. */
export async function archiveOf(files: readonly Given[]): Promise<Buffer> {
  using folder = temporaryFolder()
  return Buffer.from(await Bun.file(await makeZip(folder.path, files)).arrayBuffer())
}

export const SCHEMA = { type: 'schema', tables: { files: '@id' } }

export function blobLine(id: string, content: string, changes: object = {}): object {
  const size = Buffer.byteLength(content)
  const created = '2029-12-31T23:59:59.000Z'
  const hash = hashOf(content)
  return { id, hash, size, type: 'image/png', created, uploaders: ['alice'], ...changes }
}

/** An object in the public realm that references these blobs. */
export function fileLine(key: string, ...ids: readonly string[]): object {
  const data = { images: ids.map((id) => ({ _bt: 'Blob', ref: `1:${id}`, size: 1 })) }
  return { realm: 'rlm-public', table: 'files', id: key, data }
}

export const PICTURE = 'the bytes of a picture'

/** An archive with one blob and the object that references it, some files of it changed. */
export function pictureArchive(changes: Readonly<Record<string, string | null>> = {}) {
  const files: Record<string, string | null> = {
    'data.ndjson': lines(SCHEMA, fileLine('fls1', 'pic')),
    [`blobs/${hashOf(PICTURE)}`]: PICTURE,
    'blobs.ndjson': lines(blobLine('pic', PICTURE)),
    ...changes,
  }
  return archiveOf(
    Object.entries(files).flatMap(([name, content]) =>
      content === null ? [] : [{ name, content }],
    ),
  )
}
