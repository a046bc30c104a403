import { describe, expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_INLINE_BYTES } from '../../src/domain/sync/inline'
import { type BlobCaller, filesOf, setupBlobs } from './blob-setup'
import { ALICE, BOB } from './setup'

/** Answers of sync to add-ons before 4.4, which do not know BlobRefs (protocol.md Appendix C.27). */

type Row = Readonly<Record<string, unknown>>

/** The row `p` as a first sync gives it to a client that speaks this version. */
async function synced(caller: BlobCaller, v: number): Promise<Row | undefined> {
  const schema = { plain: { markedForSync: true, initiallySynced: true } }
  const body = JSON.stringify({ v, clientIdentity: `v${v}`, schema, baseRevs: [], changes: [] })
  const headers = { 'content-type': 'application/tson' }
  const answer = await caller.send('POST', '/sync', { body, headers })
  const { changes } = answer.body as {
    changes: { muts: { keys: string[]; values: Row[] }[] }[]
  }
  return changes.flatMap(({ muts }) => muts.flatMap(({ values }) => values))[0]
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('a client that speaks version 2 gets', () => {
  test('the values of all references that it may read, wherever they stand', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const ref = await alice.bring('a', 'ab"\\ü\u0000c', 'image/png')
    const eight = await alice.bring('b', '12345678', 'application/octet-stream')
    await alice.post('/my/plain', {
      id: 'p',
      photo: { _bt: 'Blob', ref, size: 9, ct: 'image/webp' },
      untyped: { _bt: 'Blob', ref, size: 9 },
      list: [[{ deep: { _bt: 'Uint8Array', ref, size: 9 } }]],
      numbers: { _bt: 'Float64Array', ref: eight, size: 8 },
      text: { _bt: 'string', ref, size: 9, ct: 'text/plain' },
      same: { _bt: 'string', ref, size: 9 },
      _hasBlobRefs: 1,
    })
    const v = base64('ab"\\ü\u0000c')
    const row = await synced(alice, 2)
    expect(row).toEqual({
      id: 'p',
      owner: ALICE,
      realmId: ALICE,
      photo: { $t: 'Blob', v, type: 'image/webp' },
      untyped: { $t: 'Blob', v, type: 'image/png' },
      list: [[{ deep: { $t: 'Uint8Array', v: expect.any(String) as string } }]],
      numbers: { $t: 'Float64Array', v: expect.any(String) as string },
      text: 'ab"\\ü\u0000c',
      same: 'ab"\\ü\u0000c',
    })
    // The stored object stays, and a newer client gets it as it is.
    const stored = (await alice.get('/my/plain/p')).body
    expect(await synced(alice, 3)).toEqual(stored as Row)
    // The inline forms are those that a client sends.
    const again = await alice.post('/my/plain', { ...row, id: 'q' })
    expect(again).toMatchObject({ status: 200, body: { photo: row!['photo'] } })
  })

  test('bytes of any length below the limit, in the order of their chunks', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const bytes = Uint8Array.from({ length: 1_000_001 }, (_, at) => (at * 31) % 251)
    const ref = await alice.bring('a', bytes, 'image/png')
    await alice.post('/my/plain', { id: 'p', photo: { _bt: 'Blob', ref, size: bytes.length } })
    const row = await synced(alice, 2)
    const { v } = row!['photo'] as { v: string }
    expect(v === Buffer.from(bytes).toString('base64')).toBe(true)
  })

  test('the reference where its value is too long', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const size = MAX_INLINE_BYTES + 1
    const photo = { _bt: 'Blob', ref: await alice.bring('a', new Uint8Array(size)), size }
    await alice.post('/my/plain', { id: 'p', photo })
    expect(await synced(alice, 2)).toMatchObject({ photo })
  })

  test('the reference where the blob is none that it may read', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const ref = await alice.bring('a', 'abc', 'image/png')
    const photo = { _bt: 'Blob', ref, size: 3 }
    // Bob may read it since his object refers to it; nothing is behind the other one.
    const other = { _bt: 'Blob', ref: '1:none', size: 3 }
    await server.root.post('/all/plain', { id: 'p', realmId: BOB, owner: BOB, photo, other })
    const row = await synced(await server.blobs(BOB), 2)
    expect(row).toMatchObject({ photo: { $t: 'Blob', v: base64('abc') }, other })
  })

  test('the reference where clients could not restore the value', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const ref = await alice.bring('a', 'abc', 'image/png')
    const odd = { _bt: 'Float64Array', ref, size: 3 }
    const unknown = { _bt: 'Matrix', ref, size: 3 }
    await alice.post('/my/plain', { id: 'p', odd, unknown })
    expect(await synced(alice, 2)).toMatchObject({ odd, unknown })
  })

  test('the reference where the bytes are gone, beside all others', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const photo = { _bt: 'Blob', ref: await alice.bring('a', 'abc', 'image/png'), size: 3 }
    const files = filesOf(server)
    await alice.post('/my/plain', { id: 'p', photo, title: 'x' })
    for (const file of files) rmSync(join(server.folder, 'databases/main/blobs', file))
    expect(await synced(alice, 2)).toMatchObject({ photo, title: 'x' })
  })
})
