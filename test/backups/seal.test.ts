import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { createSealer, unseal } from '../../src/backups/seal'

const KEY = randomBytes(32)
const PIECE = 64 * 1024
const SEALED_PIECE = PIECE + 16
const HEAD = 24

function seal(bytes: Uint8Array, name = 'a'): Buffer {
  const sealer = createSealer(KEY, name)
  const parts: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += 50_000)
    parts.push(sealer.update(bytes.subarray(at, at + 50_000)))
  return Buffer.concat([...parts, sealer.end()])
}

async function open(sealed: Uint8Array, name = 'a', key: Uint8Array = KEY): Promise<Buffer> {
  async function* cut() {
    for (let at = 0; at < sealed.length; at += 30_001) yield sealed.subarray(at, at + 30_001)
  }
  return Buffer.concat(await Array.fromAsync(unseal(key, name, cut())))
}

async function refusal(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'opened',
    (error: unknown) => String(error),
  )
}

describe('a sealed file', () => {
  test.each([0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 200_000])(
    'of %d bytes opens',
    async (size) => {
      const bytes = randomBytes(size)
      const sealed = seal(bytes)
      expect((await open(sealed)).equals(bytes)).toBe(true)
      expect(size < 16 || !sealed.includes(bytes.subarray(0, 16))).toBe(true)
    },
  )

  test('does not open with another key or under another name', async () => {
    const sealed = seal(Buffer.from('secret'))
    expect(await refusal(open(sealed, 'a', randomBytes(32)))).toContain('sealed with another key')
    expect(await refusal(open(sealed, 'b'))).toContain('is damaged')
  })

  test('does not open when a byte is flipped, wherever it is', async () => {
    const sealed = seal(randomBytes(PIECE + 10))
    for (const at of [0, 7, 8, 23, 24, 1_000, PIECE + 30, sealed.length - 1]) {
      const flipped = Buffer.from(sealed)
      flipped[at]! ^= 1
      expect(await refusal(open(flipped))).toContain('is damaged')
    }
  })

  test('does not open when pieces are cut off, left out, swapped or repeated', async () => {
    const sealed = seal(randomBytes(3 * PIECE + 10))
    const head = sealed.subarray(0, HEAD)
    const pieces = [0, 1, 2, 3].map((n) =>
      sealed.subarray(HEAD + n * SEALED_PIECE, HEAD + (n + 1) * SEALED_PIECE),
    )
    const orders = [
      [],
      [0],
      [0, 1],
      [0, 1, 2],
      [1, 2, 3],
      [0, 2, 3],
      [1, 0, 2, 3],
      [0, 1, 2, 2, 3],
      [0, 1, 2, 3, 3],
    ]
    for (const order of orders) {
      const changed = Buffer.concat([head, ...order.map((n) => pieces[n]!)])
      expect(await refusal(open(changed))).toContain('is damaged')
    }
    expect(await refusal(open(sealed.subarray(0, -1)))).toContain('is damaged')
  })
})
