import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { satchel, serve } from '../binary/setup'
import { openDevice, setupServed } from './addon/setup'
import { expectRows, pull, rows, untilSent } from './addon/sync'

/** Promise 54: the published add-on, whose server was restored to a backup from before its last syncs. */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

test('promise 54: clients that synced after a backup equal the restored server, also the second time', async () => {
  await using served = await setupServed()
  const { port } = new URL(served.main)
  const { cwd } = served.surroundings
  await using phone = await openDevice(served, ALICE)
  await using laptop = await openDevice(served, ALICE)
  await phone.run((db) => db.table('items').add({ id: 'itmA', title: 'kept' }))
  for (const device of [phone, laptop]) await pull(device)
  const made = await satchel(['backup', 'backups', '--json'], { cwd })
  expect(made).toMatchObject({ exitCode: 0 })
  const { backup } = JSON.parse(made.stdout) as { backup: string }

  // Both sync after the cut; one has a change that it cannot send any more.
  await phone.run(async (db) => {
    await db.table('items').add({ id: 'itmB', title: 'lost' })
    await db.table('items').update('itmA', { title: 'changed' })
  })
  for (const device of [phone, laptop]) await pull(device)
  expect(await rows(laptop)).toHaveLength(2)
  served.kill('SIGTERM')
  await served.exited
  await laptop.run((db) => db.table('items').add({ id: 'itmC', title: 'pending' }))
  await restore(cwd, backup)
  {
    await using _ = await serve(served.surroundings, ['--port', port])
    await untilSent(laptop)
    for (const device of [phone, laptop]) {
      await expectRows(device, [
        { id: 'itmA', title: 'kept' },
        { id: 'itmC', title: 'pending' },
      ])
    }
    await phone.run((db) => db.table('items').add({ id: 'itmD', title: 'lost too' }))
    await pull(phone)
  }

  // The same backup again: what the clients know is of a server that never was.
  await restore(cwd, backup)
  await using _ = await serve(served.surroundings, ['--port', port])
  for (const device of [phone, laptop]) {
    await expectRows(device, [{ id: 'itmA', title: 'kept' }])
  }
  await phone.run((db) => db.table('items').add({ id: 'itmE', title: 'new' }))
  await pull(phone)
  await expectRows(laptop, [{ title: 'kept' }, { title: 'new' }])
  await using other = await openDevice(served, BOB)
  expect(await rows(other)).toEqual([])
}, 240_000)

async function restore(cwd: string, backup: string): Promise<void> {
  rmSync(join(cwd, 'data'), { recursive: true })
  const restored = await satchel(['restore', join('backups', backup), '--data', 'data'], { cwd })
  expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
}
