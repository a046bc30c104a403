import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SatchelError } from '../../src/domain/value/error'
import { temporaryFolder } from '../setup'
import { type Given, makeZip, readZip } from './setup'

/** Offsets in a record of the directory. */
const FLAGS = 8
const METHOD = 10
const CRC = 16
const PACKED_SIZE = 20
const SIZE = 24
const OFFSET = 42
const NAME = 46

const FILES = [
  { name: 'first', content: 'some bytes', size: 10 },
  { name: 'other', content: 'more bytes', size: 10 },
]

/** The refusal of a zip that is read to its end, after `spoil` changed its bytes. */
async function refused(
  spoil: (bytes: Buffer, record: number) => Buffer | void,
  files: readonly Given[] = FILES,
): Promise<string> {
  using folder = temporaryFolder()
  const path = await makeZip(folder.path, files)
  const bytes = readFileSync(path)
  const record = bytes.indexOf(Buffer.from('PK\u0001\u0002'))
  writeFileSync(path, spoil(bytes, record) ?? bytes)
  const error = await readZip(path).catch((thrown: unknown) => thrown)
  if (!(error instanceof SatchelError)) throw new Error('nothing was refused', { cause: error })
  expect(error.code).toBe('INVALID_REQUEST')
  return error.message
}

test('a file that ends too early is damaged, wherever it ends', async () => {
  using folder = temporaryFolder()
  const { length } = readFileSync(await makeZip(folder.path, FILES))
  for (const end of [0, 4, 30, 45, length - 22, length - 1]) {
    expect(await refused((bytes) => bytes.subarray(0, end))).toContain('its end is missing')
  }
})

test('bytes at the end that belong to nothing are told', async () => {
  const message = await refused((bytes) => Buffer.concat([bytes, Buffer.from('more')]))
  expect(message).toContain('damaged')
})

test('other bytes than were packed are told, stored or packed tightly', async () => {
  const changed = (text: string) => (bytes: Buffer) => {
    const at = bytes.indexOf(text)
    bytes[at + text.length] = (bytes[at + text.length] ?? 0) ^ 1
  }
  expect(await refused(changed('some by'))).toBe(
    'The zip is damaged: the bytes of "first" are not those packed',
  )
  const compressed = [{ name: 'first', content: 'abc'.repeat(900), compress: true }]
  expect(await refused((bytes) => void bytes.fill(0xff, 55, 65), compressed)).toContain('damaged')
  expect(await refused((bytes, record) => void bytes.writeUInt32LE(7, record + CRC))).toContain(
    'are not those packed',
  )
})

test('sizes that are not true are told', async () => {
  const compressed = [{ name: 'first', content: 'abc'.repeat(900), compress: true, size: 2700 }]
  for (const size of [0, 2699, 2701]) {
    const message = await refused(
      (bytes, at) => void bytes.writeUInt32LE(size, at + SIZE),
      compressed,
    )
    expect(message).toMatch(/damaged: (?:too many|not enough) bytes/)
  }
  const stored = await refused((bytes, at) => void bytes.writeUInt32LE(11, at + SIZE))
  expect(stored).toContain('size mismatch')
  const beyond = await refused((bytes, at) => {
    bytes.writeUInt32LE(100_000, at + SIZE)
    bytes.writeUInt32LE(100_000, at + PACKED_SIZE)
  })
  expect(beyond).toContain('more than it does')
})

test('files that share their bytes are refused', async () => {
  const content = Buffer.alloc(5_000, 'x')
  const files = ['first', 'other'].map((name) => ({ name, content, size: content.length }))
  using folder = temporaryFolder()
  const path = await makeZip(folder.path, files)
  const bytes = readFileSync(path)
  const record = bytes.indexOf(Buffer.from('PK\u0001\u0002'))
  const second = bytes.indexOf(Buffer.from('PK\u0001\u0002'), record + 4)
  bytes.writeUInt32LE(0, second + OFFSET)
  // Only the first file is left in front of the directory.
  const end = bytes.indexOf('other')
  const shared = Buffer.concat([bytes.subarray(0, end - 30), bytes.subarray(record)])
  shared.writeUInt32LE(end - 30, shared.length - 6)
  writeFileSync(join(folder.path, 'shared.zip'), shared)
  expect(readZip(join(folder.path, 'shared.zip'))).rejects.toThrow('more than it does')
})

test('zeros, which pack three hundred times smaller and more, are read', async () => {
  using folder = temporaryFolder()
  const content = Buffer.alloc(20_000_000)
  const path = await makeZip(folder.path, [{ name: 'zeros', content, compress: true }])
  expect(content.length / readFileSync(path).length).toBeGreaterThan(300)
  expect((await readZip(path))['zeros']).toHaveLength(content.length)
})

test('encrypted files and unknown ways of packing are refused by name', async () => {
  const locked = await refused((bytes, at) => {
    bytes.writeUInt16LE(0x0809, at + FLAGS)
    bytes.writeUInt32LE(22, at + PACKED_SIZE)
  })
  expect(locked).toBe('The zip has "first" in it, which is encrypted: pack it without a password')
  expect(await refused((bytes, at) => void bytes.writeUInt16LE(0x0840, at + FLAGS))).toContain(
    'encryption',
  )
  expect(await refused((bytes, at) => void bytes.writeUInt16LE(12, at + METHOD))).toContain(
    'use "deflate" or "store"',
  )
})

test('names that lead out of the archive are refused', async () => {
  for (const name of ['../aa', '/abcd', 'a/../', 'C:/ab', '..\\ab']) {
    const message = await refused((bytes, at) => void bytes.write(name, at + NAME))
    expect(message).toMatch(/relative path|absolute path/)
  }
})

test('a refusal shows names escaped and cut', async () => {
  const name = `a\u001b[31m${'b'.repeat(300)}`
  const message = await refused(
    (bytes, at) => void bytes.writeUInt16LE(12, at + METHOD),
    [{ name, content: 'x', size: 1 }],
  )
  expect(message).not.toContain('\u001b')
  expect(message.length).toBeLessThan(300)
})

test.if(Bun.which('zip') !== null)('a zip of an ordinary program is read', async () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'ordinary.zip')
  const text = 'the same line\n'.repeat(1_000)
  writeFileSync(join(folder.path, 'data.ndjson'), text)
  await Bun.$`cd ${folder.path} && mkdir blobs && echo one > blobs/a && zip -qr ${path} data.ndjson blobs`
  expect(await readZip(path)).toEqual({ 'data.ndjson': text, 'blobs/a': 'one\n' })
})
