import {
  accessSync,
  close,
  closeSync,
  constants,
  fchown,
  fchownSync,
  fstat,
  fstatSync,
  fsync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  read,
  type Stats,
  statSync,
  write,
} from 'node:fs'
import { lstat, mkdir, open as openFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import process from 'node:process'
import { type ErrorCode, SatchelError } from './domain/value/error'

/** Makes a file, or the names in a folder, survive power loss. */
export async function syncPath(path: string): Promise<void> {
  using undo = new DisposableStack()
  await syncDescriptor(undo.adopt(openSync(path, 'r'), closeSync))
}

/** `syncPath` without giving way: for work before the server accepts requests. */
export function syncPathNow(path: string): void {
  using undo = new DisposableStack()
  fsyncSync(undo.adopt(openSync(path, 'r'), closeSync))
}

/** `syncPath` without holding up this thread, where the disk may hang. */
export async function syncPathSoon(path: string): Promise<void> {
  await using file = await openFile(path, 'r')
  await file.sync()
}

/** Waits until the content of an open file is on the disk. */
export function syncDescriptor(descriptor: number): Promise<void> {
  return promised((done) => fsync(descriptor, done))
}

/** The result of a function of `node:fs` that takes a callback. */
export function promised<T = void>(
  begin: (done: (error: unknown, result?: T) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    begin((error, result) => (error ? reject(error) : resolve(result as T)))
  })
}

/**
 * Creates a file that only its owner may read, and returns its descriptor, which writes. Everything beside the
 * files of others is made here: a link or a file that somebody has put there is neither followed nor opened
 * (design.md §2). Throws `EEXIST` for a name that is taken.
 */
export function createFile(path: string): number {
  return openSync(path, NEW_FILE, 0o600)
}

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

/**
 * `createFile` without holding up this thread, where the disk may hang. A file of root belongs to the owner of its
 * folder, if the file system has owners.
 */
export async function createFileSoon(path: string): Promise<number> {
  const file = await promised<number>((done) => open(path, NEW_FILE, 0o600, done))
  try {
    await giveAway(path, (uid, gid) => promised((done) => fchown(file, uid, gid, done)))
  } catch (error) {
    await promised((done) => close(file, done))
    throw error
  }
  return file
}

/** Gives what root has just created to the owner of the folder that it is in. */
async function giveAway(
  path: string,
  change: (uid: number, gid: number) => Promise<void>,
): Promise<void> {
  if (process.geteuid?.() !== 0) return
  const { uid, gid } = await stat(dirname(path))
  if (uid === 0) return
  await change(uid, gid).catch((error: unknown) => {
    if (!hasErrno(error, 'EPERM', 'ENOTSUP', 'EINVAL', 'ENOSYS')) throw error
  })
}

/**
 * `createFile` in a data folder: a file of root belongs to the owner of its folder (`inheritOwner`). Throws
 * `READ_ONLY` when that folder is a link of another user.
 */
export function createOwnFile(path: string): number {
  refuseForeignLink(dirname(path))
  using undo = new DisposableStack()
  const file = undo.adopt(createFile(path), closeSync)
  const owner = ownerFor(path)
  if (owner !== undefined) fchownSync(file, owner.uid, owner.gid)
  undo.move()
  return file
}

/**
 * Throws `READ_ONLY` when the path is a link of another user, who may have made it for root to follow, to write
 * or remove the files of others.
 */
export function refuseForeignLink(path: string): void {
  requireOwnLink(path, lstatSync(path, { throwIfNoEntry: false }))
}

function requireOwnLink(path: string, stats: Stats | undefined): void {
  if (stats?.isSymbolicLink() !== true || stats.uid === 0 || stats.uid === process.geteuid?.()) {
    return
  }
  throw new SatchelError(
    'READ_ONLY',
    `${path} is a link of another user, which is not followed: name the folder itself, or work as that user`,
  )
}

/** Appends bytes to an open file, all of them. */
export async function appendTo(file: number, bytes: Uint8Array): Promise<void> {
  for (let rest = bytes; rest.length > 0;) {
    const part = rest
    rest = rest.subarray(await promised<number>((done) => write(file, part, done)))
  }
}

export interface ReadOptions {
  /** Read at once, in bytes. */
  readonly atOnce: number
  /** The bytes from `begin` up to `end`; all, unless it says otherwise. */
  readonly begin?: number
  readonly end?: number
  /** Of `open(2)`. */
  readonly flags?: number
}

/**
 * The bytes of a file, read without holding up this thread. Each piece is good until the next one is asked for: a
 * buffer for each would be garbage that the collector leaves lying until it is tens of MB. Throws the errors of the
 * file system.
 */
export async function* readPieces(
  path: string,
  { atOnce, begin = 0, end = Number.POSITIVE_INFINITY, flags = constants.O_RDONLY }: ReadOptions,
): AsyncGenerator<Uint8Array> {
  const file = await promised<number>((done) => open(path, flags, done))
  try {
    const { size } = await promised<Stats>((done) => fstat(file, done))
    const buffer = Buffer.allocUnsafeSlow(Math.min(atOnce, Math.max(1, size - begin)))
    for (let at = begin; at < end;) {
      const wanted = Math.min(buffer.length, end - at)
      const from = at
      const count = await promised<number>((done) => read(file, buffer, 0, wanted, from, done))
      if (count === 0) return
      at += count
      yield buffer.subarray(0, count)
    }
  } finally {
    await promised((done) => close(file, done))
  }
}

/**
 * Creates a folder that only its owner may read, with its parents. Returns the first that did not
 * exist, undefined when all did. Throws `READ_ONLY` like `refuseForeignLink`.
 */
export function makeFolder(path: string): string | undefined {
  refuseForeignLink(path)
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first !== undefined) for (const folder of foldersTo(path, first)) inheritOwner(folder)
  return first
}

/** `makeFolder` without holding up this thread, where the disk may hang. */
export async function makeFolderSoon(path: string): Promise<void> {
  requireOwnLink(path, await findStats(path))
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (const folder of foldersTo(path, first)) {
    await giveAway(folder, async (uid, gid) => {
      await using handle = await openFile(folder, TO_GIVE_AWAY)
      if (isNewOfRoot(await handle.stat())) await handle.chown(uid, gid)
    })
  }
}

/** Undefined when nothing has this name; waits elsewhere than in this thread. */
export async function findStats(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** The folders on this path from `first`, which is one of them. */
function foldersTo(path: string, first: string): string[] {
  const folders: string[] = []
  for (let folder = resolve(path); folder.startsWith(first); folder = dirname(folder))
    folders.unshift(folder)
  return folders
}

/**
 * Gives a new file or folder of root to the owner of the folder it is in: a command of root must not
 * keep the user of the service from its own data. To be called right after it was created.
 */
export function inheritOwner(path: string): void {
  const owner = ownerFor(path)
  if (owner === undefined) return
  using undo = new DisposableStack()
  const descriptor = undo.adopt(openSync(path, TO_GIVE_AWAY), closeSync)
  if (isNewOfRoot(fstatSync(descriptor))) fchownSync(descriptor, owner.uid, owner.gid)
}

/** The owner of the folder may have replaced it: neither a link nor a file of another name is given away. */
const TO_GIVE_AWAY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

function isNewOfRoot(found: Stats): boolean {
  return found.uid === 0 && (found.isDirectory() || (found.isFile() && found.nlink === 1))
}

/** True for root in the folder of another user, who may have prepared it. */
export function worksForAnother(path: string): boolean {
  return ownerFor(path) !== undefined
}

/** The owner of the folder of this path, when this process is root's and the folder is not. */
function ownerFor(path: string): { readonly uid: number; readonly gid: number } | undefined {
  if (process.geteuid?.() !== 0) return undefined
  const { uid, gid } = statSync(dirname(path))
  return uid === 0 ? undefined : { uid, gid }
}

/**
 * True for a folder of this user that no other user can have changed. In a place that all users may
 * write, anything else may be a trap: a link to a file that we would lock, chmod or remove.
 */
export function isPrivateFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return (
    stats !== undefined &&
    stats.isDirectory() &&
    stats.uid === process.geteuid?.() &&
    (stats.mode & 0o077) === 0
  )
}

/** The number that the next file descriptor has, undefined when none is left. */
export function nextDescriptor(): number | undefined {
  try {
    const descriptor = openSync('/dev/null', 'r')
    closeSync(descriptor)
    return descriptor
  } catch (error) {
    // Without `/dev/null` nothing can be said.
    return hasErrno(error, 'EMFILE', 'ENFILE') ? undefined : 0
  }
}

/** True for a file or folder that exists and that this user may write. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** True for an error of the file system with one of these codes, such as `ENOENT`. */
export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}

/** The kinds of file system errors that are explained to the caller. */
type DiskErrorCode = Extract<ErrorCode, 'BUSY' | 'READ_ONLY' | 'STORAGE_FAILED' | 'STORAGE_FULL'>

/** The message for each kind of error; a kind without a message is not translated. */
export type DiskMessages = Readonly<Partial<Record<DiskErrorCode, string>>>

/**
 * An error of the file system as a `SatchelError` with one of these messages and the original as
 * `cause`; every other error comes back as it is. `BUSY` has a `retryAfter` of two seconds.
 */
export function diskError(error: unknown, messages: DiskMessages): unknown {
  const kind = KINDS.find(({ errnos }) => hasErrno(error, ...errnos))
  const message = kind && messages[kind.code]
  if (kind === undefined || message === undefined) return error
  const { code, retryAfter } = kind
  return new SatchelError(code, message, { cause: error, ...(retryAfter && { retryAfter }) })
}

const KINDS: readonly {
  readonly code: DiskErrorCode
  readonly errnos: readonly string[]
  /** In seconds. */
  readonly retryAfter?: number
}[] = [
  { code: 'BUSY', errnos: ['EMFILE', 'ENFILE'], retryAfter: 2 },
  { code: 'STORAGE_FULL', errnos: ['ENOSPC', 'EDQUOT', 'EFBIG'] },
  { code: 'READ_ONLY', errnos: ['EACCES', 'EPERM', 'EROFS'] },
  {
    code: 'STORAGE_FAILED',
    errnos: ['EIO', 'ENOENT', 'EEXIST', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO', 'ESTALE'],
  },
]
