import { expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Database } from '../../src/domain/store/store'
import { createTestClock } from '../auth/setup'
import { declareIn, fresh, keysOf, NOW, refusalOf } from '../contract/fixture'
import { createSqliteStore } from '../../src/sqlite/store'
import { mayMount, mountSmallDisk } from '../small-disk'
import { openIn } from './setup'
import type { Table } from '../../src/domain/store/tables'

const MIB = 1024 * 1024

// Elsewhere `writer.test.ts` has SQLite find its file full.
test.skipIf(!mayMount)(
  'a full disk refuses writes, reads go on, and room is enough to go on',
  async () => {
    using disk = mountSmallDisk('8m')
    await using opened = openIn(join(disk.path, 'main'), { durability: 'full' })
    const { database } = opened
    const table = await declareIn(database, 'things')
    const ballast = join(disk.path, 'ballast')
    const acknowledged: string[] = []
    writeFileSync(ballast, Buffer.alloc(3 * MIB))
    for (let round = 0; round < 3; round += 1) {
      acknowledged.push(...(await fill(database, table, `round ${round}`)))
      expect(await refusalOf(put(database, table, 'one more'))).toBe('STORAGE_FULL')
      const outcomes = await Promise.all(
        ['x', 'y', 'z'].map((key) => refusalOf(put(database, table, key))),
      )
      expect(outcomes).toEqual(['STORAGE_FULL', 'STORAGE_FULL', 'STORAGE_FULL'])
      expect(await keysOf(database, table)).toEqual(acknowledged)
      if (round === 0) rmSync(ballast)
      else disk.grow(`${8 + 4 * round}m`)
      acknowledged.push(`after round ${round}`)
      await put(database, table, `after round ${round}`)
      expect(await keysOf(database, table)).toEqual(acknowledged)
    }
    await database[Symbol.asyncDispose]()
    await using again = openIn(join(disk.path, 'main'))
    expect(await keysOf(again.database, table)).toEqual(acknowledged)
  },
)

test.skipIf(!mayMount)(
  'a database that there is no room for is refused and leaves nothing',
  async () => {
    using disk = mountSmallDisk('64k')
    await using store = createSqliteStore(disk.path, {
      clock: createTestClock(),
      durability: 'full',
    })
    expect(await refusalOf(store.create('main'))).toBe('STORAGE_FULL')
    expect(await store.list()).toEqual([])
    disk.grow('4m')
    await store.create('main')
    expect(await store.list()).toEqual(['main'])
  },
)

/** Fills the disk with objects; the keys of those that were stored. */
async function fill(database: Database, table: Table, name: string): Promise<string[]> {
  const keys: string[] = []
  // A checkpoint makes room in the log once more: the disk is full when it stays so.
  for (let n = 0, refusals = 0; refusals < 5; n += 1) {
    const key = `${name} ${n}`
    const code = await refusalOf(put(database, table, key))
    if (code === undefined) {
      keys.push(key)
      refusals = 0
    } else {
      expect(code).toBe('STORAGE_FULL')
      refusals += 1
      await Bun.sleep(20)
    }
  }
  return keys
}

function put(database: Database, table: Table, key: string): Promise<void> {
  const value = JSON.stringify({ id: key, text: 'x'.repeat(20_000) })
  return database.write((tx) => {
    tx.objects.put(table, [fresh(key, { value })], NOW)
  })
}
