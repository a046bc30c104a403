import { expect, test } from 'bun:test'
import { createUploads } from '../../../src/http/body/uploads'
import { createLedger } from '../../../src/limits/ledger'
import { codeOf } from '../../auth/setup'

/** As many slow uploads as there may be, and of one sender. A fast one has the memory of eight. */
const ALL = 1_024
const OF_SENDER = 896
const MIB = 1024 * 1024

function setup(cutAfterMs: number) {
  const uploads = createUploads(createLedger(), { cutAfterMs })
  const cut: string[] = []
  const begin = (sender: string) => uploads.begin(sender, () => cut.push(sender))
  return {
    cut,
    begin,
    /** Their senders are waited for. */
    beginMany: (sender: string, count: number) =>
      Array.from({ length: count }, () => {
        const upload = begin(sender)
        upload.await()
        return upload
      }),
  }
}

test('an upload for which there is no memory is refused while the others are new', async () => {
  const { cut, begin, beginMany } = setup(60_000)
  beginMany('alice', OF_SENDER)
  expect(await codeOf(async () => begin('alice'))).toBe('BUSY')
  beginMany('bob', ALL - OF_SENDER)
  expect(await codeOf(async () => begin('carol'))).toBe('BUSY')
  expect(cut).toEqual([])
})

test('a fast upload is not cut, however long it takes', () => {
  const { cut, begin, beginMany } = setup(0)
  for (const upload of beginMany('alice', OF_SENDER / 8)) {
    for (let times = 0; times < 16; times += 1) upload.consume(MIB)
    upload.await()
  }
  beginMany('bob', ALL - OF_SENDER)
  begin('carol')
  expect(cut).toEqual(['bob'])
})

test('a slow upload is cut for one of another sender, and for another of its own', async () => {
  const { cut, begin, beginMany } = setup(0)
  const slow = beginMany('alice', OF_SENDER)
  for (const upload of slow) {
    upload.consume(1)
    upload.await()
  }
  begin('alice')
  expect(cut).toEqual(['alice'])
  beginMany('bob', ALL - OF_SENDER)
  begin('carol')
  expect(cut).toHaveLength(2)
  for (const upload of slow) upload[Symbol.dispose]()
  beginMany('dave', OF_SENDER - 2)
  expect(cut).toHaveLength(2)
})

test('an upload whose bytes wait for the disk is not cut, and keeps its memory', async () => {
  const { cut, begin, beginMany } = setup(0)
  for (const { consume } of beginMany('alice', OF_SENDER)) consume(1)
  for (const { consume } of beginMany('bob', ALL - OF_SENDER)) consume(1)
  expect(await codeOf(async () => begin('carol'))).toBe('BUSY')
  expect(cut).toEqual([])
})
