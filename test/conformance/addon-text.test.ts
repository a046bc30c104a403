import { expect, test } from 'bun:test'
import { until } from '../timing'
import { openDevice, setupServed } from './addon/setup'
import { expectRows, pull, rows } from './addon/sync'

const ALICE = 'alice@example.com'
const STORES = { items: '@id, title', notes: '@id, title, doc: Y.Doc' }

interface TextDoc {
  getText(): { insert(at: number, text: string): void; toString(): string }
}

test('text of y-dexie is refused, and the device keeps it with its objects', async () => {
  await using served = await setupServed()
  await using phone = await openDevice(served, ALICE, { stores: STORES, hasText: true })
  await pull(phone)
  const outcome = await phone.run(async (db, _given, device) => {
    const id = (await db.table('notes').add({ title: 'Letter' })) as string
    const { doc } = (await db.table('notes').get(id)) as { doc: TextDoc }
    device.openText(doc)
    doc.getText().insert(0, 'Dear Ada')
    const updatesOf = async () => {
      const all = (await db.table('$notes.doc_updates').toArray()) as { k?: unknown }[]
      return all.filter(({ k }) => k === id).length
    }
    while ((await updatesOf()) === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    // From now on each request has the text in it.
    await db.table('notes').add({ title: 'Second letter' })
    const error = await db.cloud.sync({ wait: true, purpose: 'push' }).then(
      () => '',
      (cause: unknown) => String(cause),
    )
    const row = (await db.table('notes').get(id)) as { title: string }
    return {
      error,
      title: row.title,
      pending: await db.table('$notes_mutations').count(),
      updates: await updatesOf(),
    }
  })
  expect(outcome).toMatchObject({
    error: expect.stringContaining('422') as string,
    title: 'Letter',
  })
  expect(outcome.pending).toBeGreaterThan(0)
  expect(outcome.updates).toBeGreaterThan(0)
})

test('a value in a Y.Doc property, written by a device without y-dexie, keeps no device with it from syncing', async () => {
  await using served = await setupServed()
  const plain = { items: '@id, title', notes: '@id, title, doc' }
  await using laptop = await openDevice(served, ALICE, { stores: plain })
  await laptop.run((db) => db.table('notes').add({ id: 'ntsA', title: 'one', doc: 'text' }))
  await pull(laptop)
  await using phone = await openDevice(served, ALICE, {
    stores: STORES,
    hasText: true,
    cloud: { disableWebSocket: false },
  })
  await expectRows(phone, [{ id: 'ntsA', title: 'one' }], 'notes')
  await until(() => phone.run((db) => db.cloud.webSocketStatus.value === 'connected'))
  await laptop.run((db) => db.table('notes').update('ntsA', { title: 'heard' }))
  await pull(laptop)
  await until(async () => (await rows(phone, 'notes'))[0]?.['title'] === 'heard')
  await laptop.run((db) => db.table('notes').update('ntsA', { title: 'two', doc: 'more' }))
  await laptop.run((db) => db.table('notes').add({ id: 'ntsB', title: 'new', doc: null }))
  await pull(laptop)
  // Over the live connection, not in an answer.
  await until(async () => (await rows(phone, 'notes')).length === 2)
  const isAnswered = await phone.run((_db, _given, { syncs }) =>
    syncs.some(({ answer }) => answer.includes('ntsB')),
  )
  expect(isAnswered).toBe(false)
  await phone.run((db) => db.table('notes').update('ntsA', { title: 'three' }))
  const own = [
    { id: 'ntsA', title: 'three' },
    { id: 'ntsB', title: 'new' },
  ]
  await expectRows(phone, own, 'notes')
  await expectRows(
    laptop,
    [
      { ...own[0], doc: 'more' },
      { ...own[1], doc: null },
    ],
    'notes',
  )
  expect(
    await phone.run((_db, _given, { syncs }) => syncs.every((one) => one.status === 200)),
  ).toBe(true)
})
