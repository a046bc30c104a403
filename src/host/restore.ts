import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { keyProof } from '../auth/key/secret-key'
import { createNewFiles, type Makers, type NewFiles } from '../backups/new-files'
import { contentFile } from '../blobs/disk/disk'
import type { Clock } from '../clock'
import { createOwnFile, diskError, makeFolder, syncPath } from '../disk'
import { createFrameReader, type FrameHead } from '../domain/backup/frames'
import type { ErasedUser } from '../domain/store/copy'
import { removeUser } from '../domain/user/removal'
import { SatchelError } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import { openDatabase } from '../sqlite/database'
import { findErasedUsers, renewRestored } from '../sqlite/restored'
import { damageIn } from './backup-target'
import { diskMessages, isHalfRestored, STAGING } from './folder'

export interface RestoreOptions {
  /** The key of the settings, which seals the secrets of all databases; null: each has its own. */
  readonly secretKey: Uint8Array | null
  /** Ends all logins. */
  readonly revokesLogins: boolean
  readonly clock: Clock
}

/**
 * Makes the folder of a database of the parts of a backup, and checks it. Throws errors of the disk,
 * `STORAGE_FAILED` for a key that is missing or another, `NEWER_DATA` and `DAMAGED`; then nothing is left of it. Returns
 * how many users were deleted again, because the parts name them as deleted after the backup.
 */
export async function restoreInto(
  folder: string,
  frames: AsyncIterable<Uint8Array>,
  options: RestoreOptions,
): Promise<number> {
  await using undo = new AsyncDisposableStack()
  undo.defer(() => rmSync(folder, { recursive: true, force: true }))
  await using files = createNewFiles(folder, NEW_FILES)
  const writer = createRestoreWriter(folder, files)
  const reader = createFrameReader(writer)
  await explainedFrames(async () => {
    for await (const piece of frames) await reader.push(piece)
    reader.close()
  })
  await files.sync()
  requireKey(folder, writer.key(), options.secretKey)
  const file = join(folder, 'database.sqlite')
  const damage = await damageIn(file)
  if (damage.length > 0) throw damaged(damage[0])
  renewRestored(file, options)
  const erasedUsers = await eraseAgain(folder, findErasedUsers(file, writer.erased), options.clock)
  await syncPath(folder)
  undo.move()
  return erasedUsers
}

/** Errors without a code come from parts that are none of a backup: a file of another kind, or one that was cut off. */
async function explainedFrames(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof Error && 'code' in error) throw error
    throw new SatchelError(
      'DAMAGED',
      'This is no backup of a database, or it was cut off on its way',
      {
        cause: error,
      },
    )
  }
}

const NEW_FILES: Makers = { make: makeFolder, create: createOwnFile, syncsAtOnce: 64 }

/** Their objects are erased by jobs, once the database is served. */
async function eraseAgain(folder: string, users: readonly string[], clock: Clock): Promise<number> {
  if (users.length === 0) return 0
  await using database = openDatabase('restored', folder, { clock, durability: 'full' })
  for (const id of users) await database.write((tx) => removeUser(tx, id, clock.now()))
  return users.length
}

/** Writes the parts of one database to a new folder. */
function createRestoreWriter(folder: string, files: NewFiles) {
  let key: Extract<FrameHead, { kind: 'database' }>['key'] | undefined
  let sink: Awaited<ReturnType<NewFiles['create']>> | undefined
  const erased: ErasedUser[] = []

  function pathOf(head: Extract<FrameHead, { kind: 'file' | 'blob' }>): string {
    if (head.kind === 'blob') return contentFile(join(folder, 'blobs'), head.file)
    if (head.path === 'database.sqlite' || head.path === 'secret.key')
      return join(folder, head.path)
    throw damaged(`there is no file ${head.path} in a database`)
  }

  return {
    async begin(head: FrameHead) {
      if (head.kind === 'database') key = head.key
      else if (head.kind === 'erased') erased.push(...head.users)
      else sink = await files.create(pathOf(head))
    },
    bytes: async (piece: Uint8Array) => await sink?.write(piece),
    async end() {
      await sink?.end()
      sink = undefined
    },
    erased,
    key() {
      if (key === undefined) throw damaged('it has no database')
      return key
    },
  }
}

/** Throws `STORAGE_FAILED` unless the secrets of the database can be opened with the key that it will have. */
function requireKey(
  folder: string,
  { proof }: { readonly proof: string },
  configured: Uint8Array | null,
): void {
  if (configured !== null) {
    if (keyProof(configured) === proof) return
    throw new SatchelError(
      'STORAGE_FAILED',
      'The secrets in this backup are sealed with another key than SATCHEL_SECRET_KEY: leave it unset for a backup with keys of its own, or set it to the key of that time',
    )
  }
  const path = join(folder, 'secret.key')
  if (!existsSync(path)) {
    throw new SatchelError(
      'STORAGE_FAILED',
      'The key of this backup is not in it: set SATCHEL_SECRET_KEY to the key that the server had, or to the content of its secret.key',
    )
  }
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'base64url')
  if (keyProof(key) !== proof) throw damaged('its secret.key is that of another database')
}

/** The names in a folder without data: of its lock, and of a file system of its own. */
const NO_DATA = /^(?:lock\.sqlite(?:-journal)?|holder\.json(?:\.new)?|control\.sock|lost\+found)$/

/** Throws `CONFLICT` unless a restore may write the data folder: it is absent or empty, or one was interrupted in it. */
export function requireRestorable(folder: string): void {
  if (!existsSync(folder)) return
  const isInterrupted = isHalfRestored(folder)
  const isOurs = (name: string) =>
    NO_DATA.test(name) || name.startsWith(STAGING) || (isInterrupted && name === 'server.sqlite')
  const found = readdirSync(folder).find((name) => !isOurs(name))
  if (found === undefined) return
  throw new SatchelError(
    'CONFLICT',
    `${folder} is not empty (${found}): a backup is restored to a new folder (--data), or as a database beside others (--as)`,
  )
}

/**
 * Makes a data folder, which this process has locked, of a whole backup: it appears when it is complete. `serverFile` is
 * null for a backup of one database. Returns how many users were deleted again.
 */
export async function restoreFolder(
  folder: string,
  databases: readonly { readonly name: string; readonly frames: () => AsyncIterable<Uint8Array> }[],
  serverFile: AsyncIterable<Uint8Array> | null,
  options: RestoreOptions,
): Promise<number> {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(STAGING)) rmSync(join(folder, name), { recursive: true, force: true })
  }
  rmSync(join(folder, 'server.sqlite'), { force: true })
  const staging = join(folder, `${STAGING}${randomToken(6)}`)
  await using undo = new AsyncDisposableStack()
  undo.defer(() => rmSync(staging, { recursive: true, force: true }))
  return await explained(folder, async () => {
    let erasedUsers = 0
    makeFolder(join(staging, 'databases'))
    for (const { name, frames } of databases) {
      erasedUsers += await restoreInto(join(staging, 'databases', name), frames(), options)
    }
    if (serverFile !== null) await writeFile(join(staging, 'server.sqlite'), serverFile)
    await syncPath(join(staging, 'databases'))
    await syncPath(staging)
    // The databases come last: with them the restore is complete.
    if (serverFile !== null)
      renameSync(join(staging, 'server.sqlite'), join(folder, 'server.sqlite'))
    renameSync(join(staging, 'databases'), join(folder, 'databases'))
    await syncPath(folder)
    return erasedUsers
  })
}

async function writeFile(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  await using files = createNewFiles(path, NEW_FILES)
  const sink = await files.create(path)
  for await (const piece of bytes) await sink.write(piece)
  await sink.end()
  await files.sync()
}

async function explained<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskError(error, diskMessages(folder))
  }
}

function damaged(words = ''): SatchelError {
  return new SatchelError('DAMAGED', `The backup cannot be restored, it is damaged: ${words}`)
}
