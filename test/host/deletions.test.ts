import { expect, test } from 'bun:test'
import { DAY, MINUTE } from '../../src/domain/value/time'
import { readConfig } from '../../src/config/config'
import { takeDataFolder } from '../../src/host/data-folder'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

test('a database is removed 30 days after it was marked, and not when the mark was taken back', async () => {
  using folder = temporaryFolder()
  const clock = createTestClock()
  const config = readConfig({
    environment: {},
    flags: { data: folder.path, durability: 'relaxed' },
  })
  {
    await using data = await takeDataFolder(config, clock)
    if (data === undefined) throw new Error('The folder is taken')
    const { hosts, deletions } = data
    for (const name of ['gone', 'kept', 'restored']) await hosts.create(name)
    const due = await deletions.mark(await hosts.open('gone'))
    expect(due).toBe(clock.now() + 30 * DAY)
    // Marking it again does not delay its removal.
    clock.advance(DAY)
    expect(await deletions.mark(await hosts.open('gone'))).toBe(due)
    await deletions.mark(await hosts.open('restored'))
    expect(await deletions.unmark(await hosts.open('restored'))).toBe(true)
    expect(await deletions.unmark(await hosts.open('kept'))).toBe(false)
    clock.advance(29 * DAY - MINUTE)
    await deletions.sweep()
    expect(await hosts.list()).toEqual(['gone', 'kept', 'restored'])
  }
  // A mark is stored: the next process keeps to it.
  await using data = await takeDataFolder(config, clock)
  await data?.hosts.open('gone')
  clock.advance(MINUTE)
  await data?.deletions.sweep()
  expect(await data?.hosts.list()).toEqual(['kept', 'restored'])
  const lines = data?.audit.list({ at: 0, seq: 0 }, 10)
  expect(lines).toMatchObject([
    { operation: 'db.delete', result: 'done', door: 'job', at: clock.now() },
  ])
})
