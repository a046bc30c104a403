import { diskError, type DiskMessages, hasErrno } from '../../disk'
import { SatchelError } from '../../domain/value/error'

/** Runs work on the disk; its errors are translated for the caller. */
export async function onDisk<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskFailure(error)
  }
}

/** An error of the file system, translated for the caller; other errors come back as they are. */
export function diskFailure(error: unknown): unknown {
  return error instanceof SatchelError ? error : diskError(error, MESSAGES)
}

/** True for a missing file, before or after the error was translated. */
export function isMissing(error: unknown): boolean {
  return hasErrno(error instanceof SatchelError ? error.cause : error, 'ENOENT')
}

const MESSAGES: DiskMessages = {
  BUSY: 'Too many files are open: repeat the request',
  STORAGE_FULL: 'The disk is full: the blob was not stored. Free some space and repeat the request',
  READ_ONLY: 'The data folder is read-only: make it writable for the user of the server',
  STORAGE_FAILED: 'The storage failed: the blob was not stored. see the log of the server',
}
