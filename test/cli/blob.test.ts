import { describe, expect, test } from 'bun:test'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BlobDetails, BlobPage } from '../../src/domain/blob/list'
import type { Verification } from '../../src/domain/blob/verification'
import { DAY } from '../auth/setup'
import { setupBlobs } from '../http/blob-setup'
import { fileWith } from '../blobs/files'
import { ALICE } from '../http/setup'
import { temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

interface Collected {
  readonly blobs: number
  readonly bytes: number
  readonly strays: number
}

/** A server with a blob that an object references and two that nothing does, and a command line on it. */
async function setup(flags: Readonly<Record<string, unknown>> = {}) {
  const server = await setupBlobs({ memory: false, ...flags })
  const alice = await server.blobs(ALICE)
  const kept = await alice.bring('kept', 'a picture', 'image/png')
  for (const id of ['loose1', 'loose2']) await alice.bring(id, id)
  const { status } = await alice.post('/my/items', { id: 'itm1', file: { _bt: 'Blob', ref: kept } })
  expect(status).toBe(200)
  const data = ['--data', server.folder]
  const folder = join(server.folder, 'databases', 'main', 'blobs')
  return {
    ...server,
    alice,
    data,
    fileWith: (content: string) => fileWith(folder, content),
    /** Puts a file there that no blob has and nobody uploads just now. */
    stray: (digits: string) => Bun.write(join(folder, digits.repeat(32)), 'a stray file'),
    files: () =>
      readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
        .length,
    blob: <T>(...args: string[]) => runJson<T>(['blob', ...args, ...data]),
    say: (...args: string[]) => runSatchel(['blob', ...args, ...data]),
  }
}

interface BlobList {
  readonly data: BlobPage['blobs']
  readonly hasMore: boolean
}

describe('satchel blob list and show', () => {
  test('tell what there is, page by page', async () => {
    await using satchel = await setup()
    const { blob } = satchel
    const page = await blob<BlobList>('list', '--limit', '2')
    expect(page).toMatchObject({
      data: [{ ref: '1:kept' }, { ref: '1:loose1' }],
      hasMore: true,
      pagingKey: 'loose1',
    })
    const rest = await blob<BlobList>('list', '--after', 'loose1')
    expect(rest).toEqual({ data: [expect.objectContaining({ ref: '1:loose2' })], hasMore: false })
    const { data } = await blob<BlobList>('list', '--unreferenced')
    expect(data.map(({ ref }) => ref)).toEqual(['1:loose1', '1:loose2'])
    const { stdout } = await satchel.say('list', '--limit', '2')
    expect(stdout).toMatch(
      /^REF +SIZE +TYPE +UPLOADED +UNREFERENCED SINCE\n1:kept +9 bytes +image\/png/,
    )
    expect(stdout).toEndWith('\nThere are more: add --after loose1\n')
    expect((await satchel.say('list', '--after', 'z')).stdout).toBe('There are no blobs\n')
  })

  test('tell who brought a blob and what references it', async () => {
    await using satchel = await setup()
    const kept = await satchel.blob<BlobDetails>('show', '1:kept')
    expect(kept).toEqual({
      ref: '1:kept',
      size: 9,
      type: 'image/png',
      hash: new Bun.CryptoHasher('sha256').update('a picture').digest('hex'),
      created: expect.stringContaining('2030-01-01T'),
      unreferencedSince: null,
      uploaders: [ALICE],
      references: [{ realm: ALICE, table: 'items', key: 'itm1' }],
      hasMoreReferences: false,
    })
    const { stdout } = await satchel.say('show', 'kept')
    expect(stdout).toContain(
      `Referenced      by\n  TABLE   KEY    REALM\n  items   itm1   ${ALICE}\n`,
    )
    expect((await satchel.say('show', 'loose1')).stdout).toContain('by nothing since 2030-01-01T')
    const { exitCode, stderr } = await satchel.say('show', '1:none')
    expect([exitCode, stderr]).toEqual([1, 'satchel: There is no blob "1:none"\n'])
  })
})

describe('satchel blob gc', () => {
  test('says what would go, and removes it', async () => {
    await using satchel = await setup()
    satchel.clock.advance(DAY - 1)
    expect(await satchel.blob<Collected>('gc')).toEqual({ blobs: 0, bytes: 0, strays: 0 })
    satchel.clock.advance(1)
    await satchel.stray('ab')
    const { stdout } = await satchel.say('gc', '--dry-run')
    expect(stdout).toBe('Would remove 2 blobs (12 bytes) and 1 file that belong to no blob\n')
    expect(satchel.files()).toBe(4)
    expect((await satchel.say('gc')).stdout).toBe(
      'Removed 2 blobs (12 bytes) and 1 file that belong to no blob\n',
    )
    expect(satchel.files()).toBe(1)
    const later = await satchel.blobs(ALICE)
    expect((await later.download('1:loose1')).status).toBe(404)
    expect((await later.download('1:kept')).status).toBe(200)
  })
})

describe('satchel blob verify', () => {
  test('finds everything as it should be', async () => {
    await using satchel = await setup()
    const { exitCode, stdout } = await satchel.say('verify')
    expect([exitCode, stdout]).toEqual([
      0,
      'Read 3 files (21 bytes) of blobs\nNo problems were found\n',
    ])
  })

  test('names what is damaged or missing, and fails', async () => {
    await using satchel = await setup()
    writeFileSync(satchel.fileWith('a picture'), 'A picture')
    rmSync(satchel.fileWith('loose1'))
    const { exitCode, stdout, stderr } = await satchel.say('verify')
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr:
        'satchel: 2 files of blobs are damaged or missing: upload the same bytes again, or import a .zip that has them\n',
    })
    expect(stdout).toMatch(/^damaged +[\da-f]{64} +kept$/m)
    expect(stdout).toMatch(/^missing +[\da-f]{64} +loose1$/m)
    const asJson = await runSatchel(['blob', 'verify', '--json', ...satchel.data])
    const { faults } = JSON.parse(asJson.stdout) as Verification
    expect(faults).toHaveLength(2)
    expect(JSON.parse(asJson.stderr)).toMatchObject({ error: { code: 'STORAGE_FAILED' } })
  })

  test('counts what belongs to no blob, and is content with the rest', async () => {
    await using satchel = await setup()
    for (const [digits, told] of [
      ['ab', '1 file belongs to no blob: satchel blob gc removes it'],
      ['cd', '2 files belong to no blob: satchel blob gc removes them'],
    ] as const) {
      await satchel.stray(digits)
      const { exitCode, stdout } = await satchel.say('verify')
      expect([exitCode, stdout]).toEqual([0, `Read 3 files (21 bytes) of blobs\n${told}\n`])
    }
  })
})

describe('satchel blob quota', () => {
  test('shows and sets how much room there is, which counts at once', async () => {
    await using satchel = await setup({ userBlobQuota: '1MB' })
    const { say, alice } = satchel
    expect((await say('quota')).stdout).toBe(
      [
        'Used            21 bytes in 3 blobs',
        'All blobs       no limit (set by the server)',
        'Each user       1.0 MB (set by the server)',
        'One blob        1 GiB (set by the server)',
        '',
      ].join('\n'),
    )
    const set = (await say('quota', '--total', '24', '--user', 'none', '--blob', '1.5kB')).stdout
    expect(set).toContain(
      'All blobs       24 bytes\nEach user       no limit\nOne blob        1.5 kB\n',
    )
    expect(await alice.upload('more', 'four')).toMatchObject({
      status: 507,
      code: 'QUOTA_EXCEEDED',
    })
    expect((await alice.upload('less', 'two')).status).toBe(200)
    expect((await say('quota', '--total', 'server', '--blob', 'none')).stdout).toContain(
      'All blobs       no limit (set by the server)\nEach user       no limit\nOne blob        1 GiB (set by the server)\n',
    )
    expect((await alice.upload('more', 'four')).status).toBe(200)
  })

  test('refuses what is no size', async () => {
    using folder = temporaryFolder()
    for (const size of ['much', '-1', '0', '1XB', '1e3']) {
      const { exitCode, stderr } = await runSatchel([
        'blob',
        'quota',
        '--total',
        size,
        '--data',
        folder.path,
      ])
      expect([exitCode, stderr]).toEqual([
        2,
        expect.stringContaining('it must be a size such as 20GB'),
      ])
    }
  })
})

test('deleting a database leaves nothing of its blobs', async () => {
  await using satchel = await setup()
  const { folder } = satchel
  expect(satchel.files()).toBe(3)
  await runJson(['db', 'delete', 'main', '--yes', ...satchel.data])
  expect(readdirSync(join(folder, 'databases'))).toEqual([])
})

test('satchel blob works without a server', async () => {
  using folder = temporaryFolder()
  const data = ['--data', folder.path]
  await runJson(['db', 'create', 'main', ...data])
  expect(await runJson<BlobList>(['blob', 'list', ...data])).toEqual({ data: [], hasMore: false })
  expect(await runJson<Collected>(['blob', 'gc', ...data])).toEqual({
    blobs: 0,
    bytes: 0,
    strays: 0,
  })
  expect(await runJson<Verification>(['blob', 'verify', ...data])).toMatchObject({ checked: 0 })
  await runJson(['blob', 'quota', '--total', '1GiB', ...data])
  const { own } = await runJson<{ own: unknown }>(['blob', 'quota', ...data])
  expect(own).toEqual({ database: 2 ** 30 })
})
