import { expect, test } from 'bun:test'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { codeOf } from '../../auth/setup'
import { ANY_SIZE, bring, chunksOf, hashOf, listed } from '../../contract/content-fixture'
import { type Download, setupBlobs } from '../../http/blob-setup'
import { ALICE } from '../../http/setup'
import { mayMount, mountSmallDisk } from '../../small-disk'

const MIB = 1024 * 1024

test.skipIf(!mayMount)(
  'a full disk refuses an upload, keeps what it has, and room is enough to go on',
  async () => {
    using disk = mountSmallDisk('6m')
    const folder = join(disk.path, 'blobs')
    await using store = createDiskBlobs(folder, {
      isDurable: true,
      isUsed: async () => false,
      report: () => undefined,
    })
    const first = await bring(store, Buffer.alloc(2 * MIB, 'a'))
    const large = Buffer.alloc(5 * MIB, 'b')
    const upload = async (parts: number) => {
      const size = large.length / parts
      const chunks = Array.from({ length: parts }, (_, n) =>
        large.subarray(n * size, (n + 1) * size),
      )
      await using arrival = await store.receive(chunksOf(...chunks), ANY_SIZE)
      return await arrival.keep(async () => arrival)
    }
    for (const parts of [1, 5, 80]) {
      expect(await codeOf(() => upload(parts))).toBe('STORAGE_FULL')
      expect(readdirSync(join(folder, 'incoming'))).toEqual([])
      expect(await store.check(first.file, first.hash)).toBe('whole')
    }
    disk.grow('12m')
    const { file } = await upload(5)
    expect(await listed(store)).toEqual([first.file, file].toSorted())
    expect(await store.check(file, hashOf(large))).toBe('whole')
  },
)

test.skipIf(!mayMount)(
  'promise 4: blobs that do not fit get 507, reads go on, and room is enough to go on',
  async () => {
    using disk = mountSmallDisk('24m')
    await using server = await setupBlobs({ data: disk.path })
    const alice = await server.blobs(ALICE)
    const ballast = join(disk.path, 'ballast')
    writeFileSync(ballast, Buffer.alloc(4 * MIB))
    const stored: string[] = []
    for (let round = 0; round < 2; round += 1) {
      const answers: Download[] = []
      for (let n = 0; n < 12; n += 2) {
        const pair = [n, n + 1].map((n) =>
          alice.upload(`r${round}-${n}`, Buffer.alloc(3 * MIB, `${round} ${n}`)),
        )
        answers.push(...(await Promise.all(pair)))
      }
      const statuses = new Set(answers.map(({ status }) => status))
      expect(statuses).toEqual(new Set([200, 507]))
      for (const { status, code } of answers) if (status === 507) expect(code).toBe('STORAGE_FULL')
      answers.forEach(({ status }, n) => {
        if (status === 200) stored.push(`r${round}-${n}`)
      })
      for (const id of stored) {
        const { status, bytes } = await alice.download(`1:${id}`)
        const [part = '', n = ''] = id.slice(1).split('-')
        expect(status).toBe(200)
        expect(bytes.equals(Buffer.alloc(3 * MIB, `${part} ${n}`))).toBe(true)
      }
      expect((await alice.get('/my/plain')).status).toBe(200)
      if (round === 0) {
        rmSync(ballast)
        disk.grow('34m')
      }
    }
    const folder = join(disk.path, 'databases', 'main', 'blobs')
    expect(readdirSync(join(folder, 'incoming'))).toEqual([])
    disk.grow('64m')
    expect((await alice.upload('last', Buffer.alloc(3 * MIB, 'last'))).status).toBe(200)
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    expect(files.filter((entry) => entry.isFile())).toHaveLength(stored.length + 1)
  },
)
