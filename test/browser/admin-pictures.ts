import { postJson } from '../http/setup'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { serveApplication } from './addon/application'
import { openWorkshop } from './executable'

/**
 * `bun test/browser/admin-pictures.ts` makes the pictures of docs/admin.md and the README with `dist/satchel`: two
 * applications with the add-on work on a list, and the page for administrators looks on. With a number, such as 60, it
 * makes the picture of the plots, too, after so many minutes in which the server has something to do.
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

await edit('"title": "Milk"', '"title": "Oat milk",,')
await page.locator('.json-hint .link').waitFor()
await picture('admin-editor')
await edit('"title": "Oat milk",,', '"title": "Oat milk"')
await alice.evaluate(`db.table('todoItems').update('tdiMilk', { count: 3 })`)
await sees(bob, `db.table('todoItems').get('tdiMilk').then((row) => row.count === 3)`)
await page.getByRole('button', { name: 'Review' }).click()
await page.getByRole('button', { name: 'Save', exact: true }).click()
await page.getByText('Changed by others since you began').waitFor()
await page.waitForTimeout(500)
await picture('admin-diff')
await page.getByRole('button', { name: 'Begin again with the object' }).click()
await page.getByRole('button', { name: 'Cancel' }).click()

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

await go('database')
await page.getByRole('button', { name: 'Change otp-body-html' }).click()
await page.frameLocator('iframe').getByText('ABCD1234').first().waitFor()
await page.waitForTimeout(500)
await page.getByRole('dialog').screenshot({ path: join(PICTURES, 'admin-template.png') })
await page.keyboard.press('Escape')

const minutes = Number(process.argv[2] ?? 0)
if (minutes > 0) {
  await go('server/state')
  await work(minutes)
  await page.waitForTimeout(12_000)
  await picture('admin-plots')
}

/** Replaces a part of the object in the editor, which is opened where it is not. */
async function edit(before: string, after: string): Promise<void> {
  const editor = page.getByRole('textbox', { name: 'The object as JSON' })
  if ((await editor.count()) === 0) await page.getByRole('button', { name: 'Edit' }).click()
  await editor.waitFor()
  const text = (await editor.locator('.cm-line').allTextContents()).join('\n')
  if (!text.includes(before)) throw new Error(`The editor has no ${before}: ${text}`)
  await editor.fill(text.replace(before, after))
}

/** Requests in waves, and people who come and go. */
async function work(minutes: number): Promise<void> {
  const printed = await run(
    'token',
    '--sub',
    ALICE,
    '--scopes',
    'ACCESS_DB,GLOBAL_READ,GLOBAL_WRITE',
  )
  const headers = { authorization: `Bearer ${printed.trim()}`, 'content-type': 'application/json' }
  const end = Date.now() + minutes * 60_000
  const people: Page[] = []
  for (let turn = 0; Date.now() < end; turn += 1) {
    const wave = 1 + Math.sin(turn / 90) + Math.sin(turn / 17) / 3
    await fetch(`${main}/all/todoItems`, { headers })
    if (turn % 3 === 0) {
      const body = JSON.stringify({ id: `tdiWork${turn % 40}`, title: 'Work', turn })
      await fetch(`${main}/all/todoItems`, { method: 'POST', headers, body })
    }
    // The page asks for figures while a person uses it.
    if (turn % 50 === 0) await page.mouse.move(turn % 100, 2)
    if (turn % 400 === 200) people.push(await openPerson(browser, application.url, BOB))
    if (turn % 1_600 === 1_500) await people.pop()?.close()
    await Bun.sleep(60 + 300 / (0.4 + Math.max(0, wave)))
  }
}

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
