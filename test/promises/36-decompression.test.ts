import { describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { createDiskScratch } from '../../src/blobs/disk/scratch'
import { codeOf, refusalOf } from '../auth/setup'
import { archiveOf, setupArchives } from '../domain/transfer/archive-setup'
import { contextOf, IMPORT_OPTIONS, lines, setupDatabase } from '../domain/transfer/setup'
import { importFile } from '../../src/domain/transfer/import'
import { temporaryFolder } from '../setup'
import { callerOf } from '../http/setup'
import { setupExecutable } from './setup'

/**
 * Promise 36: no caller makes the server unpack what it did not send. Bodies are never inflated; imports,
 * which only the operator sends, may have any ratio and are bounded by bytes and by the free disk.
 */

const MIB = 2 ** 20

describe('promise 36: a compressed body', () => {
  test('is refused without being inflated, whatever its ratio and its name', async () => {
    await using executable = await setupExecutable()
    const token = await executable.token()
    const bomb = gzipSync(JSON.stringify([{ id: 'a', text: 'x'.repeat(200 * MIB) }]))
    expect((200 * MIB) / bomb.length).toBeGreaterThan(100)
    const calm = executable.memory().peak
    const send = (encoding: string, body: Buffer) =>
      callerOf(executable.main, token).send('POST', '/all/plain', {
        body,
        headers: { 'content-encoding': encoding },
      })
    for (const encoding of ['gzip', 'GZIP', 'x-gzip', 'deflate', 'br', 'zstd', 'gzip, gzip']) {
      expect(await send(encoding, bomb)).toMatchObject({
        status: 415,
        body: { code: 'UNSUPPORTED_MEDIA_TYPE' },
      })
    }
    expect(executable.memory().peak - calm).toBeLessThan(50)
    // Not even when the server is not told.
    const hidden = await callerOf(executable.main, token).send('POST', '/all/plain', { body: bomb })
    expect(hidden.status).toBe(400)
    expect(executable.memory().peak - calm).toBeLessThan(50)
  })
})

describe('promise 36: an import', () => {
  const ZEROS = '\0'.repeat(8 * MIB)

  test('takes an export of its own that is packed more than a hundred times smaller', async () => {
    await using base = await setupDatabase()
    await base.import('{"schema":{"notes":"id"}}')
    const text = 'x'.repeat(1_000_000)
    const notes = Array.from({ length: 30 }, (_, n) => ({ id: `n${n}`, text }))
    const target = { table: 'notes', realm: 'rlm-public' }
    await base.import(JSON.stringify(notes), { target })
    const exported = await base.export()
    const archive = await archiveOf([{ name: 'data.ndjson', content: exported, compress: true }])
    expect(exported.length / archive.length).toBeGreaterThan(100)
    await using other = await setupArchives()
    expect(await other.unpack(archive)).toMatchObject({ objects: 30 })
    expect(await other.export()).toBe(exported)
  })

  test('of a zip is refused before it is unpacked when the disk has no room for what it says', async () => {
    await using base = await setupDatabase()
    const data = lines({ type: 'demoUsers', users: {} }) + ' '.repeat(ZEROS.length)
    const archive = await archiveOf([{ name: 'data.ndjson', content: data, compress: true }])
    const asked: number[] = []
    const free = (bytes: number) => async () => {
      asked.push(bytes)
      return { free: bytes, total: 1e12 }
    }
    using folder = temporaryFolder()
    const run = (bytes: number) => {
      const scratch = createDiskScratch(folder.path, base.clock, free(bytes + 64 * MIB))
      const context = { ...contextOf(base.database), scratch }
      const file = new Blob([archive]).stream()
      return importFile(context, base.clock, file, { ...IMPORT_OPTIONS, isDryRun: true })
    }
    const refusal = await refusalOf(() => run(2 * data.length - 1))
    expect(refusal.code).toBe('STORAGE_FULL')
    expect(refusal.message).toBe(
      'The import needs about 17 MB on the disk of the data folder, where 17 MB can be used: nothing was imported',
    )
    expect(asked).toHaveLength(1)
    expect(await run(2 * data.length)).toMatchObject({ objects: 0 })
  })

  test('of lines without end stops while others still have room', async () => {
    await using base = await setupDatabase()
    await base.import('{"schema":{"notes":"id"}}')
    using folder = temporaryFolder()
    let written = 0
    const disk = 100 * MIB
    const scratch = createDiskScratch(folder.path, base.clock, async () => ({
      free: disk - written,
      total: disk,
    }))
    async function* endless() {
      for (let n = 0; ; n += 1) {
        const line = lines({ id: `n${n}`, text: 'x'.repeat(100_000) })
        written += line.length
        if (written > disk) throw new Error('it filled the disk')
        yield Buffer.from(line)
      }
    }
    const context = { ...contextOf(base.database), scratch }
    const target = { table: 'notes', realm: 'rlm-public' }
    const run = () => importFile(context, base.clock, endless(), { ...IMPORT_OPTIONS, target })
    expect(await codeOf(run)).toBe('STORAGE_FULL')
    expect(written).toBeLessThan(disk)
  })
})
