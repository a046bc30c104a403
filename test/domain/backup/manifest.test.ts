import { expect, test } from 'bun:test'
import { readManifest, writeManifest } from '../../../src/domain/backup/manifest'

const GIVEN = {
  version: '0.1.0',
  created: '2030-01-31T02:30:00.000Z',
  databases: [],
  files: [{ path: 'server.sqlite', size: 1, hash: 'a'.repeat(64) }],
}

test('a manifest is read back with its hash', () => {
  const { text, hash } = writeManifest(GIVEN)
  expect(readManifest(text)).toEqual({ manifest: { format: 1, ...GIVEN }, hash })
})

test('a manifest with any other byte is refused', () => {
  const bytes = Buffer.from(writeManifest(GIVEN).text)
  for (let at = 0; at < bytes.length; at += 1) {
    const flipped = Buffer.from(bytes)
    flipped[at]! ^= 1
    expect(() => readManifest(flipped.toString('latin1'))).toThrow('manifest.json is damaged')
  }
  for (const text of ['', '{}', bytes.subarray(0, -1).toString(), `${bytes.toString()} `]) {
    expect(() => readManifest(text)).toThrow('manifest.json is damaged')
  }
})

test('a manifest of a later format is refused with its version', () => {
  const body = JSON.stringify({ format: 2, version: '9.0.0' })
  const hash = new Bun.CryptoHasher('sha256').update(body).digest('hex')
  expect(() => readManifest(`{"sha256":"${hash}","manifest":${body}}\n`)).toThrow(
    'made by a newer version of Satchel ("9.0.0")',
  )
})
