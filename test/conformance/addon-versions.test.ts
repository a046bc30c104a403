import { describe, expect, test } from 'bun:test'
import { pushSchema } from '../binary/setup'
import { until } from '../timing'
import type { Described } from './addon/described'
import { openDevice, setupServed } from './addon/setup'
import { expectRows, pull, rows, untilSent } from './addon/sync'

/**
 * The add-ons that were published before the newest: they speak version 2 of the protocol, without BlobRefs
 * (protocol.md Appendix C.27), beside a device with the newest one.
 */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

const bytes = (length: number) =>
  Buffer.from(Array.from({ length }, (_, at) => (at * 7) % 256)).toString('base64')

const ROW: { readonly of: Readonly<Record<string, Described>> } = {
  of: {
    id: 'itm1',
    title: 'Bread',
    picture: { bytes: bytes(100_001), as: 'Blob', type: 'image/png' },
    empty: { bytes: '', as: 'Blob', type: 'application/pdf' },
    nested: [
      { of: { array: { bytes: bytes(4096), as: 'Uint8Array' } } },
      [
        { bytes: bytes(8192), as: 'Float64Array' },
        { bytes: bytes(5000), as: 'ArrayBuffer' },
      ],
    ],
    text: `"ü\\\n${'ü'.repeat(32_769)}`,
  },
}

/** These add-ons forget the type of every Blob that they receive. */
const READ = {
  ...ROW.of,
  picture: { bytes: bytes(100_001), as: 'Blob', type: '' },
  empty: { bytes: '', as: 'Blob', type: '' },
}

describe.each(['dexie-cloud-addon-4.2.5', 'dexie-cloud-addon-4.3.9'] as const)('%s', (addon) => {
  test('changes of each device reach the other, live too', async () => {
    await using served = await setupServed()
    await pushSchema(served.surroundings, { items: '@id, title' })
    const options = { isEager: true, cloud: { disableWebSocket: false } }
    await using older = await openDevice(served, ALICE, { addon, ...options })
    await using newer = await openDevice(served, ALICE, options)
    await pull(older)
    await pull(newer)
    await older.run((db) => db.table('items').add({ id: 'itm1', title: 'Bread' }))
    await expectLiveRows(newer, [{ id: 'itm1', title: 'Bread' }])
    await newer.run((db) => db.table('items').update('itm1', { title: 'Rye bread' }))
    await expectLiveRows(older, [{ id: 'itm1', title: 'Rye bread' }])
    await older.run((db) => db.table('items').delete('itm1'))
    await expectLiveRows(newer, [])
  })

  test('a realm with objects of both is shared between two users', async () => {
    await using served = await setupServed()
    await pushSchema(served.surroundings, { items: '@id, title' })
    await using alice = await openDevice(served, ALICE, { addon })
    await using bob = await openDevice(served, BOB)
    await alice.run(async (db) => {
      const tables = [db.table('items'), db.table('realms'), db.table('members')]
      await db.transaction('rw', tables, async () => {
        const realmId = (await db.table('realms').add({ name: 'Shared' })) as string
        await db.table('items').add({ id: 'itm1', title: 'Bread', realmId })
        const name = 'Bob'
        const permissions = { manage: '*' }
        await db
          .table('members')
          .add({ realmId, email: 'bob@example.com', name, invite: true, permissions })
      })
    })
    await untilSent(alice)
    await pull(bob)
    await bob.run(async (db) => {
      const [invite] = await db.table('members').where({ email: 'bob@example.com' }).toArray()
      await db.table('members').update((invite as { id: string }).id, { accepted: new Date() })
    })
    await expectRows(bob, [{ id: 'itm1', title: 'Bread' }])
    await bob.run((db) => db.table('items').update('itm1', { title: 'Rye bread' }))
    await untilSent(bob)
    await expectRows(alice, [{ id: 'itm1', title: 'Rye bread' }])
  })

  test('bytes, texts and Blobs that the newest uploads are read as what they were', async () => {
    await using served = await setupServed()
    await pushSchema(served.surroundings, { items: '@id, title' })
    await using newer = await openDevice(served, ALICE)
    await newer.perform({ do: 'put', value: ROW })
    const { nested, text } = ROW.of
    await newer.perform({ do: 'put', value: { of: { id: 'itm2', nested: nested!, text: text! } } })
    await newer.perform({ do: 'sync' })
    await using older = await openDevice(served, ALICE, { addon })
    await older.perform({ do: 'sync' })
    const read = await older.perform<typeof ROW>({ do: 'read', id: 'itm1' })
    expect(read.of).toMatchObject(READ)
    const names = [...Object.keys(ROW.of), 'owner', 'realmId']
    expect(Object.keys(read.of).toSorted()).toEqual(names.toSorted())
    // A property is changed beside them, and a row that was read is put back whole.
    await older.run(async (db) => {
      await db.table('items').update('itm1', { title: 'Rye bread' })
      const row = (await db.table('items').get('itm2')) as object
      await db.table('items').put({ ...row, note: 'dark' })
    })
    await untilSent(older)
    await until(async () => {
      await pull(newer)
      const found = await rows(newer)
      return found.some(({ title }) => title === 'Rye bread') && found.some((row) => 'note' in row)
    })
    const changed = await newer.perform<typeof ROW>({ do: 'read', id: 'itm1' })
    expect(changed.of).toMatchObject({ ...ROW.of, title: 'Rye bread' })
    const putBack = await newer.perform<typeof ROW>({ do: 'read', id: 'itm2' })
    expect(putBack.of).toMatchObject({ nested, text, note: 'dark' })
  })

  test('what the newest changes live arrives with its bytes', async () => {
    await using served = await setupServed()
    await pushSchema(served.surroundings, { items: '@id, title' })
    const options = { isEager: true, cloud: { disableWebSocket: false } }
    await using older = await openDevice(served, ALICE, { addon, ...options })
    await using newer = await openDevice(served, ALICE, options)
    await pull(older)
    await newer.perform({ do: 'put', value: ROW })
    await until(async () => (await rows(older)).length === 1)
    const read = await older.perform<typeof ROW>({ do: 'read', id: 'itm1' })
    expect(read.of).toMatchObject(READ)
  })
})

/** Waits for rows that come without a sync of the device's own. */
async function expectLiveRows(
  app: Parameters<typeof rows>[0],
  expected: readonly object[],
): Promise<void> {
  await until(async () => {
    const found = await rows(app)
    return found.length === expected.length && Bun.deepMatch(expected, found)
  })
  expect(await rows(app)).toMatchObject([...expected])
}
