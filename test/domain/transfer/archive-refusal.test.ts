import { describe, expect, test } from 'bun:test'
import { refusalOf } from '../../auth/setup'
import { hashOf } from '../../contract/content-fixture'
import {
  type ArchiveBase,
  PICTURE,
  SCHEMA,
  archiveOf,
  blobLine,
  fileLine,
  pictureArchive,
  setupArchives,
} from './archive-setup'
import { expectNothingLeft, lines } from './setup'
import { share } from '../../setup'

const CONTENT = `blobs/${hashOf(PICTURE)}`

/** How an archive is refused, after which nothing is there, applied or left behind. */
async function refused(base: ArchiveBase, archive: Uint8Array): Promise<string> {
  const before = [await base.export(), await base.blobs()]
  const messages = new Set<string>()
  for (const options of [{}, { isAtomic: true }, { isDryRun: true }]) {
    const { code, message } = await refusalOf(() => base.unpack(archive, options))
    messages.add(`${code}: ${message}`)
    expect([await base.export(), await base.blobs()]).toEqual(before)
    await expectNothingLeft(base)
  }
  expect(messages.size).toBe(1)
  return [...messages].join()
}

describe('an archive that is not good in every part is refused whole', () => {
  const shared = share(setupArchives)
  const line = (changes: object) => ({ 'blobs.ndjson': lines(blobLine('pic', PICTURE, changes)) })
  test.each<[string, Record<string, string | null>, string]>([
    ['no objects', { 'data.ndjson': null }, 'The zip has no data.ndjson: it is not an export'],
    ['no list of blobs', { 'blobs.ndjson': null }, 'The zip has no blobs.ndjson'],
    ['no bytes', { [CONTENT]: null }, `blobs.ndjson, line 1: the bytes of the blob, ${CONTENT},`],
    ['other bytes', { [CONTENT]: PICTURE.toUpperCase() }, `"${CONTENT}" does not match the hash`],
    ['fewer bytes', { [CONTENT]: 'short' }, `line 1: the blob has 22 bytes, ${CONTENT} has 5`],
    ['bytes of no blob', { 'blobs.ndjson': '' }, `blobs.ndjson: ${CONTENT} is in the zip, but not`],
    ['a stray file', { 'notes.txt': 'x' }, '"notes.txt", which is not part of an export'],
    ['a stray folder', { [`more/${CONTENT}`]: 'x' }, 'which is not part of an export'],
    ['a short hash', { 'blobs/abc': 'x' }, '"blobs/abc", which is not part of an export'],
    ['blobs of Dexie Cloud', { 'blobs.dcbl': '12345678' }, 'a private format of Dexie Cloud'],
    ['documents of Dexie Cloud', { 'yjs.dcyj': '12345678' }, 'a private format of Dexie Cloud'],
    ['no id', line({ id: 7 }), 'blobs.ndjson, line 1: "id" is missing'],
    ['a bad id', line({ id: '../x' }), 'blobs.ndjson, line 1: The id of a blob must be'],
    ['no hash', line({ hash: 'abc' }), 'blobs.ndjson, line 1: "hash" is missing'],
    ['no size', line({ size: 1.5 }), 'blobs.ndjson, line 1: "size" is missing'],
    ['less than no size', line({ size: -1 }), 'blobs.ndjson, line 1: "size" is missing'],
    ['no type', line({ type: null }), 'blobs.ndjson, line 1: "type" is missing'],
    [
      'no header',
      line({ type: 'image/png\r\nX: y' }),
      'blobs.ndjson, line 1: A content type must be',
    ],
    ['no date', line({ created: 'soon' }), 'blobs.ndjson, line 1: "created" is missing'],
    ['one uploader', line({ uploaders: 'alice' }), 'line 1: "uploaders" must be a list'],
    ['no uploader', line({ uploaders: [null] }), 'line 1: A user id must be a string'],
    ['a realm for an uploader', line({ uploaders: ['rlm-a'] }), 'line 1: A user id must not begin'],
    ['a line of no JSON', { 'blobs.ndjson': '{"id":\n' }, 'blobs.ndjson is not valid JSON'],
    ['a line of something else', { 'blobs.ndjson': '7\n' }, 'line 1: an object is expected'],
    [
      'a blob twice',
      { 'blobs.ndjson': lines(blobLine('pic', PICTURE), blobLine('pic', PICTURE)) },
      'blobs.ndjson, line 2: the blob "pic" is listed twice',
    ],
    ['objects of no JSON', { 'data.ndjson': 'PK' }, 'data.ndjson is not valid JSON'],
    [
      'objects of no table',
      { 'data.ndjson': lines({ ...fileLine('x', 'pic'), id: '["x"]' }) },
      'no table "files"',
    ],
  ])('%s', async (_name, changes, message) => {
    const refusal = await refused(shared(), await pictureArchive(changes))
    expect(refusal).toContain(message)
    expect(refusal).toMatch(/^(?:INVALID_REQUEST|UNPROCESSABLE|UNKNOWN_TABLE): /)
  })

  test('files that are there twice', async () => {
    await using base = await setupArchives()
    const data = { name: 'data.ndjson', content: lines(SCHEMA) }
    const twice = await archiveOf([data, { ...data, content: '' }])
    expect(await refused(base, twice)).toContain('The zip has "data.ndjson" twice')
    const content = { name: CONTENT, content: PICTURE }
    const list = { name: 'blobs.ndjson', content: lines(blobLine('pic', PICTURE)) }
    expect(await refused(base, await archiveOf([data, content, list, content]))).toContain('twice')
  })

  test('one that ends too early, wherever', async () => {
    await using base = await setupArchives()
    const archive = await pictureArchive()
    for (const end of [4, 100, archive.length - 30, archive.length - 1]) {
      expect(await refused(base, archive.subarray(0, end))).toContain('its end is missing')
    }
  })

  test('one with other bytes than were packed, anywhere', async () => {
    await using base = await setupArchives()
    const archive = await pictureArchive()
    for (const text of ['picture', '"images"', 'image/png']) {
      const spoiled = Buffer.from(archive)
      const at = spoiled.indexOf(text)
      spoiled[at + 1] = (spoiled[at + 1] ?? 0) ^ 1
      expect(await refused(base, spoiled)).toContain('are not those packed')
    }
  })

  test('one for a single table', async () => {
    await using base = await setupArchives()
    const target = { table: 'files', realm: 'rlm-public' }
    const refusal = await refusalOf(async () => base.unpack(await pictureArchive(), { target }))
    expect(refusal.message).toContain('leave out --table')
  })
})

test('a blob that is there already stays; under its id there are no other bytes', async () => {
  await using base = await setupArchives()
  await base.upload('pic', PICTURE, ['bob'])
  expect(await base.unpack(await pictureArchive())).toMatchObject({ blobs: 1, objects: 1 })
  const { blobs } = await base.blobs()
  // The type and the time are those of the first upload; both are uploaders.
  expect(blobs).toMatchObject([{ id: 'pic', type: 'text/plain', uploaders: ['bob', 'alice'] }])
  const other = {
    [CONTENT]: null,
    [`blobs/${hashOf('else')}`]: 'else',
    'blobs.ndjson': lines(blobLine('pic', 'else')),
  }
  expect(await refused(base, await pictureArchive(other))).toBe(
    'CONFLICT: blobs.ndjson, line 1: the database has a blob "pic" with other bytes, which never change',
  )
})

test('entries that programs add beside the packed files are skipped', async () => {
  await using base = await setupArchives()
  const extra = { '__MACOSX/._data.ndjson': 'x', '.DS_Store': 'x', 'blobs/.DS_Store': 'x' }
  expect(await base.unpack(await pictureArchive(extra))).toMatchObject({ objects: 1, blobs: 1 })
})

test('an archive without blobs is imported like its objects', async () => {
  await using base = await setupArchives()
  const archive = await archiveOf([{ name: 'data.ndjson', content: lines(SCHEMA, fileLine('a')) }])
  expect(await base.unpack(archive)).toMatchObject({ objects: 1, blobs: 0 })
})
