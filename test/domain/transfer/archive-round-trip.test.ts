import * as fc from 'fast-check'
import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { removeStrays } from '../../../src/domain/blob/collection'
import { folderOf } from '../../auth/setup'
import { fileWith, filesByHash } from '../../blobs/files'
import { hashOf } from '../../contract/content-fixture'
import { type ArchiveBase, SCHEMA, fileLine, filesIn, setupArchives } from './archive-setup'
import { expectNothingLeft, lines } from './setup'

const blobsOf = ({ database }: ArchiveBase) => join(folderOf(database), 'blobs')

test('an archive brings everything into an empty database, which then exports the same', async () => {
  await using base = await setupArchives()
  await base.import(lines(SCHEMA, fileLine('fls1', 'pic', 'twin'), fileLine('fls2', 'big')))
  await base.upload('pic', 'a picture')
  base.clock.advance(5_000)
  await base.upload('twin', 'a picture', ['bob@example.com', 'alice'])
  await base.upload('big', 'x'.repeat(3_000_000), [])
  await base.upload('unused', '')
  const archive = await base.pack()
  const files = await filesIn(archive)
  expect(Object.keys(files).toSorted()).toEqual(
    [
      'blobs.ndjson',
      ...['a picture', 'x'.repeat(3_000_000), ''].map((content) => `blobs/${hashOf(content)}`),
      'data.ndjson',
    ].toSorted(),
  )
  expect(files['data.ndjson']).toBe(await base.export())

  await using copy = await setupArchives()
  copy.clock.advance(86_400_000)
  expect(await copy.unpack(archive)).toEqual({
    objects: 2,
    deleted: 0,
    demoUsers: 0,
    blobs: 4,
    tables: 1,
    followed: null,
  })
  expect(await copy.blobs()).toEqual(await base.blobs())
  expect(await copy.export()).toBe(await base.export())
  expect(await filesIn(await copy.pack())).toEqual(files)
  await expectNothingLeft(copy)
  await expectNothingLeft(base)
})

test('any blobs come back with their ids, bytes and uploaders', async () => {
  const upload = fc.record({
    id: fc.stringMatching(/^[\w|~-]{1,12}$/),
    content: fc.constantFrom('', 'a', 'b', 'longer', 'ünï'),
    uploaders: fc.uniqueArray(fc.constantFrom('alice', 'Bob', 'c@example.com'), { maxLength: 3 }),
  })
  const uploads = fc.uniqueArray(upload, { selector: ({ id }) => id, maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(uploads, fc.boolean(), async (all, isAtomic) => {
      await using base = await setupArchives()
      for (const { id, content, uploaders } of all) await base.upload(id, content, uploaders)
      await using copy = await setupArchives()
      const archive = await base.pack()
      expect((await copy.unpack(archive, { isAtomic })).blobs).toBe(all.length)
      // Uploaders are listed in any order.
      const sorted = async (where: typeof base) => {
        const { blobs } = await where.blobs()
        return blobs.map((blob) => ({ ...blob, uploaders: new Set(blob.uploaders) }))
      }
      expect(await sorted(copy)).toEqual(await sorted(base))
      expect(await filesIn(await copy.pack()).then(Object.keys)).toEqual(
        Object.keys(await filesIn(archive)),
      )
    }),
    { numRuns: 12 },
  )
})

test('of a part, an archive has the blobs that its objects reference, and no others', async () => {
  await using base = await setupArchives()
  const other = { ...fileLine('elsewhere', 'b'), realm: 'rlm-team' }
  const notes = { realm: 'rlm-public', table: 'notes', id: 'n', data: { icon: fileLine('x', 'c') } }
  await base.import(
    lines(
      { type: 'schema', tables: { files: '@id', notes: 'id' } },
      { realm: 'rlm-team', table: 'realms', id: 'rlm-team', data: {} },
      fileLine('fls1', 'a', 'gone'),
      other,
      notes,
    ),
  )
  for (const id of ['a', 'b', 'c', 'd']) await base.upload(id, id)
  const idsIn = async (part: { realm?: string; table?: string }) => {
    const { 'blobs.ndjson': list = '', ...files } = await filesIn(await base.pack(part))
    const found = list.split('\n').filter((line) => line !== '')
    expect(Object.keys(files)).toHaveLength(found.length + 1)
    return found.map((line) => (JSON.parse(line) as { id: string }).id).toSorted()
  }
  expect(await idsIn({ realm: 'rlm-team' })).toEqual(['b'])
  expect(await idsIn({ table: 'files' })).toEqual(['a', 'b'])
  expect(await idsIn({ table: 'notes', realm: 'rlm-public' })).toEqual(['c'])
  expect(await idsIn({ realm: 'rlm-nowhere' })).toEqual([])
})

test('blobs that come while it is written are in it when an object that is in it references them', async () => {
  await using base = await setupArchives()
  await base.import(lines(SCHEMA, ...Array.from({ length: 2_000 }, (_, n) => fileLine(`f${n}`))))
  const { exportArchive } = await import('../../../src/domain/transfer/archive-export')
  const pieces: Uint8Array[] = []
  const selection = { realm: null, table: null }
  let isLate = false
  for await (const piece of exportArchive(base, base.clock.now(), selection, () => undefined)) {
    pieces.push(Buffer.from(piece))
    if (isLate) continue
    isLate = true
    await base.upload('late', 'late bytes')
    await base.import(lines(fileLine('late', 'late')))
  }
  const files = await filesIn(Buffer.concat(pieces))
  expect(files['data.ndjson']).toContain('"id":"late"')
  expect(files[`blobs/${hashOf('late bytes')}`]).toBe('late bytes')
})

test('blobs that are collected while it is written are in it whole, or not at all', async () => {
  await using base = await setupArchives()
  const { database, contents } = base
  await base.import(lines(SCHEMA, fileLine('fls1', 'one', 'two', 'three')))
  const texts = ['one', 'two', 'three'].map((id) => `${id} `.repeat(200_000))
  for (const text of texts) await base.upload(text.slice(0, text.indexOf(' ')), text)
  const { exportArchive } = await import('../../../src/domain/transfer/archive-export')
  const pieces: Uint8Array[] = []
  const selection = { realm: null, table: null }
  let isCollected = false
  for await (const piece of exportArchive(base, base.clock.now(), selection, () => undefined)) {
    pieces.push(Buffer.from(piece))
    // The first of them is announced, and nothing of it has come.
    if (isCollected || !Buffer.from(piece).includes('blobs/')) continue
    isCollected = true
    await database.write((tx) => {
      for (const id of ['one', 'two', 'three']) tx.blobs.remove(id)
    })
    await removeStrays(database, contents)
    expect(await Array.fromAsync(contents.list())).toEqual([])
  }
  const archive = Buffer.concat(pieces)
  const { 'data.ndjson': _, 'blobs.ndjson': list, ...files } = await filesIn(archive)
  expect(Object.keys(files)).toHaveLength(1)
  for (const [name, text] of Object.entries(files)) expect(name).toBe(`blobs/${hashOf(text)}`)
  expect(list?.trimEnd().split('\n')).toHaveLength(1)
  await using copy = await setupArchives()
  expect(await copy.unpack(archive)).toMatchObject({ objects: 1, blobs: 1 })
})

test('a blob whose bytes are damaged or missing ends an export, which names it', async () => {
  await using base = await setupArchives()
  await base.upload('pic', 'the same length')
  const path = fileWith(blobsOf(base), 'the same length')
  for (const content of ['the sXme length', 'shorter', '']) {
    await Bun.write(path, content)
    expect(base.pack()).rejects.toMatchObject({
      code: 'BLOB_DAMAGED',
      message: expect.stringContaining('The bytes of the blob "pic" are missing or damaged'),
    })
    await base.pack().catch(() => undefined)
  }
  await expectNothingLeft(base)
})

test.each([false, true])('bytes that were lost come back from an archive', async (isAtomic) => {
  await using base = await setupArchives()
  await base.upload('pic', 'a picture')
  await base.upload('empty', '')
  await base.upload('bent', 'another picture')
  const [archive, before] = [await base.pack(), await base.blobs()]
  for (const lost of ['a picture', '']) rmSync(fileWith(blobsOf(base), lost))
  await Bun.write(fileWith(blobsOf(base), 'another picture'), 'another pXcture')
  expect((await base.unpack(archive, { isAtomic })).blobs).toBe(3)
  expect(await base.blobs()).toEqual(before)
  const files = filesByHash(blobsOf(base))
  for (const whole of ['a picture', '', 'another picture']) {
    expect(files.get(hashOf(whole))).toHaveLength(1)
  }
})
