import { Readable } from 'node:stream'
import { crc32, createDeflateRaw } from 'node:zlib'
import type { ArchiveMaker } from '../domain/archive'
import { dataDescriptor, directoryEnd, directoryRecord, localHeader } from './records'

const STORED = 0
const DEFLATED = 8

/** What does not fit into four bytes. */
const FOUR_GIB = 2 ** 32 - 1
/** Records of the directory that are kept in one piece. */
const BATCH = 256

/**
 * Makes a zip that is written front to back (APPNOTE 6.3.10): nothing about a file is known before
 * its bytes went by, so its lengths follow it. Only the directory is kept, some 130 bytes a file.
 */
export function createZip(now: number): ArchiveMaker {
  const time = dosTime(now)
  const directory: Buffer[] = []
  let batch: Buffer[] = []
  let offset = 0
  let count = 0

  function sent(bytes: Buffer): Buffer {
    offset += bytes.length
    return bytes
  }

  return {
    async *add(name, content, { size: expected = Number.POSITIVE_INFINITY, tight }) {
      const file = {
        name: Buffer.from(name),
        method: tight ? DEFLATED : STORED,
        time,
        isLarge: expected >= FOUR_GIB,
        offset,
      }
      yield sent(localHeader(file))
      const sum = { crc: 0, size: 0 }
      let packedSize = 0
      const counted = counting(content, sum)
      for await (const bytes of tight ? deflate(counted) : counted) {
        packedSize += bytes.length
        yield bytes
      }
      offset += packedSize
      const whole = { ...file, ...sum, packedSize }
      yield sent(dataDescriptor(whole))
      batch.push(directoryRecord(whole))
      count += 1
      if (batch.length === BATCH) {
        directory.push(Buffer.concat(batch))
        batch = []
      }
    },

    *finish() {
      const records = [...directory, ...batch]
      yield* records
      const length = records.reduce((sum, record) => sum + record.length, 0)
      yield directoryEnd({ offset, length, count })
    },
  }
}

async function* counting(
  content: AsyncIterable<Uint8Array>,
  sum: { crc: number; size: number },
): AsyncGenerator<Uint8Array> {
  for await (const bytes of content) {
    sum.crc = crc32(bytes, sum.crc)
    sum.size += bytes.length
    yield bytes
  }
}

async function* deflate(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(content, { objectMode: false })
  const packer = createDeflateRaw()
  source.on('error', (error) => packer.destroy(error))
  try {
    for await (const bytes of source.pipe(packer)) yield bytes as Uint8Array
  } finally {
    source.destroy()
    packer.destroy()
  }
}

/** In UTC, from 1980, in steps of two seconds. */
function dosTime(now: number): number {
  const date = new Date(Math.max(now, Date.UTC(1980, 0, 1)))
  const day =
    ((date.getUTCFullYear() - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate()
  const second =
    (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1)
  return day * 0x10000 + second
}
