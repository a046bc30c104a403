import { expect, test } from 'bun:test'
import { createFrameReader, type FrameHead, writeHead } from '../../../src/domain/backup/frames'

const HEADS: readonly FrameHead[] = [
  { kind: 'file', path: 'database.sqlite', size: 5 },
  { kind: 'blob', state: 'known', hash: 'a', size: 7, file: 'a' },
  { kind: 'file', path: 'empty', size: 0 },
  { kind: 'blob', state: 'sent', hash: 'b', size: 2, file: 'p' },
]
const BYTES = Buffer.concat([
  writeHead(HEADS[0]!),
  Buffer.from('a\nb\nc'),
  writeHead(HEADS[1]!),
  writeHead(HEADS[2]!),
  writeHead(HEADS[3]!),
  Buffer.from('xy'),
])

function collector() {
  const parts: { head: FrameHead; text: string; isEnded: boolean }[] = []
  const reader = createFrameReader({
    begin: async (head) => void parts.push({ head, text: '', isEnded: false }),
    bytes: async (piece) => void (parts.at(-1)!.text += Buffer.from(piece).toString()),
    end: async () => void (parts.at(-1)!.isEnded = true),
  })
  return { parts, reader }
}

test.each([1, 2, 3, 7, 64, 1_000])('parts arrive in pieces of %d bytes', async (size) => {
  const { parts, reader } = collector()
  for (let at = 0; at < BYTES.length; at += size) await reader.push(BYTES.subarray(at, at + size))
  reader.close()
  const texts = ['a\nb\nc', '', '', 'xy']
  expect(parts).toEqual(HEADS.map((head, n) => ({ head, text: texts[n]!, isEnded: true })))
})

test('a stream that is cut off is refused', async () => {
  for (const length of [3, BYTES.length - 1]) {
    const { reader } = collector()
    await reader.push(BYTES.subarray(0, length))
    expect(() => reader.close()).toThrow('cut off')
  }
})

test('a head without an end is refused', async () => {
  const { reader } = collector()
  const error = await reader.push(Buffer.alloc(100_000, 'x')).catch((failure: unknown) => failure)
  expect(String(error)).toContain('no beginning')
})
