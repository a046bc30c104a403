import { closeSync, fsync, fsyncSync, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { type ErrorCode, SatchelError } from './domain/value/error'

/** Makes a file, or the names in a folder, survive power loss. */
export async function syncPath(path: string): Promise<void> {
  using undo = new DisposableStack()
  await syncDescriptor(undo.adopt(openSync(path, 'r'), closeSync))
}

/** The same without giving way: for work before the server accepts requests. */
export function syncPathNow(path: string): void {
  using undo = new DisposableStack()
  fsyncSync(undo.adopt(openSync(path, 'r'), closeSync))
}

/** Waits until the content of an open file is on the disk. */
export const syncDescriptor = promisify(fsync)

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
