import { expect, test } from 'bun:test'
import { diskFailure } from '../../../src/blobs/disk/disk'
import { SatchelError } from '../../../src/domain/value/error'
import { refusalOf } from '../../auth/setup'

const failing = (code: string) => async () => {
  throw diskFailure(Object.assign(new Error(`${code}: /data/blobs/x`), { code }))
}

test.each([
  ['ENOSPC', 'STORAGE_FULL'],
  ['EDQUOT', 'STORAGE_FULL'],
  ['EFBIG', 'STORAGE_FULL'],
  ['EROFS', 'READ_ONLY'],
  ['EACCES', 'READ_ONLY'],
  ['EIO', 'STORAGE_FAILED'],
  ['ENOENT', 'STORAGE_FAILED'],
  ['EMFILE', 'BUSY'],
] as const)('%s of the file system is told as %s, without the path', async (code, told) => {
  const refusal = await refusalOf(failing(code))
  expect(refusal.code).toBe(told)
  expect(refusal.message).not.toContain('/data')
  expect(String(refusal.cause)).toContain(code)
  expect(refusal.retryAfter === undefined).toBe(told !== 'BUSY')
})

test('an unexpected error is no failure of the disk', () => {
  const [strange, known] = [new Error('strange'), new SatchelError('CONFLICT', 'taken')]
  expect(diskFailure(strange)).toBe(strange)
  expect(diskFailure(known)).toBe(known)
})
