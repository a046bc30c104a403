import { expect, test } from 'bun:test'
import { createDatabase } from '../../../src/control/databases'
import { backUp } from '../../../src/domain/backup/source'
import { SatchelError } from '../../../src/domain/value/error'
import { setupDataFolder } from '../../control/setup'

test('the pieces of a large blob give way to commits as those of the database do', async () => {
  await using folder = await setupDataFolder()
  await createDatabase(folder, 'main')
  const host = await folder.hosts.open('main')
  const { blobs, key } = host
  const piece = Buffer.alloc(1024 * 1024, 'x')
  const room = { bytes: 64 * piece.length, refuse: () => new SatchelError('PAYLOAD_TOO_LARGE', '') }
  await using arrival = await blobs.receive(
    (async function* () {
      for (let sent = 0; sent < 8; sent += 1) yield piece
    })(),
    room,
  )
  await arrival.keep(async () => {})
  await using held = await host.database.copy()
  let paused = 0
  const copy = {
    ...held,
    contents: () => [{ hash: arrival.hash, size: arrival.size, file: arrival.file }],
    async giveWay() {
      paused += 1
    },
  }
  const source = { name: 'main', copy, blobs, key: key.facts, keyFile: null }
  let bytes = 0
  let pieces = 0
  for await (const part of backUp(source, async () => false)) {
    if (part[0] !== piece[0]) continue
    bytes += part.length
    pieces += 1
  }
  expect(bytes).toBe(8 * piece.length)
  expect(pieces).toBeGreaterThan(8)
  expect(paused).toBe(pieces)
})
