import { postJson } from '../http/setup'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { filesByHash } from '../blobs/files'
import { until } from '../timing'
import { pushSchema, satchelJson } from '../binary/setup'
import type { Described } from './addon/described'
import { openDevice, setupServed } from './addon/setup'
import { lastAnswer } from './addon/sync'

/**
 * conformance.md 136, 137, 142: the published add-on uploads what is large and downloads it on another
 * device, both unchanged.
 */

type Served = Awaited<ReturnType<typeof setupServed>>

async function setup(): Promise<Served> {
  const served = await setupServed()
  await pushSchema(served.surroundings, { items: '@id, title' })
  return served
}

const bytes = (length: number) =>
  Buffer.from(Array.from({ length }, (_, at) => (at * 7) % 256)).toString('base64')

const ROW: { readonly of: Readonly<Record<string, Described>> } = {
  of: {
    id: 'itm1',
    picture: { bytes: bytes(1), as: 'Blob', type: 'image/png' },
    empty: { bytes: '', as: 'Blob', type: 'application/pdf' },
    nested: [
      { of: { array: { bytes: bytes(4096), as: 'Uint8Array' } } },
      [
        { bytes: bytes(8192), as: 'Float64Array' },
        { bytes: bytes(5000), as: 'ArrayBuffer' },
      ],
    ],
    small: { bytes: bytes(4095), as: 'Uint8Array' },
    text: 'ü'.repeat(32_769),
    short: 'x'.repeat(32_768),
  },
}

test('136, 137, 142: bytes put on one device are read on another as what they were (scenario 16)', async () => {
  await using served = await setup()
  await using phone = await openDevice(served, 'alice@example.com')
  await phone.perform({ do: 'put', value: ROW })
  await phone.perform({ do: 'sync' })
  // The picture, the empty file, three binary values and the long text.
  await untilBlobs(served, 6)
  // It has them: they are not sent back (143).
  expect(await lastAnswer(phone)).toEqual([])
  await using laptop = await openDevice(served, 'alice@example.com')
  await laptop.perform({ do: 'sync' })
  const read = await laptop.perform<typeof ROW>({ do: 'read', id: 'itm1' })
  expect(read.of).toMatchObject(ROW.of)
  expect(Object.keys(read.of).toSorted()).toEqual(
    [...Object.keys(ROW.of), 'owner', 'realmId'].toSorted(),
  )
  // Values that were read and synced again did not become new blobs.
  await laptop.perform({ do: 'sync' })
  await untilBlobs(served, 6)
})

test('136, 137: what the server offloads, the add-on reads as if it had been inline', async () => {
  await using served = await setup()
  const { surroundings, main } = served
  await satchelJson(['db', 'offload', 'main', 'clients'], surroundings)
  const token = await satchelJson<{ accessToken: string }>(
    ['token', '--sub', 'alice@example.com'],
    surroundings,
  )
  const posted = await postJson(
    `${main}/my/items`,
    {
      id: 'itm1',
      picture: { $t: 'File', v: bytes(100), type: 'image/png', name: 'x.png' },
      list: [{ $t: 'Float64Array', v: '0'.repeat(8192 * 4) }],
      text: 'ü'.repeat(40_000),
    },
    { authorization: `Bearer ${token.accessToken}` },
  )
  expect(await posted.json()).toMatchObject({ picture: { _bt: 'Blob', size: 100 } })
  await using laptop = await openDevice(served, 'alice@example.com')
  await laptop.perform({ do: 'sync' })
  expect(await laptop.perform<typeof ROW>({ do: 'read', id: 'itm1' })).toMatchObject({
    of: {
      picture: { bytes: bytes(100), as: 'Blob', type: 'image/png' },
      list: [{ bytes: Buffer.alloc(8192 * 3).toString('base64'), as: 'Float64Array' }],
      text: 'ü'.repeat(40_000),
    },
  })
})

/** So many contents are stored. */
function untilBlobs(served: Served, expected: number): Promise<void> {
  return until(async () => (await blobsOf(served)).blobs === expected)
}

async function blobsOf({ surroundings }: Served): Promise<{ readonly blobs: number }> {
  const folder = join(surroundings.cwd, 'data/databases/main/blobs')
  return { blobs: filesByHash(folder).size }
}
