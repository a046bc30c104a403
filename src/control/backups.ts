import { writeHead } from '../domain/backup/frames'
import { backUp } from '../domain/backup/source'
import { createKnownBlobs } from '../domain/backup/known'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import { viewDisk } from '../host/folder-view'
import { flag, optional, text, whole } from './fields'
import { onFolder, type Streams } from './operation'

export const backupOperations = {
  /**
   * The download is the backup, as `domain/backup/frames` says, of one database or of all and the file of the server;
   * the upload says which blobs the caller has (`domain/backup/known`). Progress is in bytes.
   */
  backup: onFolder(
    {
      scopes: 'operator',
      effect: 'secret',
      summary: 'Send a backup of databases',
      input: { database: optional(text) },
      sendsFile: true,
    },
    async (folder, { database }, streams) => {
      using _ = folder.backups.begin()
      const names = database === null ? await folder.hosts.list() : [database]
      const { send, finish } = createSender(streams, await countBytes(folder, names))
      if (database === null) {
        const bytes = folder.serverFile()
        await send(writeHead({ kind: 'file', path: 'server.sqlite', size: bytes.length }))
        await send(bytes)
      }
      const known = createKnownBlobs(streams.upload)
      for (const name of names.toSorted()) {
        using held = await folder.hosts.hold(name)
        const { opened } = held
        using kept = new DisposableStack()
        kept.use(opened.blobs.hold())
        await using copy = await opened.database.copy()
        const { blobs, key } = opened
        const source = { name, copy, blobs, key: key.facts, keyFile: key.file }
        for await (const piece of backUp(source, (hash) => known(name, hash))) await send(piece)
      }
      await finish()
      return { databases: names.length }
    },
  ),

  /**
   * Makes the database of a backup, which is the upload, a new one with this name; `size` is that of the upload in bytes,
   * if it is known. Throws `STORAGE_FULL` before anything is read, `CONFLICT` during another restore, and what
   * `DataFolder.restore` throws.
   */
  'backup.restore': onFolder(
    {
      scopes: 'operator',
      effect: 'write',
      summary: 'Restore a database under a new name',
      input: { name: text, revokeLogins: flag, size: optional(whole) },
    },
    async (folder, { size, ...input }, { upload, progress }) => {
      const frames = countedBytes(upload ?? new Blob().stream(), (bytes) => progress?.(bytes, size))
      return await restoreFrom(folder, { ...input, size }, async () => frames)
    },
  ),

  /** The scheduled backups; null without a schedule. */
  'backup.status': onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'Show the scheduled backups',
      input: {},
    },
    async (folder) => ({ schedule: folder.backups.schedule }),
  ),
}

/** A database that is to be made of a backup. */
interface Restoring {
  readonly name: string
  readonly revokeLogins: boolean
  /** In bytes; null when it is not known. */
  readonly size: number | null
}

/** Restores what `open` opens, as `backup.restore` says. */
export async function restoreFrom(
  folder: DataFolder,
  { name, revokeLogins, size }: Restoring,
  open: () => Promise<AsyncIterable<Uint8Array>>,
) {
  using _ = folder.backups.beginRestore()
  const { freeBytes, sizeBytes } = await viewDisk(folder.path)
  const room = freeBytes - Math.min(KEPT_FREE, sizeBytes * KEPT_SHARE)
  if ((size ?? 0) > room) throw noRoom(size ?? 0, room)
  const frames = countedBytes(await open(), (bytes) => {
    if (bytes > room) throw noRoom(bytes, room)
  })
  const { opened, erasedUsers } = await folder.restore(name, frames, revokeLogins)
  return { name, id: opened.database.id, url: folder.url(name), erasedUsers }
}

/** Free bytes of the disk that a restore leaves to everybody else, and of a small disk this share. */
const KEPT_FREE = 64 * 2 ** 20
const KEPT_SHARE = 0.05

function noRoom(size: number, room: number): SatchelError {
  const mebibytes = (bytes: number) => Math.max(0, Math.floor(bytes / 2 ** 20))
  return new SatchelError(
    'STORAGE_FULL',
    `The backup has at least ${mebibytes(size)} MiB, and the disk of the data folder has room for ${mebibytes(room)} MiB: free some space, and restore it again`,
  )
}

/** The bytes as they come; `count` gets how many there were. */
export async function* countedBytes(
  pieces: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    count(bytes)
    yield piece
  }
}

/** About as many bytes as a backup will have, for its progress. */
async function countBytes({ hosts }: DataFolder, names: readonly string[]): Promise<number> {
  let total = 0
  for (const name of names) {
    const { database } = await hosts.open(name)
    const usage = await database.read((tx) => tx.blobs.usage(null))
    total += usage.bytes
    await using copy = await database.copy()
    total += copy.size
  }
  return total
}

/** Sent at once, in bytes. */
const SENT_BYTES = 64 * 1024

/** Sends pieces, small ones together, and stops when the caller has gone. `finish` sends the last of them. */
function createSender({ download, progress, signal }: Streams, total: number) {
  const waiting = Buffer.allocUnsafeSlow(SENT_BYTES)
  let length = 0
  let sent = 0

  async function finish(): Promise<void> {
    if (signal?.aborted === true) {
      throw new SatchelError('CONFLICT', 'The backup was interrupted, and nothing is left of it')
    }
    await download?.(waiting.subarray(0, length))
    sent += length
    length = 0
    progress?.(Math.min(sent, total), total)
  }

  async function send(piece: Uint8Array): Promise<void> {
    for (let rest = piece; rest.length > 0;) {
      const part = rest.subarray(0, SENT_BYTES - length)
      waiting.set(part, length)
      length += part.length
      rest = rest.subarray(part.length)
      if (length === SENT_BYTES) await finish()
    }
  }

  return { send, finish }
}
