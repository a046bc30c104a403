import { SatchelError, type ErrorCode } from '../../domain/value/error'

/** Runs work on the disk; what goes wrong there is said for the caller. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskFailure(error)
  }
}

/** What the file system says, for the caller; other errors come back as they are. */
export function diskFailure(error: unknown): unknown {
  if (error instanceof SatchelError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const failure = FAILURES.find(({ codes }) => codes.includes(code))
  if (failure === undefined) return error
  const { means, sentence, retryAfter } = failure
  return new SatchelError(means, sentence, { cause: error, ...(retryAfter && { retryAfter }) })
}

/** True for a file that is not there, before or after it was said for the caller. */
export function isMissing(error: unknown): boolean {
  if (error instanceof SatchelError) return isMissing(error.cause)
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

interface Failure {
  readonly codes: readonly string[]
  readonly means: ErrorCode
  readonly sentence: string
  /** In seconds. */
  readonly retryAfter?: number
}

const FAILURES: readonly Failure[] = [
  {
    codes: ['EMFILE', 'ENFILE'],
    means: 'BUSY',
    sentence: 'Too many files are open: repeat the request',
    retryAfter: 2,
  },
  {
    codes: ['ENOSPC', 'EDQUOT', 'EFBIG'],
    means: 'STORAGE_FULL',
    sentence: 'The disk is full: the blob was not stored. Free some space and repeat it',
  },
  {
    codes: ['EACCES', 'EPERM', 'EROFS'],
    means: 'READ_ONLY',
    sentence: 'The data folder cannot be written',
  },
  {
    codes: ['EIO', 'ENOENT', 'EEXIST', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO', 'ESTALE'],
    means: 'STORAGE_FAILED',
    sentence: 'The storage failed: the blob was not stored. The log of the server says more',
  },
]
