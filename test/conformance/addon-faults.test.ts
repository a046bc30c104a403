import { expect, test } from 'bun:test'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../timing'
import { satchelJson, serve } from '../binary/setup'
import { logIn, openApplication, openDevice, setupServed } from './addon/setup'
import { pull, expectRows, rows } from './addon/sync'

/** Appendix C.1, C.4, C.5: the published add-on, with a network, clocks and servers that fail. */

const ALICE = 'alice@example.com'

test('a change whose answer was lost is stored once', async () => {
  await using served = await setupServed()
  await using phone = await openDevice(served, ALICE)
  await phone.run((db) => db.table('items').add({ id: 'itmA', n: 0 }))
  await pull(phone)
  await phone.run(async (db, _given, device) => {
    const { PropModification } = db.constructor as never as {
      PropModification: new (spec: object) => unknown
    }
    await db.table('items').update('itmA', { n: new PropModification({ add: 1 }) })
    device.around = async (send) => {
      device.around = (again) => again()
      await send()
      throw new TypeError('Failed to fetch')
    }
    void db.cloud.sync({ wait: true, purpose: 'push' }).catch(() => undefined)
  })
  // It repeats the request by itself.
  await until(() =>
    phone.run((_db, _given, { syncs }) => {
      const pushes = syncs.filter(({ request }) => request.includes('@@propmod'))
      return pushes.length > 1
    }),
  )
  await expectRows(phone, [{ id: 'itmA', n: 1 }])
  await using laptop = await openDevice(served, ALICE)
  await expectRows(laptop, [{ id: 'itmA', n: 1 }])
}, 60_000)

test('a write while a sync is under way is kept', async () => {
  await using served = await setupServed()
  await using phone = await openDevice(served, ALICE)
  await phone.run((db) => db.table('items').add({ id: 'itmA', title: 'one' }))
  await pull(phone)
  await phone.run(async (db, _given, device) => {
    await db.table('items').update('itmA', { title: 'two' })
    device.around = async (send) => {
      device.around = (again) => again()
      const response = await send()
      await db.table('items').update('itmA', { title: 'three', more: true })
      return response
    }
  })
  await expectRows(phone, [{ id: 'itmA', title: 'three', more: true }])
  await using laptop = await openDevice(served, ALICE)
  await expectRows(laptop, [{ id: 'itmA', title: 'three', more: true }])
}, 60_000)

test('clocks that are wrong by an hour do not decide for ever', async () => {
  await using served = await setupServed()
  const hour = 3_600_000
  await using ahead = await openDevice(served, ALICE, { clockAhead: hour })
  await using behind = await openDevice(served, ALICE, { clockAhead: -hour })
  await ahead.run((db) => db.table('items').add({ id: 'itmA', title: 'first' }))
  await pull(ahead)
  await expectRows(behind, [{ title: 'first' }])
  await behind.run((db) => db.table('items').update('itmA', { title: 'second' }))
  await pull(behind)
  await expectRows(ahead, [{ title: 'second' }])
  await ahead.run((db) => db.table('items').update('itmA', { title: 'third' }))
  await pull(ahead)
  await expectRows(behind, [{ title: 'third' }])
}, 60_000)

test('a first sync that fails loses nothing when the page is loaded again', async () => {
  await using served = await setupServed()
  const stores = { cards: 'id' }
  await using app = await openApplication(served.main, { stores })
  await app.run((db) => db.table('cards').add({ id: 'c1', title: 'offline' }))
  await app.run((_db, _given, device) => {
    device.around = async (send) => {
      device.around = (again) => again()
      await send()
      return new Response(null, { status: 503 })
    }
  })
  await logIn(app, served, ALICE)
  await until(() => app.run((_db, _given, { syncs }) => syncs.length > 1))
  // It does not try again by itself: the page is loaded again.
  await app.perform({ do: 'restart' })
  await expectRows(app, [{ id: 'c1', title: 'offline', realmId: ALICE }], 'cards')
  await using laptop = await openDevice(served, ALICE, { stores })
  await expectRows(laptop, [{ id: 'c1', title: 'offline' }], 'cards')
}, 60_000)

test('a server that is killed among pushes has all that it answered', async () => {
  await using served = await setupServed()
  const { port } = new URL(served.main)
  await using phone = await openDevice(served, ALICE)
  for (let n = 0; n < 6; n += 1) {
    await phone.run((db, at) => db.table('items').add({ id: `itm${at}`, n: at }), n)
    await pull(phone)
  }
  await phone.run((db) => db.table('items').add({ id: 'itmX' }))
  void pull(phone).catch(() => undefined)
  served.kill('SIGKILL')
  await served.exited
  await using again = await serve(served.surroundings, ['--port', port])
  expect(again.ready.url).toBe(new URL(served.main).origin)
  await until(() =>
    pull(phone).then(
      () => true,
      () => false,
    ),
  )
  const all = [...Array.from({ length: 6 }, (_, at) => `itm${at}`), 'itmX'].toSorted()
  await expectRows(
    phone,
    all.map((id) => ({ id })),
  )
  const stored = await satchelJson<{ accessToken: string }>(
    ['token', '--sub', ALICE],
    served.surroundings,
  )
  const headers = { authorization: `Bearer ${stored.accessToken}` }
  const list = (await (await fetch(`${served.main}/my/items`, { headers })).json()) as object[]
  expect(list).toHaveLength(7)
}, 60_000)

test('a backup that is older than its clients brings them back to what it has', async () => {
  await using served = await setupServed()
  const { port } = new URL(served.main)
  await using phone = await openDevice(served, ALICE)
  await phone.run((db) => db.table('items').add({ id: 'itmA', title: 'kept' }))
  await pull(phone)
  served.kill('SIGTERM')
  await served.exited
  const { cwd } = served.surroundings
  const [data, backup] = [join(cwd, 'data'), join(cwd, 'backup')]
  cpSync(data, backup, { recursive: true })
  {
    await using _ = await serve(served.surroundings, ['--port', port])
    await phone.run((db) => db.table('items').add({ id: 'itmB', title: 'lost' }))
    await phone.run((db) => db.table('items').update('itmA', { title: 'changed' }))
    await pull(phone)
    expect(await rows(phone)).toHaveLength(2)
  }
  rmSync(data, { recursive: true })
  cpSync(backup, data, { recursive: true })
  await using _ = await serve(served.surroundings, ['--port', port])
  await expectRows(phone, [{ id: 'itmA', title: 'kept' }])
}, 60_000)
