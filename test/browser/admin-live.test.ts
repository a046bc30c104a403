import { postJson } from '../http/setup'
import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/clock'
import { openSession } from '../../src/control/session'
import { setupAdmin } from '../http/admin/setup'
import { PLAIN_IMPORT, setupServerAt } from '../setup'
import { until } from '../timing'
import { serveApplication } from './addon/application'
import { go, logInAgain, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** Live beside an application with the published add-on, and the codes of logins. */

const browser = useChromium()

const ALICE = 'alice@demo.local'
const BOB = 'bob@demo.local'

test('a change is in Live with its writer and the devices that heard of it, and a rejected one with the reason', async () => {
  await using server = await setupServerAt(systemClock)
  const commands = await openSession(server.folder, () => undefined)
  const users = JSON.stringify({ demoUsers: { [ALICE]: {}, [BOB]: {} } })
  await commands.run('import', PLAIN_IMPORT, { upload: new Blob([users]).stream() })
  const schema = JSON.stringify({ todoLists: '@id', todoItems: '@id', settings: 'id' })
  const upload = new Blob([schema]).stream()
  await commands.run('schema.push', { database: 'main', wait: true }, { upload })
  using application = await serveApplication(server.main, 'live.js')
  await using phone = await browser.openDevice()
  await using laptop = await browser.openDevice()
  await using desk = await browser.openDevice()
  await openPerson(phone.page, application.url, ALICE)
  await openPerson(laptop.page, application.url, ALICE)
  const { page } = desk
  const { faults } = await openAdmin(page, commands)
  await page.getByText('2 devices are connected').waitFor()

  await phone.page.evaluate(`db.table('todoItems').add({ id: 'tdiMilk', title: 'Milk' })`)
  const change = page.locator('.entry', { hasText: 'tdiMilk' })
  await change.getByText(ALICE).first().waitFor()
  await change.getByText('sync').waitFor()
  await change.getByText(/sent in/).waitFor()

  await phone.page.evaluate(
    `db.table('todoItems').add({ id: 'tdiAd', title: 'Ad', realmId: 'rlm-public' })`,
  )
  const rejected = page.locator('.entry.rejected', { hasText: 'tdiAd' })
  await rejected.waitFor()
  expect(await rejected.locator('.badge.bad').textContent()).toMatch(/^[A-Z_]+$/)
  expect(await rejected.locator('.sentence').textContent()).not.toBe('')
  await rejected.getByRole('button', { name: 'Explain' }).click()
  const explained = page.getByRole('dialog', { name: 'Explain' })
  await explained.getByLabel('Realm').fill('rlm-public')
  await explained.getByRole('button', { name: 'Ask' }).click()
  await explained.getByText('No').first().waitFor()
  await page.keyboard.press('Escape')

  // The lines are kept while other pages are open.
  await go(page, '#/main/people')
  await page.getByRole('heading', { name: 'People', level: 1 }).waitFor()
  await go(page, '#/main/live')
  await change.waitFor()
  await page.keyboard.press('r')
  await change.waitFor({ state: 'detached' })
  expect(await page.locator('.entry').count()).toBe(1)
  expect(faults).toEqual([])
})

test('a write that REST rejects is in Live in red, and a long list is drawn as it is scrolled', async () => {
  await using server = await setupServerAt(systemClock)
  const commands = await openSession(server.folder, () => undefined)
  const upload = new Blob([JSON.stringify({ todoItems: '@id' })]).stream()
  await commands.run('schema.push', { database: 'main', wait: true }, { upload })
  await using desk = await browser.openDevice()
  const { page } = desk
  const { faults } = await openAdmin(page, commands)
  await page.getByText('Following').waitFor()
  const post = async (token: string, path: string, body: object) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(`${server.main}${path}`, init)).status
  }
  const alice = await server.token({ sub: ALICE })
  expect(await post(alice, '/my/todoItems', { id: 'tdiAd', realmId: 'rlm-public' })).toBe(403)
  const rejected = page.locator('.entry.rejected')
  await rejected.getByText(ALICE).waitFor()
  expect(await rejected.textContent()).toMatch(/todoItemstdiAd.*realm.*NOT_AUTHORIZED/)
  await rejected.getByRole('button', { name: 'Explain' }).click()
  await page.getByRole('dialog', { name: 'Explain' }).waitFor()
  await page.keyboard.press('Escape')

  const root = await server.token()
  for (let n = 0; n < 90; n += 1) {
    await post(root, '/all/todoItems', { id: `tdi${n}`, realmId: 'rlm-public' })
  }
  await page.locator('.object-key', { hasText: 'tdi89' }).waitFor()
  expect(await page.locator('.entry').count()).toBe(60)
  await page.getByRole('list', { name: 'Changes' }).press('End')
  await rejected.waitFor()
  expect(await page.locator('.entry').count()).toBeGreaterThan(90)
  await page.getByRole('list', { name: 'Changes' }).press('Home')
  await rejected.waitFor({ state: 'detached' })
  expect(faults).toEqual([])
})

test('the lines of another database are its own, also those that wait', async () => {
  await using server = await setupAdmin()
  const write = async (database: string, count: number) => {
    for (let n = 1; n <= count; n += 1) {
      const origin = `https://${database}-${n}.example`
      await server.commands.run('origin.add', { database, origin })
    }
  }
  await server.commands.run('db.create', { name: 'other' })
  await write('other', 4)
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  await write('main', 1)
  await page.locator('.entry', { hasText: 'main-1.example' }).waitFor()
  await page.getByRole('button', { name: 'Pause' }).click()
  await server.commands.run('origin.add', { database: 'main', origin: 'https://late.example' })
  await page.getByRole('button', { name: 'Go on (1)' }).waitFor()
  await page.locator('.entry', { hasText: 'main-1.example' }).waitFor()

  await go(page, '#/other/live')
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  await page.getByText('Following').waitFor()
  await server.commands.run('origin.add', { database: 'other', origin: 'https://new.example' })
  await page.locator('.entry', { hasText: 'new.example' }).waitFor()
  expect(await page.locator('.entry').count()).toBe(1)
  expect(faults).toEqual([])
})

test('lines wait while the page is paused, however many, and none of them is lost', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  const commit = (revision: number) => ({
    kind: 'commit',
    at: revision,
    revision,
    tables: [{ table: 'items', puts: 1, deletes: 0, keys: [`key${revision}`] }],
    hasMore: false,
    realms: [],
    records: [],
    writer: { uid: null, email: null, client: null, device: null, door: 'rest' },
  })
  const items = [
    { kind: 'start', at: 1, revision: 0 },
    { kind: 'session', at: 1, device: 'd1', uid: null, origin: null, state: 'there' },
    ...Array.from({ length: 4_100 }, (_, at) => commit(at + 1)),
  ]
  await page.getByRole('button', { name: 'Pause' }).click()
  const body = items.map((item) => `${JSON.stringify({ item })}\n`).join('')
  let asked = 0
  await page.route('**/admin/api/live.follow', async (route) => {
    asked += 1
    if (asked === 1) await route.fulfill({ body })
  })
  await server.commands.run('session.revoke', {})
  await logInAgain(page, server.commands)
  await page.getByRole('button', { name: /^Go on \(/ }).click()
  await page.locator('.entry', { hasText: 'key4100' }).waitFor()
  await page.getByText('1 device is connected').waitFor()
  expect(await page.getByText('missed').count()).toBe(0)
  expect(faults).toEqual([])
})

test('the code of a login is in Mail at once, and one key copies it', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page, context } = device
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const { faults } = await openAdmin(page, server.commands, '#/main/mail')
  await page.getByText('No mail since the server started').waitFor()
  const login = { grant_type: 'otp', email: 'carol@example.com', scopes: ['ACCESS_DB'] }
  const asked = await postJson(`${server.main}/token`, login)
  const { otp_id } = (await asked.json()) as { readonly otp_id: string }
  const code = page.locator('.code-card .code')
  await code.waitFor()
  const shown = await code.textContent()
  await page.keyboard.press('c')
  await page.getByText('The code for carol@example.com was copied').waitFor()
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(shown ?? '')
  await page.keyboard.press('j')
  const panel = page.getByRole('complementary').last()
  await panel.getByRole('button', { name: 'HTML' }).click()
  const frame = page.frameLocator('iframe.mail-frame')
  await frame
    .getByText(shown ?? '')
    .first()
    .waitFor()
  // A code that was used is not offered any more.
  const newest = page.locator('main .fill > .code-card')
  expect(await newest.count()).toBe(1)
  await postJson(`${server.main}/token`, { ...login, otp_id, otp: shown })
  await page.locator('main .list').getByText('used').waitFor()
  expect(await newest.count()).toBe(0)
  expect(faults).toEqual([])
})

async function openPerson(page: Page, url: string, userId: string): Promise<void> {
  await page.goto(url)
  await page.waitForSelector('body[data-open]', { state: 'attached' })
  await page.evaluate(`db.cloud.login({ grant_type: 'demo', userId: '${userId}' })`)
  await until(async () => {
    await Bun.sleep(50)
    return await page.evaluate(`db.cloud.webSocketStatus.value === 'connected'`)
  })
}
