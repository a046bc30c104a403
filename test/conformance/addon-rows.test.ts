import { expect, test } from 'bun:test'
import { type Application, openDevice, setupServed } from './addon/setup'
import { until } from '../timing'

/** conformance.md 84, 85: the published add-on with many rows. */

const ALICE = 'alice@example.com'
/** The devices work for seconds, and for much longer on a busy machine. */
const PATIENCE_MS = 120_000

test(
  '84, 85: 20,000 rows arrive on another device, and the device that made them keeps its own (scenario 13)',
  async () => {
    await using served = await setupServed()
    const cloud = { unsyncedProperties: { items: ['mine'] } }
    await using phone = await openDevice(served, ALICE, { cloud })
    await phone.run(async (db) => {
      const all = Array.from({ length: 20_000 }, (_, at) => ({ n: at, mine: at }))
      await db.table('items').bulkAdd(all)
    })
    await begin(phone)
    await until(async () => (await count(phone, '$items_mutations')) === 0, PATIENCE_MS)
    await using laptop = await openDevice(served, ALICE)
    await begin(laptop)
    await until(async () => (await count(laptop, 'items')) === 20_000, PATIENCE_MS)
    expect(await count(phone, 'items')).toBe(20_000)
    // The rows were not sent back: that would remove the property that stays on the device.
    expect(
      await phone.run((db) =>
        db
          .table('items')
          .filter((row: object) => 'mine' in row)
          .count(),
      ),
    ).toBe(20_000)
  },
  3 * PATIENCE_MS,
)

/** Begins a sync, which takes longer than a message may wait for its answer. */
function begin(app: Application): Promise<void> {
  return app.run((db) => {
    db.cloud.sync({ wait: true, purpose: 'pull' }).catch(() => undefined)
  })
}

function count(app: Application, table: string): Promise<number> {
  return app.run((db, name) => db.table(name).count(), table)
}
