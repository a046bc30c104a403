import { version } from '../../package.json'
import { bytesOf, readManifestOf } from '../backups/contents'
import { readLaterErasures } from '../backups/erased'
import { type MadeBackup, makeVerifiedBackup, type SendBackup } from '../backups/make'
import { sendDatabase } from '../backups/read'
import type { Target } from '../backups/target'
import { type BackupFault, verifyBackup } from '../backups/verify'
import { folderOf, type Manifest, type ManifestDatabase } from '../domain/backup/manifest'
import { quoted, SatchelError } from '../domain/value/error'
import { damageIn, holdTarget } from '../host/backup-target'
import type { DataFolder } from '../host/data-folder'
import { backupOperations, restoreFrom } from './backups'
import { described, flag, optional, text } from './fields'
import { onFolder } from './operation'

const BACKUP = {
  backup: described(text, 'The name of a backup: the time when it was begun.', {
    examples: ['2030-01-31T02-30-00Z'],
  }),
}
const DATABASE_OF = described(
  optional(text),
  'The database of the backup; absent: the one that it has.',
)

/** The backups in the place of a running server, which `--backup` names (backup.md). */
export const keptBackupOperations = {
  /** The newest first; `problem` says why a backup cannot be read. `target` is null where the server has no place. */
  'backup.list': onFolder(
    { scopes: 'operator', effect: 'read', summary: 'List the backups of the server', input: {} },
    async ({ backups: { place } }) => {
      if (place === null) return { target: null, backups: [] }
      const backups = []
      for (const backup of (await place.list()).toReversed()) {
        backups.push({ backup, ...(await describeBackup(place, backup)) })
      }
      return { target: place.name, backups }
    },
  ),

  /** Makes a backup of one database or of all, and reads it again; progress is in bytes. Throws what `backup` throws. */
  'backup.make': onFolder(
    {
      scopes: 'operator',
      effect: 'write',
      summary: 'Make a backup in the place of the server',
      input: { database: described(optional(text), 'Only this database.') },
    },
    async (folder, { database }, order) => {
      const target = requirePlace(folder)
      const { name, hash, bytes, written, databases } = await makeBackupIn(
        folder,
        target,
        (streams) => backupOperations.backup.run(folder, { database }, { ...order, ...streams }),
      )
      return {
        backup: name,
        target: target.name,
        sha256: hash,
        bytes,
        written,
        databases: databases.map(({ name: each }) => each),
        damagedBlobs: databases.reduce((sum, { blobs }) => sum + blobs.damaged.length, 0),
      }
    },
  ),

  /** Reads a backup again, and compares it with its manifest; progress is in bytes. Throws `UNKNOWN_OBJECT`. */
  'backup.verify': onFolder(
    { scopes: 'operator', effect: 'read', summary: 'Verify a backup of the server', input: BACKUP },
    async (folder, { backup }, { progress, signal }) => {
      const { target, manifest } = await requireBackup(folder, backup)
      const total = bytesOf(manifest)
      const { hash, files, bytes, faults } = await verifyBackup(target, backup, {
        progress: (done) => progress?.(Math.min(done, total), total),
        damageIn,
        ...(signal === undefined ? {} : { signal }),
      })
      return { backup, sha256: hash, files, bytes, faults }
    },
  ),

  /** The download is one database of a backup, as `backup` sends it. Throws `UNKNOWN_OBJECT` and `UNKNOWN_DATABASE`. */
  'backup.read': onFolder(
    {
      scopes: 'operator',
      effect: 'secret',
      summary: 'Send a database of a backup of the server',
      input: { ...BACKUP, database: DATABASE_OF },
      sendsFile: true,
    },
    async (folder, { backup, database }, { download, signal }) => {
      const { target, manifest } = await requireBackup(folder, backup)
      const chosen = requireDatabase(manifest, database)
      for await (const piece of await framesOf(target, backup, manifest, chosen)) {
        signal?.throwIfAborted()
        await download?.(piece)
      }
      return { backup, database: chosen.name }
    },
  ),

  /**
   * Makes a database of a backup, which is compared with its manifest before anything is written, a new one with this
   * name. Throws `UNKNOWN_OBJECT`, `UNKNOWN_DATABASE`, `DAMAGED`, and what `backup.restore` throws.
   */
  'backup.restore-kept': onFolder(
    {
      scopes: 'operator',
      effect: 'write',
      summary: 'Restore a database of a backup of the server under a new name',
      input: { ...BACKUP, database: DATABASE_OF, name: text, revokeLogins: flag },
    },
    async (folder, { backup, database, name, revokeLogins }, { progress, signal }) => {
      const { target, manifest } = await requireBackup(folder, backup)
      const chosen = requireDatabase(manifest, database)
      return await restoreFrom(
        folder,
        { name, revokeLogins, size: sizeOf(manifest, chosen) },
        async () => {
          const total = bytesOf(manifest)
          const { faults } = await verifyBackup(target, backup, {
            progress: (done) => progress?.(Math.min(done, total), total, 'Checking'),
            ...(signal === undefined ? {} : { signal }),
          })
          requireWhole(faults)
          return untilAborted(await framesOf(target, backup, manifest, chosen), signal)
        },
      )
    },
  ),
}

/** Ends with the reason of the signal, so that what was read is given up. */
async function* untilAborted<T>(parts: AsyncIterable<T>, signal: AbortSignal | undefined) {
  for await (const part of parts) {
    signal?.throwIfAborted()
    yield part
  }
}

/**
 * Makes a backup of what `send` sends, reads it again, and keeps other processes out of its folder meanwhile. The signal
 * ends the reading, too.
 */
export async function makeBackupIn(
  { clock }: Pick<DataFolder, 'clock'>,
  target: Target,
  send: SendBackup,
  signal?: AbortSignal,
): Promise<MadeBackup> {
  await using _ = await holdTarget(target)
  const now = clock.now()
  return await makeVerifiedBackup(target, send, {
    now,
    version,
    damageIn,
    ...(signal === undefined ? {} : { signal }),
  })
}

async function describeBackup(target: Target, backup: string) {
  try {
    const { manifest, hash } = await readManifestOf(target, backup)
    return {
      created: manifest.created,
      bytes: bytesOf(manifest),
      databases: manifest.databases.map(({ name }) => name),
      sha256: hash,
      problem: null,
    }
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    return { created: null, bytes: null, databases: [], sha256: null, problem: error.message }
  }
}

/** The bytes that one database of the backup will have. */
function sizeOf({ files }: Manifest, { name, blobs }: ManifestDatabase): number {
  const own = files.filter(({ path }) => path.startsWith(`${folderOf(name)}/`))
  return own.reduce((sum, { size }) => sum + size, blobs.bytes)
}

/** A database with the users that later backups name as deleted. */
async function framesOf(
  target: Target,
  backup: string,
  { files }: Manifest,
  database: ManifestDatabase,
): Promise<AsyncGenerator<Uint8Array>> {
  const { usersById } = await readLaterErasures(target, backup)
  const erased = usersById.get(database.facts.id) ?? []
  return sendDatabase(target, backup, database, files, erased)
}

/** Throws `CONFLICT` where the server has no place for backups. */
function requirePlace({ backups: { place } }: DataFolder): Target {
  if (place !== null) return place
  throw new SatchelError(
    'CONFLICT',
    'This server has no place for backups: start it with --backup and a folder or s3://bucket/prefix, or run satchel backup',
  )
}

/** Throws `UNKNOWN_OBJECT`, and `DAMAGED` for a manifest that cannot be read. */
async function requireBackup(folder: DataFolder, backup: string) {
  const target = requirePlace(folder)
  if (!(await target.list()).includes(backup)) {
    throw new SatchelError(
      'UNKNOWN_OBJECT',
      `There is no complete backup ${quoted(backup)} in ${target.name}: list them again`,
    )
  }
  const { manifest } = await readManifestOf(target, backup)
  return { target, manifest }
}

/** Throws `UNKNOWN_DATABASE`. */
function requireDatabase({ databases }: Manifest, name: string | null): ManifestDatabase {
  const [only, ...others] = databases
  if (name === null && only !== undefined && others.length === 0) return only
  const found = databases.find((each) => each.name === name)
  if (found !== undefined) return found
  const names = databases.map((each) => each.name).join(', ')
  throw new SatchelError('UNKNOWN_DATABASE', `Choose a database of the backup: it has ${names}`)
}

/** Throws `DAMAGED`. */
function requireWhole([fault]: readonly BackupFault[]): void {
  if (fault === undefined) return
  throw new SatchelError(
    'DAMAGED',
    `Nothing was restored: ${fault.path} of the backup is not as it was written. Verify it, and restore another one`,
  )
}
