import { expect, test } from 'bun:test'
import { createKnownBlobs, knownLine } from '../../../src/domain/backup/known'

test('blobs are known by database and hash, asked in order', async () => {
  const lines = [
    knownLine('a', '1'),
    knownLine('a', '3'),
    knownLine('a-b', '1'),
    knownLine('b', '2'),
  ]
  const known = createKnownBlobs(cut(`${lines.join('\n')}\n`, 3))
  const asked = ['a 0', 'a 1', 'a 2', 'a 3', 'a 4', 'a-b 1', 'a-b 2', 'b 1', 'b 2', 'c 1']
  const answers: boolean[] = []
  for (const line of asked) {
    const [database = '', hash = ''] = line.split(' ')
    answers.push(await known(database, hash))
  }
  expect(asked.filter((_, n) => answers[n])).toEqual(lines)
})

test('without a list nothing is known', async () => {
  expect(await createKnownBlobs(undefined)('a', '1')).toBe(false)
  expect(await createKnownBlobs(cut('', 1))('a', '1')).toBe(false)
})

async function* cut(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
