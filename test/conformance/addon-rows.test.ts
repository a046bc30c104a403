import { expect, test } from 'bun:test'
import { type Application, logIn, openApplication, openDevice, setupServed } from './addon/setup'
import { expectRows, pull, rows } from './addon/sync'
import { until } from '../timing'

/** conformance.md 84, 85 and protocol.md Appendix C.29, C.30: rows of the published add-on. */

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

const STORES = { items: 'id, list' }

test(
  'a row that bulkUpdate names twice gets the last of both changes, as on its device',
  async () => {
    await using served = await setupServed()
    await using phone = await openDevice(served, ALICE, { stores: STORES })
    await phone.run((db) => db.table('items').bulkAdd([{ id: 'a', n: 0 }, { id: 'b' }]))
    await pull(phone)
    await phone.run((db) =>
      db.table('items').bulkUpdate([
        { key: 'a', changes: { n: 1, first: true } },
        { key: 'b', changes: { n: 5 } },
        { key: 'a', changes: { last: true } },
      ]),
    )
    const changed = await rows(phone)
    expect(changed).toMatchObject([
      { id: 'a', n: 0, last: true },
      { id: 'b', n: 5 },
    ])
    expect(changed[0]).not.toHaveProperty('first')
    await pull(phone)
    await using laptop = await openDevice(served, ALICE, { stores: STORES })
    await expectRows(laptop, changed)
    for (const device of [phone, laptop]) expect(await rows(device)).toEqual(changed)
  },
  PATIENCE_MS,
)

test(
  'a row without an owner has none on the device that changes it either',
  async () => {
    await using served = await setupServed()
    await using phone = await openDevice(served, ALICE, { stores: STORES })
    const nobody = (id: string, more: object) => ({ id, owner: null, ...more })
    await phone.run((db) =>
      db.table('items').bulkAdd(['a', 'b', 'c', 'd'].map((id) => ({ id, list: 'x' }))),
    )
    await pull(phone)
    await phone.run((db) => db.table('items').where('list').equals('x').modify({ owner: null }))
    const all = ['a', 'b', 'c', 'd'].map((id) => nobody(id, {}))
    await expectRows(phone, all)
    const changed = await phone.run(async (db) => {
      const items = db.table('items')
      await items.update('a', { n: 1 })
      await items.bulkUpdate([{ key: 'b', changes: { n: 2 } }])
      await items.upsert('c', { n: 3 })
      await items.where('id').equals('d').modify({ n: 4 })
      return await items.get('d')
    })
    // The add-on has put itself there, until the answer comes.
    expect(changed).toHaveProperty('owner', ALICE)
    await expectRows(
      phone,
      all.map((row, at) => ({ ...row, n: at + 1 })),
    )
    await phone.run((db) => db.table('items').where('list').equals('x').modify({ n: 9 }))
    await expectRows(
      phone,
      all.map((row) => ({ ...row, n: 9 })),
    )
  },
  PATIENCE_MS,
)

test(
  'a private object that is put while the first answer is on its way stays as it was put',
  async () => {
    await using served = await setupServed()
    await using phone = await openDevice(served, ALICE, { stores: STORES })
    await phone.run((db) => db.table('items').bulkPut([{ id: '#theme', v: 'dark' }, { id: 'a' }]))
    await pull(phone)
    await using laptop = await openApplication(served.main, { stores: STORES })
    await laptop.run((db, _given, device) => {
      device.around = async (send) => {
        const answer = await send()
        // The first one that has rows.
        if (!(await answer.clone().text()).includes('dark')) return answer
        device.around = (again) => again()
        await db.table('items').put({ id: '#theme', v: 'light' })
        return answer
      }
    })
    await logIn(laptop, served, ALICE)
    const light = [{ id: '#theme', v: 'light' }, { id: 'a' }]
    await expectRows(laptop, light)
    await expectRows(phone, light)
    await laptop.run((db) => db.table('items').put({ id: '#theme', v: 'blue' }))
    await expectRows(laptop, [{ v: 'blue' }, { id: 'a' }])
    await pull(laptop)
    await expectRows(laptop, [{ v: 'blue' }, { id: 'a' }])
  },
  PATIENCE_MS,
)

test(
  'a private object that a live message replaces before it was sent is the same on both devices',
  async () => {
    await using served = await setupServed()
    const cloud = { disableWebSocket: false }
    await using phone = await openDevice(served, ALICE, { stores: STORES })
    await phone.run((db) => db.table('items').bulkPut([{ id: '#theme', v: 'dark' }]))
    await pull(phone)
    await using laptop = await openDevice(served, ALICE, { stores: STORES, cloud })
    await expectRows(laptop, [{ v: 'dark' }])
    await phone.run((db) => db.table('items').put({ id: '#theme', v: 'grey' }))
    await laptop.run((db) => db.table('items').put({ id: '#theme', v: 'light' }))
    await pull(phone)
    // The message overwrites what the laptop has not sent yet.
    await until(async () => (await rows(laptop))[0]?.['v'] === 'grey')
    await pull(laptop)
    for (const device of [laptop, phone]) await expectRows(device, [{ v: 'light' }])
  },
  PATIENCE_MS,
)
