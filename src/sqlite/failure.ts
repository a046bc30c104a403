import { SQLiteError } from 'bun:sqlite'
import { diskError, type DiskMessages, nextDescriptor } from '../disk'
import { SatchelError } from '../domain/value/error'

/** Translates an error of SQLite for the caller; other errors are returned unchanged. */
export function storageFailure(error: unknown): unknown {
  if (!(error instanceof SQLiteError)) return error
  const code = error.code ?? ''
  if (code === 'SQLITE_FULL' || isIndexTooLarge(error)) {
    return new SatchelError(
      'STORAGE_FULL',
      'The disk is full and nothing of this request was stored: free some space and repeat it',
      { cause: error },
    )
  }
  if (code === 'SQLITE_BUSY' || code.startsWith('SQLITE_BUSY_')) {
    return new SatchelError('BUSY', 'The database is busy: repeat the request', {
      retryAfter: 1,
      cause: error,
    })
  }
  if (code.startsWith('SQLITE_READONLY')) {
    return new SatchelError(
      'READ_ONLY',
      'The data folder is read-only: make it writable for the user of the server',
      { cause: error },
    )
  }
  // SQLite does not say why it cannot open a file.
  if (code.startsWith('SQLITE_CANTOPEN') && nextDescriptor() === undefined) {
    return new SatchelError('BUSY', 'Too many files are open here: repeat the request', {
      retryAfter: 2,
      cause: error,
    })
  }
  if (/^SQLITE_(IOERR|CORRUPT|NOTADB|CANTOPEN)/.test(code)) {
    return new SatchelError(
      'STORAGE_FAILED',
      'The storage failed and nothing of this request was stored: see the log of the server',
      { cause: error },
    )
  }
  return error
}

/** True when the disk has no room for the index of the write-ahead log, the file `-shm`. */
export function isIndexTooLarge(error: unknown): boolean {
  return error instanceof SQLiteError && error.code === 'SQLITE_IOERR_SHMSIZE'
}

/** True for the error of a row whose unique text is taken: its statement has changed nothing. */
export function isTaken(error: unknown): boolean {
  return error instanceof SQLiteError && error.code === 'SQLITE_CONSTRAINT_UNIQUE'
}

/** Why a database cannot be opened, said for the operator: the sentence names the file. */
export function openFailure(error: unknown, file: string): SatchelError {
  const failure = diskError(storageFailure(error), FILE_MESSAGES)
  if (failure instanceof SatchelError) {
    if (failure.code === 'NEWER_DATA') return failure
    if (failure.code === 'BUSY') return failure
    if (failure === error || failure.code !== 'STORAGE_FAILED') {
      return new SatchelError(failure.code, `${file}: ${failure.message}`, { cause: error })
    }
  }
  const words = error instanceof Error ? error.message : String(error)
  return new SatchelError('STORAGE_FAILED', `${file} cannot be used: ${words}`, { cause: error })
}

const FILE_MESSAGES: DiskMessages = {
  BUSY: 'Too many files are open here: repeat the request',
  STORAGE_FULL: 'The disk is full: free some space',
  READ_ONLY: 'The data folder is read-only: make it writable for the user of the server',
}
