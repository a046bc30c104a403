import { expect, test } from 'bun:test'
import { diskError, hasErrno, syncPath, syncPathNow } from '../src/disk'
import { SatchelError } from '../src/domain/value/error'
import { temporaryFolder } from './setup'

const errno = (code: string) => Object.assign(new Error(`${code}: /data/x`), { code })

test('translates the kinds of errors that have a message, and keeps the original as the cause', () => {
  const full = errno('ENOSPC')
  const told = diskError(full, { STORAGE_FULL: 'The disk is full' })
  expect(told).toMatchObject({ code: 'STORAGE_FULL', message: 'The disk is full', cause: full })
  expect(diskError(full, { READ_ONLY: 'Read only' })).toBe(full)
})

test('gives everything else back as it is', () => {
  const messages = { STORAGE_FULL: 'x', READ_ONLY: 'x', STORAGE_FAILED: 'x', BUSY: 'x' }
  for (const error of [
    errno('EUNKNOWN'),
    new Error('plain'),
    new SatchelError('CONFLICT', 'c'),
    1,
  ]) {
    expect(diskError(error, messages)).toBe(error)
  }
})

test('asks to repeat the request later when too many files are open', () => {
  expect(diskError(errno('EMFILE'), { BUSY: 'Repeat it' })).toMatchObject({ retryAfter: 2 })
})

test('knows an error of the file system by its code', () => {
  expect(hasErrno(errno('ENOENT'), 'EEXIST', 'ENOENT')).toBe(true)
  expect(hasErrno(errno('ENOENT'), 'EEXIST')).toBe(false)
  expect(hasErrno(new Error('ENOENT'), 'ENOENT')).toBe(false)
})

test('syncs files and folders, and reports a missing one', async () => {
  using folder = temporaryFolder()
  const file = `${folder.path}/file`
  await Bun.write(file, 'x')
  for (const path of [file, folder.path]) {
    await syncPath(path)
    syncPathNow(path)
  }
  const missing = `${folder.path}/missing`
  expect(syncPath(missing)).rejects.toThrow('ENOENT')
  expect(() => syncPathNow(missing)).toThrow('ENOENT')
})
