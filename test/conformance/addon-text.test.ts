import { expect, test } from 'bun:test'
import { openDevice, setupServed } from './addon/setup'
import { pull } from './addon/sync'

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
    await new Promise((resolve) => setTimeout(resolve, 200))
    doc.getText().insert(0, 'Dear Ada')
    await new Promise((resolve) => setTimeout(resolve, 500))
    // From now on each request has the text in it.
    await db.table('notes').add({ title: 'Second letter' })
    const error = await db.cloud.sync({ wait: true, purpose: 'push' }).then(
      () => '',
      (cause: unknown) => String(cause),
    )
    const row = (await db.table('notes').get(id)) as { title: string }
    const updates = (await db.table('$notes.doc_updates').toArray()) as { k?: unknown }[]
    return {
      error,
      title: row.title,
      pending: await db.table('$notes_mutations').count(),
      updates: updates.filter(({ k }) => k === id).length,
    }
  })
  expect(outcome).toMatchObject({
    error: expect.stringContaining('422') as string,
    title: 'Letter',
  })
  expect(outcome.pending).toBeGreaterThan(0)
  expect(outcome.updates).toBeGreaterThan(0)
})
