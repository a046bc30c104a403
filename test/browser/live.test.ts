import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/clock'
import { openSession } from '../../src/control/session'
import { HOUR } from '../auth/setup'
import { PLAIN_IMPORT, setupServerAt, temporaryFolder } from '../setup'
import { setupTestMode } from '../testing/setup'
import { until } from '../timing'
import { serveApplication } from './addon/application'
import { useChromium } from './chromium'

/** The published add-on in real browsers that hear of each other's changes (conformance 104–133). */

const ALICE = 'alice@demo.local'
const BOB = 'bob@demo.local'

const IMPORTED = {
  demoUsers: { [ALICE]: {}, [BOB]: {} },
  roles: {
    manager: { displayName: 'Manager', description: '', permissions: { manage: '*' } },
    doer: {
      displayName: 'Doer',
      description: '',
      permissions: { add: ['todoItems'], update: { todoItems: ['done'] } },
    },
  },
}

const browser = useChromium()

/** A server and a todo application beside it. */
async function setup(addon?: string) {
  await using undo = new AsyncDisposableStack()
  let ahead = 0
  const clock = { now: () => systemClock.now() + ahead }
  const server = undo.use(await setupServerAt(clock))
  const commands = await openSession(server.folder, () => undefined)
  const upload = new Blob([JSON.stringify(IMPORTED)]).stream()
  await commands.run('import', { ...PLAIN_IMPORT, atomic: true }, { upload })
  const schema = { todoLists: '@id', todoItems: '@id', settings: 'id' }
  await commands.run(
    'schema.push',
    { database: 'main', wait: true },
    { upload: new Blob([JSON.stringify(schema)]).stream() },
  )
  const application = undo.use(await serveApplication(server.main, 'live.js'))
  const old =
    addon === undefined
      ? undefined
      : undo.use(await serveApplication(server.main, 'live.js', addon))
  const parts = undo.move()
  return {
    async openDevice() {
      return parts.use(await browser.openDevice())
    },
    main: server.main,
    url: application.url,
    /** The application with the given add-on. */
    oldUrl: old?.url ?? application.url,
    commands,
    token: () => server.token(),
    advance: (by: number) => void (ahead += by),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

type Scene = Awaited<ReturnType<typeof setup>>

/** A device of its own with the application, and its user logged in and connected. */
async function openPerson(scene: Scene, userId: string, script = '', query = '') {
  const device = await scene.openDevice()
  await device.page.addInitScript(script)
  await openTab(device.page, scene.url + query)
  await run(device.page, `db.cloud.login({ grant_type: 'demo', userId: '${userId}' })`)
  await connected(device.page)
  return device
}

async function openTab(page: Page, url: string): Promise<void> {
  await page.goto(url)
  await page.waitForSelector('body[data-open]', { state: 'attached' })
}

/** Runs an expression in the application, which has its database as `db`. */
function run<T>(page: Page, expression: string): Promise<T> {
  // Errors of Dexie are not told with their message.
  return page.evaluate<T>(`(async () => ${expression})().catch((error) => {
    throw new Error(String(error))
  })`)
}

/** Resolves when the expression is true in the application. */
async function sees(page: Page, expression: string): Promise<void> {
  await until(async () => {
    if (await page.evaluate(expression)) return true
    // Asking all the time would slow the browsers down.
    await Bun.sleep(50)
    return false
  })
}

const connected = (page: Page) => sees(page, `db.cloud.webSocketStatus.value === 'connected'`)

const item = (id: string) => `db.table('todoItems').get('${id}')`

describe('two browsers', () => {
  test('see each other add, edit and delete at once (scenario 1)', async () => {
    await using scene = await setup()
    const phone = await openPerson(scene, ALICE)
    const laptop = await openPerson(scene, ALICE)
    const id = await run<string>(phone.page, `db.table('todoItems').add({ title: 'milk' })`)
    await sees(laptop.page, `${item(id)}.then((row) => row?.title === 'milk')`)
    await run(laptop.page, `db.table('todoItems').update('${id}', { scroll: 7 })`)
    await run(phone.page, `db.table('todoItems').update('${id}', { title: 'bread' })`)
    await sees(laptop.page, `${item(id)}.then((row) => row.title === 'bread')`)
    expect(await run(laptop.page, item(id))).toMatchObject({ title: 'bread', scroll: 7 })
    await run(laptop.page, `db.table('todoItems').delete('${id}')`)
    await sees(phone.page, `${item(id)}.then((row) => row === undefined)`)
  })

  test('of two people share a list, work on it and part (scenario 2)', async () => {
    await using scene = await setup()
    const alice = await openPerson(scene, ALICE)
    const bob = await openPerson(scene, BOB)
    const realm = await run<string>(
      alice.page,
      `db.transaction('rw', db.tables.filter(({ name }) => !name.startsWith('$')), async () => {
        const realmId = await db.table('realms').add({ name: 'Home' })
        await db.table('todoLists').add({ id: 'tdlHome', title: 'Home', realmId })
        await db.table('todoItems').add({ id: 'tdiA', title: 'a', todoListId: 'tdlHome', realmId })
        await db.table('members').add({
          realmId, email: '${BOB}', name: 'Bob', invite: true, roles: ['doer'],
        })
        return realmId
      })`,
    )
    await sees(bob.page, `invites.length === 1`)
    expect(await run<number>(bob.page, `db.table('todoLists').count()`)).toBe(0)
    await run(bob.page, `invites[0].accept()`)
    await sees(bob.page, `${item('tdiA')}.then((row) => row !== undefined)`)
    await run(bob.page, `db.table('todoItems').update('tdiA', { done: true })`)
    await sees(alice.page, `${item('tdiA')}.then((row) => row.done === true)`)
    await run(bob.page, `db.table('todoItems').update('tdiA', { title: 'not mine' })`)
    await sees(bob.page, `${item('tdiA')}.then((row) => row.title === 'a')`)
    // The list changes hands, and its former owner leaves.
    await run(
      alice.page,
      `db.transaction('rw', db.table('realms'), db.table('members'), db.table('todoLists'), async () => {
        await db.table('members').where({ realmId: '${realm}' })
          .filter(({ email }) => email === '${BOB}').modify({ roles: [], permissions: { manage: '*' } })
        await db.table('todoLists').update('tdlHome', { owner: '${BOB}' })
        await db.table('realms').update('${realm}', { owner: '${BOB}' })
      })`,
    )
    await sees(bob.page, `db.table('realms').get('${realm}').then((row) => row.owner === '${BOB}')`)
    await run(
      alice.page,
      `db.table('members').where({ realmId: '${realm}' })
        .filter(({ userId }) => userId === '${ALICE}').delete()`,
    )
    await sees(alice.page, `db.table('todoLists').count().then((count) => count === 0)`)
    await sees(
      bob.page,
      `db.table('members').where({ realmId: '${realm}' }).count().then((count) => count === 1)`,
    )
    await run(
      bob.page,
      `db.transaction('rw', db.tables.filter(({ name }) => !name.startsWith('$')), async () => {
        await db.table('todoItems').where({ realmId: '${realm}' }).delete().catch(() =>
          db.table('todoItems').filter(({ realmId }) => realmId === '${realm}').delete())
        await db.table('todoLists').delete('tdlHome')
        await db.table('members').where({ realmId: '${realm}' }).delete()
        await db.table('realms').delete('${realm}')
      })`,
    )
    const token = await scene.token()
    const left = async (table: string) => {
      const headers = { authorization: `Bearer ${token}` }
      return (await (await fetch(`${scene.main}/all/${table}`, { headers })).json()) as unknown[]
    }
    for (const table of ['todoItems', 'todoLists', 'members', 'realms']) {
      await until(async () => (await left(table)).length === 0)
    }
    expect(await left('roles')).toHaveLength(2)
  })

  test('and two tabs of one agree (scenario 8)', async () => {
    await using scene = await setup()
    const phone = await openPerson(scene, ALICE)
    const laptop = await openPerson(scene, ALICE)
    const second = await phone.context.newPage()
    await openTab(second, scene.url)
    await connected(second)
    const pages = [phone.page, second, laptop.page]
    await run(phone.page, `db.table('todoItems').add({ id: 'tdiN', n: 0 })`)
    for (const page of pages) await sees(page, `${item('tdiN')}.then((row) => row !== undefined)`)
    const add = `db.table('todoItems').update('tdiN', { n: Dexie.add(1) })`
    for (let round = 0; round < 3; round += 1)
      await Promise.all(pages.map((page) => run(page, add)))
    for (const page of pages) await sees(page, `${item('tdiN')}.then((row) => row.n === 9)`)
    // The second tab hears of another device while the answer to the first one is on its way.
    const answered = Promise.withResolvers<void>()
    await phone.page.route('**/sync', async (route) => {
      const response = await route.fetch()
      await answered.promise
      await route.fulfill({ response })
    })
    await run(phone.page, add)
    await sees(laptop.page, `${item('tdiN')}.then((row) => row.n === 10)`)
    await run(laptop.page, `db.table('todoItems').update('tdiN', { title: 'meanwhile' })`)
    await sees(laptop.page, `db.cloud.syncState.value.phase === 'in-sync'`)
    answered.resolve()
    const ten = `${item('tdiN')}.then((row) => row.n === 10 && row.title === 'meanwhile')`
    for (const page of pages) await sees(page, ten)
    expect(await run(second, item('tdiN'))).toMatchObject({ n: 10, title: 'meanwhile' })
  })
})

// Up to this version it sends `mode: cors` as a header of its request for a token.
test('an old add-on logs in, sends and hears changes (conformance 171)', async () => {
  await using scene = await setup('dexie-cloud-addon-4.2.5')
  const laptop = await openPerson(scene, ALICE)
  const phone = await openPerson({ ...scene, url: scene.oldUrl }, ALICE)
  await run(phone.page, `db.table('todoItems').add({ id: 'tdiA', title: 'from the old one' })`)
  await sees(laptop.page, `${item('tdiA')}.then((row) => row?.title === 'from the old one')`)
  await run(laptop.page, `db.table('todoItems').update('tdiA', { title: 'answered' })`)
  await sees(phone.page, `${item('tdiA')}.then((row) => row.title === 'answered')`)
  expect(await run(phone.page, item('tdiA'))).toMatchObject({ title: 'answered' })
})

describe('one browser', () => {
  test('hears what others write by REST, however much it is (scenario 14)', async () => {
    await using scene = await setup()
    const phone = await openPerson(scene, ALICE)
    const headers = {
      authorization: `Bearer ${await scene.token()}`,
      'content-type': 'application/json',
    }
    const text = 'x'.repeat(30_000)
    const rows = Array.from({ length: 60 }, (_, n) => ({
      id: `tdi${n}`,
      text,
      realmId: 'rlm-public',
    }))
    const body = JSON.stringify(rows)
    const posted = await fetch(`${scene.main}/all/todoItems`, { method: 'POST', headers, body })
    expect(posted.status).toBe(200)
    await sees(phone.page, `db.table('todoItems').count().then((count) => count === 60)`)
  })

  test('refreshes its token when that expires, and goes on (scenario 14)', async () => {
    await using scene = await setup()
    const phone = await openPerson(scene, ALICE)
    const laptop = await openPerson(scene, ALICE)
    // A request that the server refuses would have the add-on pause for 20 s.
    for (const [page, other] of [
      [phone.page, laptop.page],
      [laptop.page, phone.page],
    ] as const) {
      const id = await run<string>(page, `db.table('todoItems').add({ title: 'before' })`)
      await sees(other, `${item(id)}.then((row) => row !== undefined)`)
      for (const each of [page, other]) {
        await sees(each, `db.cloud.syncState.value.phase === 'in-sync'`)
      }
    }
    const pages = [phone.page, laptop.page]
    const token = `db.cloud.currentUser.value.accessToken`
    const before = await Promise.all(pages.map((page) => run<string>(page, token)))
    scene.advance(HOUR)
    for (const [position, page] of pages.entries()) {
      await sees(page, `${token} !== ${JSON.stringify(before[position])}`)
      await connected(page)
    }
    await run(laptop.page, `db.table('todoItems').add({ id: 'tdiA', title: 'later' })`)
    await sees(phone.page, `${item('tdiA')}.then((row) => row?.title === 'later')`)
    expect(await run(phone.page, item('tdiA'))).toMatchObject({ title: 'later' })
  })

  test('lets a service worker send its changes (scenario 11)', async () => {
    await using scene = await setup()
    const phone = await openPerson(scene, ALICE, '', '?worker')
    const laptop = await openPerson(scene, ALICE)
    expect(await phone.page.evaluate<boolean>(`db.cloud.usingServiceWorker`)).toBe(true)
    await sees(phone.page, `db.cloud.syncState.value.phase === 'in-sync'`)
    const requests = `performance.getEntriesByType('resource')
      .filter(({ name }) => name.endsWith('/sync')).length`
    const before = await phone.page.evaluate<number>(requests)
    await run(phone.page, `db.table('todoItems').add({ id: 'tdiA', n: 0 })`)
    await sees(laptop.page, `${item('tdiA')}.then((row) => row !== undefined)`)
    await run(laptop.page, `db.table('todoItems').update('tdiA', { title: 'seen' })`)
    await sees(phone.page, `${item('tdiA')}.then((row) => row.title === 'seen')`)
    for (let round = 0; round < 2; round += 1) {
      await run(phone.page, `db.table('todoItems').update('tdiA', { n: Dexie.add(1) })`)
    }
    await sees(laptop.page, `${item('tdiA')}.then((row) => row.n === 2)`)
    expect(await phone.page.evaluate<number>(requests)).toBe(before)
    expect(await run(laptop.page, item('tdiA'))).toMatchObject({ n: 2, title: 'seen' })
  })

  test('catches up after its tab was hidden (scenario 10)', async () => {
    await using scene = await setup()
    const laptop = await openPerson(scene, ALICE)
    // A hidden tab closes its socket after 20 s.
    const phone = await openPerson(
      scene,
      ALICE,
      `const interval = globalThis.setInterval
      globalThis.setInterval = (work, ms, ...rest) =>
        interval(work, ms === 20000 ? 200 : ms, ...rest)`,
    )
    const show = (state: string) =>
      phone.page.evaluate(`
        Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      `)
    // A connection that was just being renewed goes on: then the tab is hidden again.
    await until(async () => {
      await show('visible')
      await show('hidden')
      await Bun.sleep(500)
      return await phone.page.evaluate(`db.cloud.webSocketStatus.value === 'disconnected'`)
    })
    await run(laptop.page, `db.table('todoItems').add({ id: 'tdiA', title: 'meanwhile' })`)
    await run(laptop.page, `db.cloud.sync()`)
    expect(await run(phone.page, item('tdiA'))).toBeUndefined()
    await show('visible')
    await sees(phone.page, `${item('tdiA')}.then((row) => row?.title === 'meanwhile')`)
  })
})

test('a page is logged in without a dialog, outlives jumps of the clock, and follows a restore', async () => {
  using folder = temporaryFolder()
  const schema = join(folder.path, 'schema.json')
  writeFileSync(schema, '{"todoLists": "@id", "todoItems": "@id", "settings": "id"}')
  await using server = await setupTestMode({ schema })
  using application = await serveApplication(server.main, 'live.js')
  await using device = await browser.openDevice()
  const { page } = device
  const person = { email: 'alice@example.com', page: application.url }
  const { body } = await server.call('POST', 'login', person)
  await openTab(page, String(body['url']))
  await sees(page, `db.cloud.currentUserId === 'alice@example.com'`)
  await connected(page)
  expect(page.url()).not.toContain('dxc-auth')
  await run(page, `db.table('todoItems').add({ id: 'tdiA', title: 'kept' })`)
  const titles = async () => {
    const token = await server.login('alice@example.com')
    const { body: rows } = await server.api(token, 'GET', '/my/todoItems')
    return (rows as { title: string }[]).map(({ title }) => title)
  }
  await until(async () => (await titles()).length === 1)
  const { body: snapshot } = await server.call('POST', 'snapshot')

  // The add-on pauses for 20 s after a request with the old token.
  const refreshed = page.waitForResponse(/\/token$/)
  await server.call('POST', 'clock', { advance: '31d' })
  await refreshed
  await run(page, `db.table('todoItems').add({ id: 'tdiB', title: 'a month later' })`)
  await until(async () => (await titles()).length === 2)

  const token = await server.login('alice@example.com')
  await server.api(token, 'PUT', '/my/todoItems/tdiA', { title: 'by REST' })
  await sees(page, `${item('tdiA')}.then((row) => row.title === 'by REST')`)
  // The clock of the page is a month behind.
  await run(page, `db.table('todoItems').update('tdiA', { title: 'by the page' })`)
  await until(async () => (await titles()).includes('by the page'))

  await server.call('POST', `restore/${String(snapshot['id'])}`)
  const rows = `db.table('todoItems').toArray()`
  await sees(page, `${rows}.then((all) => all.length === 1 && all[0].title === 'kept')`)
  expect(await titles()).toEqual(['kept'])
})
