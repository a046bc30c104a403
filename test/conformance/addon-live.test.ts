import { describe, expect, test } from 'bun:test'
import { until } from '../timing'
import { satchelJson } from '../binary/setup'
import { type Application, openDevice, setupServed } from './addon/setup'
import { expectRows, pull } from './addon/sync'

/** conformance.md 104–117: the published add-on hears of changes from the executable. */

const ALICE = 'alice@example.com'

/** Syncs only when it is told to, and hears of changes at once. */
const LIVE = { cloud: { disableWebSocket: false } }

type Served = Awaited<ReturnType<typeof setupServed>>

async function openLive(served: Served): Promise<Application> {
  const device = await openDevice(served, ALICE, LIVE)
  await until(() => device.run((db) => db.cloud.webSocketStatus.value === 'connected'))
  return device
}

function titleOf(device: Application, id: string): Promise<unknown> {
  return device.run(async (db, key) => {
    const row = (await db.table('items').get(key)) as { title?: unknown } | undefined
    return row?.title ?? null
  }, id)
}

describe('a device with a live connection', () => {
  test('111: gets changes without a request', async () => {
    await using served = await setupServed()
    await using phone = await openLive(served)
    await using laptop = await openLive(served)
    await phone.run((db) => db.table('items').add({ id: 'itmA', title: 'one' }))
    await pull(phone)
    await until(async () => (await titleOf(laptop, 'itmA')) === 'one')
    const requests = await laptop.run((_db, _given, { syncs }) => syncs.length)
    await phone.run((db) => db.table('items').update('itmA', { title: 'two' }))
    await pull(phone)
    await until(async () => (await titleOf(laptop, 'itmA')) === 'two')
    await phone.run((db) => db.table('items').delete('itmA'))
    await pull(phone)
    await until(async () => (await titleOf(laptop, 'itmA')) === null)
    expect(await laptop.run((_db, _given, { syncs }) => syncs.length)).toBe(requests)
  })

  test('merges a pending edit with live changes, and drops one of an object that was deleted (scenario 22)', async () => {
    await using served = await setupServed()
    await using phone = await openLive(served)
    await using laptop = await openLive(served)
    await phone.run((db) =>
      db.table('items').bulkAdd([
        { id: 'itmA', title: 'a', deep: { x: 1, y: 1 } },
        { id: 'itmB', title: 'b' },
      ]),
    )
    await pull(phone)
    await until(async () => (await titleOf(laptop, 'itmB')) === 'b')
    await laptop.run(async (db) => {
      await db.table('items').update('itmA', { deep: { x: 2, y: 2 } })
      await db.table('items').update('itmB', { note: 'pending' })
    })
    await phone.run(async (db) => {
      await db.table('items').update('itmA', { 'deep.x': 5, title: 'new' })
      await db.table('items').delete('itmB')
    })
    await pull(phone)
    await until(async () => (await titleOf(laptop, 'itmA')) === 'new')
    await until(async () => (await titleOf(laptop, 'itmB')) === null)
    await pull(laptop)
    await pull(phone)
    const read = (device: Application) =>
      device.run((db) => db.table('items').toArray() as Promise<unknown[]>)
    expect(await read(laptop)).toEqual(await read(phone))
    await expectRows(laptop, [{ id: 'itmA', title: 'new', deep: { x: 5, y: 2 } }])
  })

  test('that cannot apply what it hears gets it by a request (scenario 28)', async () => {
    await using served = await setupServed()
    await using phone = await openLive(served)
    await using laptop = await openLive(served)
    await phone.run((db) => db.table('items').bulkAdd([{ id: 'itmA' }, { id: 'itmB' }]))
    await pull(phone)
    await until(() => laptop.run(async (db) => (await db.table('items').count()) === 2))
    // The add-on sends one change for both keys, and cannot merge it with a change of the second.
    await laptop.run((db) => db.table('items').where('id').between('itmA', 'itmC').modify({ n: 1 }))
    await phone.run((db) => db.table('items').update('itmB', { title: 'new' }))
    await pull(phone)
    await until(async () => (await titleOf(laptop, 'itmB')) === 'new')
    await pull(phone)
    for (const device of [laptop, phone]) {
      await expectRows(device, [
        { id: 'itmA', n: 1 },
        { id: 'itmB', n: 1, title: 'new' },
      ])
    }
    expect(await titleOf(phone, 'itmB')).toBe('new')
  })

  test('116: of a database that is deleted is told so (scenario 14)', async () => {
    await using served = await setupServed()
    await using phone = await openLive(served)
    await satchelJson(['db', 'delete', 'main', '--yes'], served.surroundings)
    const statusOf = () => phone.run((db) => db.cloud.webSocketStatus.value)
    await until(async () => (await statusOf()) !== 'connected')
    await until(async () => (await statusOf()) === 'error')
    expect(await statusOf()).toBe('error')
  })
})
