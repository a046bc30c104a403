import { postJson } from '../http/setup'
import { describe, expect, test } from 'bun:test'
import { pushSchema, satchelJson } from '../binary/setup'
import { logIn, openApplication, openDevice, setupServed } from './addon/setup'
import { until } from '../timing'
import { lastAnswer, pull, expectRows, rows, untilSent } from './addon/sync'

/**
 * conformance.md 79–101: the published add-on, unmodified, syncs two devices with the executable over
 * HTTP.
 */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

describe('two devices of one user', () => {
  test('80–88, 99: exchange additions, edits and deletions, and add what was deleted', async () => {
    await using served = await setupServed()
    await using phone = await openDevice(served, ALICE)
    await using laptop = await openDevice(served, ALICE)
    const id = await phone.run((db) => db.table('items').add({ title: 'milk', deep: { a: 1 } }))
    expect(id).toStartWith('itm')
    await pull(phone)
    // The row is as it was sent, so that it is not sent back.
    expect(await lastAnswer(phone)).toEqual([])
    await expectRows(laptop, [{ id, title: 'milk', deep: { a: 1 }, owner: ALICE, realmId: ALICE }])
    await laptop.run((db, key) => db.table('items').update(key, { 'deep.b': 2 }), id)
    await phone.run((db, key) => db.table('items').update(key, { title: 'bread' }), id)
    await pull(laptop)
    const merged = [{ id, title: 'bread', deep: { a: 1, b: 2 }, owner: ALICE, realmId: ALICE }]
    await expectRows(phone, merged)
    await expectRows(laptop, merged)
    await phone.run((db, key) => db.table('items').delete(key), id)
    await pull(phone)
    await expectRows(laptop, [])
    await phone.run((db, key) => db.table('items').add({ id: key, title: 'again' }), id)
    await pull(phone)
    await expectRows(laptop, [{ id, title: 'again', owner: ALICE, realmId: ALICE }])
  })

  test('89, 90, 92: count together what both add, and what a query finds', async () => {
    await using served = await setupServed()
    await using phone = await openDevice(served, ALICE)
    await using laptop = await openDevice(served, ALICE)
    await phone.run((db) => db.table('items').bulkAdd([{ id: 'itmA', n: 1, title: 'x' }]))
    await pull(phone)
    await expectRows(laptop, [{ id: 'itmA' }])
    for (const device of [phone, laptop]) {
      await device.run(async (db) => {
        const { PropModification } = db.constructor as never as {
          PropModification: new (spec: object) => unknown
        }
        const n = new PropModification({ add: 2 })
        await db.table('items').update('itmA', { n })
      })
    }
    await phone.run((db) => db.table('items').add({ id: 'itmB', n: 0, title: 'x' }))
    await laptop.run((db) => db.table('items').where('title').equals('x').modify({ done: true }))
    await pull(phone)
    await pull(laptop)
    const both = [
      { id: 'itmA', n: 5, title: 'x', done: true },
      { id: 'itmB', n: 0, title: 'x', done: true },
    ]
    await expectRows(phone, both)
    await expectRows(laptop, both)
  })

  test('93: delete by a query what the other adds beside it, and not what they add themselves after it (scenario 21)', async () => {
    await using served = await setupServed()
    await using phone = await openDevice(served, ALICE)
    await using laptop = await openDevice(served, ALICE)
    await phone.run((db) => db.table('items').bulkAdd([{ id: 'itmA', title: 'x', n: 0 }]))
    await pull(phone)
    await expectRows(laptop, [{ id: 'itmA' }])
    await phone.run((db) => db.table('items').add({ id: 'itmB', title: 'y', n: 0 }))
    await pull(phone)
    await expectRows(laptop, [{ id: 'itmA' }, { id: 'itmB' }])
    // Neither has heard of what the other does with the titles.
    await laptop.run(async (db, _given, device) => {
      const held: typeof device.around = async (send) => {
        while (device.around === held) await Bun.sleep(5)
        return send()
      }
      device.around = held
      await db.table('items').add({ id: 'itmC', title: 'x', n: 0 })
      await db.table('items').update('itmB', { title: 'z' })
    })
    await phone.run(async (db) => {
      const { PropModification } = db.constructor as never as {
        PropModification: new (spec: object) => unknown
      }
      const n = new PropModification({ add: 1 })
      await db.table('items').where('title').equals('x').delete()
      await db.table('items').add({ id: 'itmD', title: 'x', n: 0 })
      await db.table('items').where('title').equals('y').modify({ n })
    })
    // What the laptop had moved out of the criteria first, they would not reach.
    await pull(phone)
    await laptop.run((_db, _given, device) => {
      device.around = (send) => send()
    })
    await pull(laptop)
    const all = [
      { id: 'itmB', title: 'z', n: 1 },
      { id: 'itmD', title: 'x', n: 0 },
    ]
    await expectRows(phone, all)
    await expectRows(laptop, all)
  })

  test('97, 101: keep private singletons and compound keys, and take no others', async () => {
    await using served = await setupServed()
    const stores = { pairs: '[a+b]', settings: 'id' }
    await using phone = await openDevice(served, ALICE, { stores })
    await using laptop = await openDevice(served, ALICE, { stores })
    await phone.run(async (db) => {
      await db.table('pairs').put({ a: 'x', b: 1, c: 2 })
      await db.table('settings').put({ id: '#theme', v: 'dark' })
    })
    await pull(phone)
    await expectRows(laptop, [{ a: 'x', b: 1, c: 2 }], 'pairs')
    await expectRows(laptop, [{ id: '#theme', v: 'dark' }], 'settings')
    await laptop.run((db) => db.table('pairs').delete(['x', 1]))
    await laptop.run((db) => db.table('settings').update('#theme', { v: 'light' }))
    await pull(laptop)
    await expectRows(phone, [], 'pairs')
    await expectRows(phone, [{ id: '#theme', v: 'light' }], 'settings')
    // 101: keys that do not sync are refused on the device.
    for (const row of [
      { a: 1, b: 2, c: 3 },
      { a: new Date(0), b: 'x' },
    ]) {
      const refusal = await phone
        .run((db, given) => db.table('pairs').put(given), row)
        .catch((error: Error) => error.message)
      expect(refusal).toContain('ConstraintError')
    }
  })

  test('properties that stay on a device survive edits by others (scenario 7)', async () => {
    await using served = await setupServed()
    const cloud = { unsyncedProperties: { items: ['scroll'] } }
    await using phone = await openDevice(served, ALICE, { cloud })
    await using laptop = await openDevice(served, ALICE)
    await phone.run((db) => db.table('items').add({ id: 'itmA', title: 'x', scroll: 7 }))
    await pull(phone)
    await expectRows(laptop, [{ id: 'itmA', title: 'x', owner: ALICE, realmId: ALICE }])
    await laptop.run((db) => db.table('items').update('itmA', { title: 'y' }))
    await pull(laptop)
    await expectRows(phone, [{ id: 'itmA', title: 'y', scroll: 7 }])
  })

  test('a table that only the newer version declares gets the rows that passed the older one (scenario 17)', async () => {
    await using served = await setupServed()
    const stores = { items: '@id, title', notes: 'id' }
    await using phone = await openDevice(served, ALICE, { stores })
    await using laptop = await openDevice(served, ALICE)
    await phone.run((db) => db.table('notes').put({ id: 'n1', text: 'hello' }))
    await pull(phone)
    await pull(laptop)
    await laptop.run((db) => db.table('items').add({ id: 'itmA' }))
    await pull(laptop)
    await laptop.perform({ do: 'restart', stores })
    await expectRows(laptop, [{ id: 'n1', text: 'hello' }], 'notes')
  })

  test('a table may have a name that short addresses use (scenario 26)', async () => {
    await using served = await setupServed()
    const stores = { users: 'id', all: 'id' }
    await using phone = await openDevice(served, ALICE, { stores })
    await using laptop = await openDevice(served, ALICE, { stores })
    await phone.run((db) => db.table('users').put({ id: 'u1' }))
    await phone.run((db) => db.table('all').put({ id: 'a1' }))
    await pull(phone)
    await expectRows(laptop, [{ id: 'u1' }], 'users')
    await expectRows(laptop, [{ id: 'a1' }], 'all')
  })
})

describe('an anonymous user', () => {
  test('79: gets what is public', async () => {
    await using served = await setupServed()
    await pushSchema(served.surroundings, { items: '@id, title' })
    const { accessToken } = await satchelJson<{ accessToken: string }>(
      ['token', '--sub', 'editor', '--scopes', 'ACCESS_DB,GLOBAL_READ,GLOBAL_WRITE'],
      served.surroundings,
    )
    await postJson(
      `${served.main}/public/items`,
      { id: 'itmPublic', title: 'for all' },
      { authorization: `Bearer ${accessToken}` },
    )
    await using app = await openApplication(served.main)
    await expectRows(app, [{ id: 'itmPublic', realmId: 'rlm-public' }])
  })

  test('98: brings along at login what was made before', async () => {
    await using served = await setupServed()
    const stores = { cards: 'id, title', settings: 'id' }
    await using app = await openApplication(served.main, { stores })
    await app.run((db) => db.table('cards').bulkAdd([{ id: 'c1' }, { id: 'c2', title: 'two' }]))
    await logIn(app, served, ALICE)
    await pull(app)
    await using laptop = await openDevice(served, ALICE, { stores })
    await pull(laptop)
    const cards = [
      { id: 'c1', owner: ALICE, realmId: ALICE },
      { id: 'c2', title: 'two', owner: ALICE, realmId: ALICE },
    ]
    await expectRows(app, cards, 'cards')
    await expectRows(laptop, cards, 'cards')
  })
})

describe('a transaction that is rejected', () => {
  test('96: leaves the device as the server is', async () => {
    await using served = await setupServed()
    await using phone = await openDevice(served, ALICE)
    await phone.run((db) => db.table('items').add({ id: 'itmA', title: 'mine' }))
    await pull(phone)
    await phone.run((db) =>
      db.transaction('rw', 'items', async () => {
        await db.table('items').update('itmA', { title: 'changed' })
        await db.table('items').add({ id: 'itmB', realmId: 'rlm-public', title: 'not allowed' })
      }),
    )
    await expectRows(phone, [{ id: 'itmA', title: 'mine' }])
    await phone.run((db) => db.table('items').add({ id: 'itmC', title: 'allowed' }))
    await expectRows(phone, [{ id: 'itmA' }, { id: 'itmC' }])
  })

  test('nobody makes themselves a manager of a realm by it (scenario 19)', async () => {
    await using served = await setupServed()
    await using alice = await openDevice(served, ALICE)
    const realmId = await alice.run(async (db) => {
      const realm = await db.table('realms').add({ name: 'Private club' })
      await db.table('items').add({ id: 'itmA', realmId: realm })
      return realm as string
    })
    await pull(alice)
    await using bob = await openDevice(served, BOB)
    await bob.run(
      (db, realm) =>
        db.transaction('rw', 'members', 'items', async () => {
          const permissions = { manage: '*' }
          const userId = db.cloud.currentUserId
          await db.table('members').add({ realmId: realm, userId, permissions })
          await db.table('items').add({ id: 'itmB', realmId: realm })
        }),
      realmId,
    )
    await expectRows(bob, [])
    expect(await rows(bob, 'members')).toEqual([])
    await pull(alice)
    await expectRows(alice, [{ id: 'itmA' }])
  })

  test('a sealed schema refuses a table, and the device keeps its changes (scenario 27)', async () => {
    await using served = await setupServed()
    await pushSchema(served.surroundings, { items: '@id, title' })
    await Bun.write(`${served.surroundings.cwd}/sealed.json`, '{"sealed": true}')
    await satchelJson(['import', 'sealed.json'], served.surroundings)
    const stores = { items: '@id, title', extra: 'id' }
    await using phone = await openDevice(served, ALICE, { stores })
    await phone.run((db) => db.table('extra').put({ id: 'x' }))
    const refusals = () =>
      phone.run((_db, _given, { syncs }) =>
        syncs.filter(({ status }) => status === 422).map(({ answer }) => answer),
      )
    // The add-on may have sent it by itself and now wait before it tries again.
    await until(async () => {
      await pull(phone).catch(() => undefined)
      return (await refusals()).length > 0
    })
    expect((await refusals())[0]).toContain('extra')
    expect(await rows(phone, 'extra')).toMatchObject([{ id: 'x' }])
    await Bun.write(`${served.surroundings.cwd}/open.json`, '{"sealed": false}')
    await satchelJson(['import', 'open.json'], served.surroundings)
    await untilSent(phone, 'extra')
    await using laptop = await openDevice(served, ALICE, { stores })
    await expectRows(laptop, [{ id: 'x' }], 'extra')
  })
})
