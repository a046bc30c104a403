import { postJson } from '../http/setup'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { serveApplication } from './addon/application'
import { openWorkshop } from './executable'

/**
 * `bun test/browser/admin-pictures.ts` makes the pictures of docs/admin.md and the README with `dist/satchel`: two
 * applications with the add-on work on a list, and the page for administrators looks on.
 */
const PICTURES = join(import.meta.dir, '..', '..', 'docs', 'pictures')
const SCREEN = { width: 1280, height: 760 }

const ALICE = 'alice@demo.local'
const BOB = 'bob@demo.local'

await using workshop = await openWorkshop()
const { browser, run, write } = workshop
const main = workshop.ready.databases[0]?.url ?? ''
await run('import', await write('users.json', { demoUsers: { [ALICE]: {}, [BOB]: {} } }))
const schema = { todoItems: '@id, title', todoLists: '@id', settings: 'id' }
await run('schema', 'push', await write('schema.json', schema))
await run('user', 'add', 'carol@example.com', '--name', 'Carol')

using application = await serveApplication(main, 'live.js')
const alice = await openPerson(browser, application.url, ALICE)
const bob = await openPerson(browser, application.url, BOB)

const page = await workshop.openAdmin({ viewport: SCREEN, colorScheme: 'light' })
await page.getByText('Following').waitFor()
await shareList(alice, bob)
await page.locator('.entry.rejected').first().waitFor()
await page.waitForTimeout(1_500)
await mkdir(PICTURES, { recursive: true })
await picture('admin-live')

await go('data/todoItems/tdiMilk')
await page.getByRole('button', { name: /sees it/ }).click()
await page.getByText('owner of the realm').waitFor()
await picture('admin-object')

await page.emulateMedia({ colorScheme: 'dark' })
await go(`see-as/${ALICE}/${BOB}`)
await page.getByRole('button', { name: 'Why not bob?' }).first().waitFor()
await picture('admin-see-as')

await page.emulateMedia({ colorScheme: 'light' })
await postJson(`${main}/token`, {
  grant_type: 'otp',
  email: 'carol@example.com',
  scopes: ['ACCESS_DB'],
})
await go('mail')
await page.locator('.code-card').waitFor()
await page.waitForTimeout(3_000)
await picture('admin-mail')

/** Alice makes a list and shares it with Bob, who may only tick items off, and tries more. */
async function shareList(alice: Page, bob: Page): Promise<void> {
  await alice.evaluate(`(async () => {
    await db.table('todoItems').add({ id: 'tdiGift', title: 'A present for Bob' })
    const realmId = await db.table('realms').add({ name: 'Groceries' })
    await db.table('roles').add({ realmId, name: 'doer', permissions: { update: { todoItems: ['done'] } } })
    await db.table('members').add({ realmId, email: '${BOB}', name: 'Bob', invite: true, roles: ['doer'] })
    await db.table('todoItems').bulkAdd([
      { id: 'tdiMilk', title: 'Milk', done: false, count: 2, realmId },
      { id: 'tdiBread', title: 'Bread', done: false, count: 1, realmId },
      { id: 'tdiApples', title: 'Apples', done: false, count: 6, realmId },
    ])
  })()`)
  await sees(bob, `invites.length === 1`)
  await bob.evaluate(`invites[0].accept()`)
  await sees(bob, `db.table('todoItems').count().then((count) => count === 3)`)
  await bob.evaluate(`db.table('todoItems').update('tdiMilk', { done: true })`)
  await sees(alice, `db.table('todoItems').get('tdiMilk').then((row) => row.done)`)
  await bob.evaluate(`db.table('todoItems').update('tdiBread', { title: 'Cake' })`)
  await sees(bob, `db.table('todoItems').get('tdiBread').then((row) => row.title === 'Bread')`)
  await alice.evaluate(`db.table('todoItems').update('tdiApples', { count: 8 })`)
  await sees(bob, `db.table('todoItems').get('tdiApples').then((row) => row.count === 8)`)
}

async function openPerson(browser: Browser, url: string, userId: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  await page.goto(url)
  await page.waitForSelector('body[data-open]', { state: 'attached' })
  await page.evaluate(`db.cloud.login({ grant_type: 'demo', userId: '${userId}' })`)
  await sees(page, `db.cloud.webSocketStatus.value === 'connected'`)
  return page
}

/** Resolves when the expression is true in the application. */
async function sees(page: Page, expression: string): Promise<void> {
  while (!(await page.evaluate<boolean>(expression))) await Bun.sleep(50)
}

function go(place: string): Promise<unknown> {
  return page.evaluate(`location.hash = '#/main/${place}'`)
}

async function picture(name: string): Promise<void> {
  await page.screenshot({ path: join(PICTURES, `${name}.png`), animations: 'disabled' })
}
