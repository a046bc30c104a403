import { describe, expect, test } from 'bun:test'
import type Dexie from 'dexie'
import { satchelJson } from '../binary/setup'
import { type Application, logIn, openApplication, openDevice, setupServed } from './addon/setup'
import { expectRows, pull } from './addon/sync'

/** conformance.md 118–133: two users of the published add-on share realms over HTTP. */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

type Served = Awaited<ReturnType<typeof setupServed>>

/** Alice has a list in a realm and has invited Bob, who may tick its items. */
async function setupShared(served: Served) {
  await using undo = new AsyncDisposableStack()
  const alice = undo.use(await openDevice(served, ALICE))
  const bob = undo.use(await openDevice(served, BOB))
  const realmId = await alice.run(
    (db, email) =>
      db.transaction('rw', 'realms', 'members', 'items', async () => {
        // The members come before their realm.
        const id = `rlm${'0'.repeat(24)}com`
        const permissions = { update: { items: ['done'] } }
        await db.table('members').add({ realmId: id, email, invite: true, permissions })
        await db.table('realms').add({ realmId: id, name: 'Groceries' })
        await db.table('items').add({ id: 'itmA', realmId: id, title: 'milk' })
        return id
      }),
    BOB,
  )
  await pull(alice)
  const parts = undo.move()
  return { alice, bob, realmId, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

/** Answers the invitation that is shown. */
function answerInvite(app: Application, answer: 'accept' | 'reject'): Promise<void> {
  return app.run(
    (db, how) =>
      new Promise<void>((resolve, reject) => {
        let isAnswered = false
        db.cloud.invites.subscribe(([invite]) => {
          if (invite === undefined || isAnswered) return
          isAnswered = true
          invite[how]().then(resolve, reject)
        })
      }),
    answer,
  )
}

describe('a shared list', () => {
  test('118, 124–126, 129, 130: is offered, accepted, ticked, left and deleted', async () => {
    await using served = await setupServed()
    await using shared = await setupShared(served)
    const { alice, bob, realmId } = shared
    await served.mail()
    await expectRows(bob, [{ realmId, name: 'Groceries' }], 'realms')
    await expectRows(bob, [])
    await answerInvite(bob, 'accept')
    await expectRows(bob, [{ id: 'itmA', title: 'milk' }])
    await bob.run((db) => db.table('items').update('itmA', { done: true }))
    await pull(bob)
    await expectRows(alice, [{ id: 'itmA', done: true }])
    // He may not change its title, and gets the old one back.
    await bob.run((db) => db.table('items').update('itmA', { title: 'beer' }))
    await expectRows(bob, [{ id: 'itmA', title: 'milk', done: true }])
    await bob.run((db, userId) => db.table('members').where({ userId }).delete(), BOB)
    await expectRows(bob, [])
    await expectRows(bob, [], 'members')
    await alice.run(
      (db, realm) =>
        db.transaction('rw', 'realms', 'members', 'items', async () => {
          await db.table('items').where({ id: 'itmA' }).delete()
          await db.table('members').where({ realmId: realm }).delete()
          await db.table('realms').delete(realm)
        }),
      realmId,
    )
    for (const table of ['realms', 'members', 'items']) await expectRows(alice, [], table)
  })

  test('127: is accepted after it was rejected (scenario 3)', async () => {
    await using served = await setupServed()
    await using shared = await setupShared(served)
    const { bob } = shared
    await expectRows(bob, [{ name: 'Groceries' }], 'realms')
    await answerInvite(bob, 'reject')
    await pull(bob)
    await expectRows(bob, [])
    await answerInvite(bob, 'accept')
    await expectRows(bob, [{ id: 'itmA' }])
  })

  test('is lost with an object that its member has moved out of it offline, and regained (scenario 25)', async () => {
    await using served = await setupServed()
    await using shared = await setupShared(served)
    const { alice, bob, realmId } = shared
    await expectRows(bob, [{ name: 'Groceries' }], 'realms')
    await answerInvite(bob, 'accept')
    await expectRows(bob, [{ id: 'itmA' }])
    await pull(alice)
    // Bob does not sync: he takes the object with him, and is no member any more.
    await bob.run((db, user) => db.table('items').update('itmA', { realmId: user }), BOB)
    const remove = (db: Dexie, email: string) => db.table('members').where({ email }).delete()
    await alice.run(remove, BOB)
    await pull(alice)
    for (const table of ['items', 'members', 'realms']) await expectRows(bob, [], table)
    await expectRows(alice, [{ id: 'itmA', realmId, title: 'milk' }])
    // He is invited, lost and invited again before he syncs.
    const invite = (db: Dexie, [realm, email]: readonly string[]) =>
      db.table('members').add({ realmId: realm, email, invite: true })
    await alice.run(invite, [realmId, BOB])
    await pull(alice)
    await expectRows(bob, [{ realmId, name: 'Groceries' }], 'realms')
    await answerInvite(bob, 'accept')
    await expectRows(bob, [{ id: 'itmA', realmId }])
    await pull(alice)
    await alice.run(remove, BOB)
    await pull(alice)
    await alice.run((db) => db.table('items').update('itmA', { title: 'oat milk' }))
    await pull(alice)
    await alice.run(invite, [realmId, BOB])
    await pull(alice)
    await expectRows(bob, [])
    await expectRows(bob, [{ realmId, name: 'Groceries' }], 'realms')
    await answerInvite(bob, 'accept')
    await expectRows(bob, [{ id: 'itmA', realmId, title: 'oat milk' }])
  })

  test('121: loses an object that moves to another realm, and gets it back', async () => {
    await using served = await setupServed()
    await using shared = await setupShared(served)
    const { alice, bob, realmId } = shared
    await expectRows(bob, [{ name: 'Groceries' }], 'realms')
    await answerInvite(bob, 'accept')
    await expectRows(bob, [{ id: 'itmA' }])
    await alice.run((db, user) => db.table('items').update('itmA', { realmId: user }), ALICE)
    await pull(alice)
    await expectRows(bob, [])
    await alice.run((db, realm) => db.table('items').update('itmA', { realmId: realm }), realmId)
    await pull(alice)
    await expectRows(bob, [{ id: 'itmA', realmId }])
  })
})

test('work of an anonymous user arrives at login: a realm with an invitation, cards, a setting (scenario 4)', async () => {
  await using served = await setupServed()
  const stores = { cards: 'id', settings: 'id' }
  await using app = await openApplication(served.main, { stores })
  await app.run(async (db, email) => {
    const realmId = await db.table('realms').add({ name: 'Offline' })
    await db.table('members').add({ realmId, email, invite: true })
    await db.table('cards').bulkAdd([{ id: 'c1', realmId }, { id: 'c2' }])
    await db.table('settings').put({ id: '#theme', v: 'dark' })
  }, BOB)
  await logIn(app, served, ALICE)
  await pull(app)
  await served.mail()
  await using laptop = await openDevice(served, ALICE, { stores })
  for (const device of [app, laptop]) {
    await expectRows(device, [{ name: 'Offline', owner: ALICE }], 'realms')
    await expectRows(device, [{ id: 'c1' }, { id: 'c2', realmId: ALICE }], 'cards')
    await expectRows(device, [{ id: '#theme', v: 'dark' }], 'settings')
    const members = await device.run((db) => db.table('members').toArray())
    const names = members.map(({ email, userId }) => String(userId ?? email)).toSorted()
    expect(names).toEqual([ALICE, BOB])
  }
})

test('an account that was deleted and registered again starts with nothing (scenario 24)', async () => {
  await using served = await setupServed()
  await using phone = await openDevice(served, ALICE)
  await phone.run((db) => db.table('items').add({ id: 'itmA' }))
  await pull(phone)
  await satchelJson(['user', 'delete', ALICE, '--yes'], served.surroundings)
  await using laptop = await openDevice(served, ALICE)
  await laptop.run((db) => db.table('items').add({ id: 'itmB' }))
  await expectRows(laptop, [{ id: 'itmB' }])
})

test('a list that was tied to a realm is shared with its items, made private, shared again and left, as in the todo sample', async () => {
  await using served = await setupServed()
  const stores = {
    lists: 'id',
    items: 'id, list, [list+realmId]',
    members: '@id, [userId+realmId]',
  }
  await using alice = await openDevice(served, ALICE, { stores })
  await using bob = await openDevice(served, BOB, { stores })
  await alice.run(async (db) => {
    await db.table('lists').add({ id: 'food', title: 'Food' })
    await db.table('items').bulkAdd(['milk', 'bread'].map((id) => ({ id, list: 'food' })))
  })
  await pull(alice)
  const realmId = 'rlm~food'
  const share = () =>
    alice.run(
      (db, [realm, email]) =>
        db.transaction('rw', 'realms', 'members', 'lists', 'items', async () => {
          await db.table('realms').upsert(realm, { name: 'Food', represents: 'a to-do list' })
          await db.table('lists').update('food', { realmId: realm })
          await db.table('items').where({ list: 'food' }).modify({ realmId: realm })
          const permissions = { add: ['items'], update: { items: ['done'] } }
          await db.table('members').add({ realmId: realm, email, invite: true, permissions })
        }),
      [realmId, BOB] as const,
    )
  // An item that her other device has added offline moves with the others.
  await using laptop = await openDevice(served, ALICE, { stores })
  await expectRows(laptop, [{ id: 'bread' }, { id: 'milk' }])
  await laptop.run((db) => db.table('items').add({ id: 'tea', list: 'food' }))
  await share()
  await pull(alice)
  await served.mail()
  await pull(laptop)
  const all = [{ id: 'bread' }, { id: 'milk' }, { id: 'tea' }].map((row) => ({ ...row, realmId }))
  await expectRows(alice, all)
  await expectRows(bob, [{ name: 'Food' }], 'realms')
  await answerInvite(bob, 'accept')
  await expectRows(bob, all)
  await bob.run((db) => db.table('items').update('milk', { done: true }))
  await pull(bob)
  await expectRows(alice, [{ id: 'bread' }, { id: 'milk', done: true }, { id: 'tea' }])
  await alice.run(
    (db, [realm, user]) =>
      db.transaction('rw', 'realms', 'members', 'lists', 'items', async () => {
        const own = { realmId: user, owner: user }
        await db.table('items').where({ realmId: realm, list: 'food' }).modify(own)
        await db.table('lists').update('food', own)
        await db.table('members').where('realmId').equals(realm).delete()
        await db.table('realms').delete(realm)
      }),
    [realmId, ALICE] as const,
  )
  const own = all.map(({ id }) => ({ id, realmId: ALICE }))
  await expectRows(alice, own)
  for (const table of ['items', 'members', 'realms']) await expectRows(bob, [], table)
  await share()
  await pull(alice)
  await expectRows(bob, [{ name: 'Food' }], 'realms')
  await answerInvite(bob, 'accept')
  await expectRows(bob, all)
  await bob.run(
    (db, [realm, userId]) => db.table('members').where({ realmId: realm, userId }).delete(),
    [realmId, BOB] as const,
  )
  for (const table of ['items', 'members']) await expectRows(bob, [], table)
  await expectRows(alice, all)
  await expectRows(alice, [{ userId: ALICE }], 'members')
})
