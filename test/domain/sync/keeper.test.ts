import { expect, test } from 'bun:test'
import { createHistoryKeeper } from '../../../src/domain/sync/keeper'
import { DAY } from '../../auth/setup'
import { auditLine } from '../../contract/audit'
import { NOW } from '../../contract/fixture'
import { card, connect, insert, put, removeAs, setupPush } from './push-setup'

test('forgets deletions, operations and clients after 180 days, and no sooner', async () => {
  await using database = await setupPush()
  const { clock } = database
  const start = NOW
  await put(database, 'cards', [card('a'), card('b')], start)
  await removeAs(database, 'cards', 'a', start)
  const alice = await connect(database, 'alice', 'one')
  await alice.send([[insert(card('c'))]], { txids: ['txid'], now: start })
  const criteria = { index: 'list', range: { type: 3 } }
  await alice.send([[{ type: 'delete', keys: [], criteria }]], { now: start })
  const state = () =>
    database.read((tx) => {
      const table = tx.tables.find('cards')
      return {
        tombstone: tx.objects.findTombstone(table!, 'a') !== undefined,
        operation: tx.criteriaOps.list(table!.number, { subject: 'alice' }, 0, 10).length === 1,
        client: tx.syncClients.find('alice', 'one') !== undefined,
        applied: tx.applied.find(1, 'txid') !== undefined,
        isWhole: tx.runs.oldest() === 0,
      }
    })
  const report = (error: unknown) => {
    throw error
  }
  await using keeper = createHistoryKeeper({ database, clock, report })
  const all = { tombstone: true, operation: true, client: true, applied: true, isWhole: true }
  clock.advance(NOW + 180 * DAY - clock.now())
  await keeper.forget()
  expect(await state()).toEqual(all)
  await removeAs(database, 'cards', 'b', clock.now())
  clock.advance(DAY)
  await keeper.forget()
  const none = { tombstone: false, operation: false, client: false, applied: false }
  expect(await state()).toEqual({ ...none, isWhole: false })
  const kept = await database.read((tx) => {
    const table = tx.tables.find('cards')
    return tx.objects.findTombstone(table!, 'b')
  })
  expect(kept).toBeDefined()
})

test('forgets lines about operations after a year, and no sooner', async () => {
  await using database = await setupPush()
  const { clock } = database
  const report = (error: unknown) => {
    throw error
  }
  await using keeper = createHistoryKeeper({ database, clock, report })
  const count = () => database.read((tx) => tx.audit.list({ at: 0, seq: 0 }, 10).length)
  await database.write((tx) => tx.audit.put(auditLine('a', { at: clock.now() })))
  clock.advance(365 * DAY)
  await keeper.forget()
  expect(await count()).toBe(1)
  clock.advance(1)
  await keeper.forget()
  expect(await count()).toBe(0)
})
