import { expect, test } from 'bun:test'
import { codeOf } from '../auth/setup'
import { ALICE, setupData } from '../http/setup'

test('blob.read sends the bytes of a blob', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const bytes = crypto.getRandomValues(new Uint8Array(300_000))
  const sent = await alice.send('PUT', '/blob/abcdefghijklmnopqrstuvwx', {
    body: bytes,
    headers: { 'content-type': 'image/png' },
  })
  expect(sent.status).toBe(200)
  const { ref } = sent.body as { ref: string }
  const read: Uint8Array[] = []
  const download = async (piece: Uint8Array) => void read.push(Uint8Array.from(piece))
  const output = await server.commands.run(
    'blob.read',
    { database: 'main', blob: ref },
    { download },
  )
  expect(output).toEqual({ ref, size: bytes.length, type: 'image/png' })
  expect(Buffer.concat(read).equals(bytes)).toBe(true)
  const none = () => server.commands.run('blob.read', { database: 'main', blob: 'none' })
  expect(await codeOf(none)).toBe('UNKNOWN_BLOB')
})
