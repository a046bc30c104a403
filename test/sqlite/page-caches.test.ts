import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { type Connection, openConnection } from '../../src/sqlite/connection'
import { createPageCaches } from '../../src/sqlite/page-caches'
import { temporaryFolder } from '../setup'
import { until } from '../timing'

const KIB_OF_ALL = 48 * 1024

/** The pages that the two connections of a database may keep, in KiB. */
function kibibytesOf({ writing, reading }: Opened): number {
  const sizes = [writing, reading].map(
    ({ db }) => db.query<{ cache_size: number }, []>('PRAGMA cache_size').get()?.cache_size ?? 0,
  )
  return -sizes.reduce((sum, size) => sum + size, 0)
}

interface Opened {
  readonly writing: Connection
  readonly reading: Connection
}

function setup(lookEvery: number) {
  const undo = new DisposableStack()
  const folder = undo.use(temporaryFolder())
  const caches = undo.use(createPageCaches({ lookEvery }))
  const open = (name: string) => {
    const file = join(folder.path, name)
    const connect = (mode: 'write' | 'read') =>
      undo.adopt(openConnection(file, mode, 'none'), (connection) => connection.close())
    const writing = connect('write')
    writing.db.run('CREATE TABLE IF NOT EXISTS texts (text TEXT)')
    const reading = connect('read')
    return { writing, reading, cache: undo.use(caches.add(writing, reading)) }
  }
  return { open, [Symbol.dispose]: () => undo.dispose() }
}

const NEVER = 1e9

test('one database has as much cache as it would have alone', () => {
  using place = setup(NEVER)
  expect(kibibytesOf(place.open('first'))).toBe(KIB_OF_ALL)
})

test('many databases share a budget, and the rest has more when some are closed', () => {
  using place = setup(NEVER)
  const all = Array.from({ length: 50 }, (_, n) => place.open(`${n}`))
  const total = all.reduce((sum, opened) => sum + kibibytesOf(opened), 0)
  expect(total).toBeLessThanOrEqual(KIB_OF_ALL)
  expect(new Set(all.map(kibibytesOf)).size).toBe(1)
  for (const { cache } of all.slice(1)) cache[Symbol.dispose]()
  expect(kibibytesOf(all[0]!)).toBe(KIB_OF_ALL)
})

test('an idle database leaves its share to the others, and has it again at its next use', async () => {
  using place = setup(10)
  const all = Array.from({ length: 20 }, (_, n) => place.open(`${n}`))
  const [busy, idle] = [all[0]!, all[1]!]
  const shared = kibibytesOf(busy)
  expect(shared).toBeLessThan(KIB_OF_ALL / 2)
  await until(() => {
    busy.cache.use()
    return kibibytesOf(busy) === KIB_OF_ALL
  })
  expect(kibibytesOf(idle)).toBeLessThan(shared)
  idle.cache.use()
  expect(kibibytesOf(idle)).toBe(KIB_OF_ALL / 2)
})
