import { describe, expect, test } from 'bun:test'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../timing'
import { serve } from '../binary/setup'
import type { Options } from './addon/messages'
import { type Application, logIn, openApplication, openDevice, setupServed } from './addon/setup'
import { pull, expectRows, rows, untilSent } from './addon/sync'

/** Appendix C.1, C.4, C.5: the published add-on, with a network, clocks and servers that fail. */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

type Served = Awaited<ReturnType<typeof setupServed>>

describe('a change is stored once (scenario 6)', () => {
  test('when its answer was lost', async () => {
    await using served = await setupServed()
    await using phone = await openCounter(served)
    await loseAnswer(phone, 'once')
    await add(phone)
    await beginPush(phone)
    // It repeats the request by itself.
    await untilPushed(phone, 2)
    await expectRows(phone, [{ id: 'itmA', n: 1 }])
    await using laptop = await openDevice(served, ALICE)
    await expectRows(laptop, [{ id: 'itmA', n: 1 }])
  })

  test('when its page is loaded again before the answer comes', async () => {
    await using served = await setupServed()
    await using phone = await openCounter(served)
    await loseAnswer(phone, 'never')
    await add(phone)
    await beginPush(phone)
    await untilPushed(phone, 1)
    await phone.perform({ do: 'restart' })
    await untilPushed(phone, 2)
    await expectRows(phone, [{ id: 'itmA', n: 1 }])
    await using laptop = await openDevice(served, ALICE)
    await expectRows(laptop, [{ id: 'itmA', n: 1 }])
  })

  test('when it is repeated after its socket has told of another one', async () => {
    await using served = await setupServed()
    const live = { cloud: { disableWebSocket: false } }
    await using phone = await openCounter(served, live)
    await using laptop = await openDevice(served, ALICE)
    await expectRows(laptop, [{ id: 'itmA', n: 0 }])
    await until(() => phone.run((db) => db.cloud.webSocketStatus.value === 'connected'))
    await loseAnswer(phone, 'offline')
    await add(phone)
    await beginPush(phone)
    await untilPushed(phone, 1)
    await laptop.run((db) => db.table('items').update('itmA', { title: 'live' }))
    await pull(laptop)
    await phone.run((_db, _given, device) => {
      device.around = (send) => send()
    })
    // The add-on is told by its socket, and sends the change again.
    await untilPushed(phone, 2)
    for (const device of [phone, laptop]) {
      await expectRows(device, [{ id: 'itmA', n: 1, title: 'live' }])
    }
  })
})

/** A device with an object that counts. */
async function openCounter(served: Served, options: Options = {}): Promise<Application> {
  const phone = await openDevice(served, ALICE, options)
  await phone.run((db) => db.table('items').add({ id: 'itmA', n: 0 }))
  await pull(phone)
  return phone
}

/**
 * The answer to the next push does not arrive: the connection breaks (`once`), or does so until further
 * notice (`offline`), or nothing happens (`never`).
 */
function loseAnswer(device: Application, how: 'once' | 'offline' | 'never'): Promise<void> {
  return device.run((_db, given, tools) => {
    const fail = () => Promise.reject(new TypeError('Failed to fetch'))
    tools.around = async (send) => {
      const answer = await send()
      // A request without the change may come first.
      if (tools.syncs.at(-1)?.request.includes('@@propmod') !== true) return answer
      tools.around = given === 'offline' ? fail : (again) => again()
      return given === 'never' ? new Promise<never>(() => {}) : fail()
    }
  }, how)
}

/** Adds one, and does not send it. */
function add(device: Application): Promise<void> {
  return device.run(async (db) => {
    const { PropModification } = db.constructor as never as {
      PropModification: new (spec: object) => unknown
    }
    await db.table('items').update('itmA', { n: new PropModification({ add: 1 }) })
  })
}

/** The add-on may have begun by itself. */
function beginPush(device: Application): Promise<void> {
  return device.run((db) => {
    void db.cloud.sync({ wait: true, purpose: 'push' }).catch(() => undefined)
  })
}

/** The answered requests that count. */
function pushes(device: Application): Promise<number> {
  return device.run((_db, _given, { syncs }) => {
    return syncs.filter(({ request }) => request.includes('@@propmod')).length
  })
}

function untilPushed(device: Application, times: number): Promise<void> {
  return until(async () => (await pushes(device)) >= times)
}

test('a write while a sync is under way is kept (scenario 12)', async () => {
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
})

test('clocks that are wrong by an hour do not decide for ever (scenario 20)', async () => {
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
  // The clock is put right, and goes back by an hour.
  await ahead.run(async (db, _given, device) => {
    device.clockAhead = 0
    await db.table('items').update('itmA', { title: 'fourth' })
  })
  await pull(ahead)
  await expectRows(behind, [{ title: 'fourth' }])
})

test('a first sync that fails loses nothing when the page is loaded again, and mails once (scenario 5)', async () => {
  await using served = await setupServed()
  const stores = { cards: 'id' }
  await using app = await openApplication(served.main, { stores })
  await app.run(async (db, email) => {
    const realmId = await db.table('realms').add({ name: 'Offline' })
    await db.table('members').add({ realmId, email, invite: true })
    await db.table('cards').add({ id: 'c1', title: 'offline', realmId })
  }, BOB)
  await app.run((_db, _given, device) => {
    device.around = async (send) => {
      device.around = (again) => again()
      await send()
      return new Response(null, { status: 503 })
    }
  })
  await logIn(app, served, ALICE)
  await until(() => app.run((_db, _given, { syncs }) => syncs.length > 1))
  expect((await served.mail()).to).toEqual([BOB])
  // It does not try again by itself: the page is loaded again.
  await app.perform({ do: 'restart' })
  await expectRows(app, [{ id: 'c1', title: 'offline', owner: ALICE }], 'cards')
  // Logging in takes the next mail, which is the code: nobody was invited again.
  await using laptop = await openDevice(served, ALICE, { stores })
  await expectRows(laptop, [{ id: 'c1', title: 'offline' }], 'cards')
  const members = await laptop.run((db) => db.table('members').toArray())
  const names = members.map(({ email, userId }) => String(userId ?? email))
  expect(names.toSorted()).toEqual([ALICE, BOB])
})

test('a server that is killed among pushes, again and again, executes each of them once (scenario 9)', async () => {
  await using served = await setupServed()
  const { port } = new URL(served.main)
  await using phone = await openDevice(served, ALICE)
  await phone.run((db) => db.table('items').add({ id: 'itmCount', n: 0 }))
  await pull(phone)
  let server: Pick<Served, 'kill' | 'exited'> = served
  await using undo = new AsyncDisposableStack()
  for (let round = 0; round < 3; round += 1) {
    await phone.run(async (db, first) => {
      const { PropModification } = db.constructor as never as {
        PropModification: new (spec: object) => unknown
      }
      for (let at = first * 5; at < first * 5 + 5; at += 1) {
        await db.transaction('rw', 'items', async () => {
          await db.table('items').add({ id: `itm${String(at).padStart(2, '0')}` })
          await db.table('items').update('itmCount', { n: new PropModification({ add: 1 }) })
        })
        // The one after it is made while this one is sent.
        void db.cloud.sync({ wait: true, purpose: 'push' }).catch(() => undefined)
      }
    }, round)
    await Bun.sleep(round * 15)
    server.kill('SIGKILL')
    await server.exited
    server = undo.use(await serve(served.surroundings, ['--port', port]))
    await untilSent(phone)
  }
  const all = Array.from({ length: 15 }, (_, at) => ({ id: `itm${String(at).padStart(2, '0')}` }))
  await using laptop = await openDevice(served, ALICE)
  for (const device of [phone, laptop]) {
    await expectRows(device, [...all, { id: 'itmCount', n: 15 }])
  }
})

test('a restart loses and doubles nothing of clients with live connections', async () => {
  await using served = await setupServed()
  const { port } = new URL(served.main)
  const live = { cloud: { disableWebSocket: false } }
  await using phone = await openDevice(served, ALICE, live)
  await using laptop = await openDevice(served, ALICE, live)
  await phone.run((db) => db.table('items').add({ id: 'itmA', n: 0 }))
  await pull(phone)
  await until(() => laptop.run(async (db) => (await db.table('items').count()) === 1))
  served.kill('SIGTERM')
  await served.exited
  await add(phone)
  await add(laptop)
  await using _ = await serve(served.surroundings, ['--port', port])
  for (const device of [phone, laptop]) await untilSent(device)
  for (const device of [phone, laptop]) await expectRows(device, [{ id: 'itmA', n: 2 }])
})

test('102: an application that syncs more often than its limit allows waits, and is never refused (scenario 15)', async () => {
  await using served = await setupServed({ SATCHEL_RATE_LIMITS: 'syncs=4/2s' })
  await using phone = await openDevice(served, ALICE)
  for (let n = 0; n < 6; n += 1) {
    await phone.run((db, at) => db.table('items').put({ id: 'itmA', n: at }), n)
    await pull(phone)
  }
  const syncs = await phone.run((_db, _given, device) => device.syncs)
  expect(new Set(syncs.map(({ status }) => status))).toEqual(new Set([200]))
  const remaining = syncs.flatMap(({ limits }) => limits['ratelimit-remaining'] ?? [])
  expect(remaining).toContain('3')
  expect(syncs.at(-1)?.limits).toMatchObject({
    'ratelimit-limit': '4',
    'ratelimit-reset': expect.stringMatching(/^[0-2]$/),
  })
  await using laptop = await openDevice(served, ALICE)
  await expectRows(laptop, [{ id: 'itmA', n: 5 }])
})

test('a backup that is older than its clients brings them back to what it has (scenario 23)', async () => {
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
})
