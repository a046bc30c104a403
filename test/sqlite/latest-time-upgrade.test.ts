import { expect, test } from 'bun:test'
import { openOldDatabase, VERSIONS } from './old-database'

const EARLIER = VERSIONS.slice(0, VERSIONS.indexOf('0010_latest_time'))

test.each(EARLIER)('a database of %s was never judged by any time', async (version) => {
  await using old = await openOldDatabase(
    version,
    `INSERT INTO database (only_row, id, epoch, revision, oldest_revision, policy, next_seq, id_high_water, sealed, created)
      VALUES (1, 'id', 'epoch', 7, 1, 8, 9, 10, 0, 11)`,
  )
  const { database, clock } = old
  const latest = () => database.read((tx) => tx.time.latest())
  expect(database.id).toBe('id')
  expect(await latest()).toBe(0)
  await database.write((tx) => tx.time.keep(clock.now()))
  expect(await latest()).toBe(clock.now())
})
