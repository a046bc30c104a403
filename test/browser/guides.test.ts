import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/clock'
import { startSmtp } from '../mail/smtp-server'
import { setupServerAt } from '../setup'
import { until } from '../timing'
import { useChromium } from './chromium'
import { codeOf, logIn, pageOf, servePage, withOwnFiles } from './guide-page'

const browser = useChromium()

/** The page of a guide on as many devices as it takes, each with its own user. */
async function openGuide(guide: string) {
  await using undo = new AsyncDisposableStack()
  const smtp = undo.use(await startSmtp())
  const settings = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, mailFrom: 'app@example.com' }
  const server = undo.use(await setupServerAt(systemClock, settings))
  const { url } = undo.use(servePage(withOwnFiles(pageOf(guide, `'${server.main}'`))))
  const parts = undo.move()
  const faults: string[] = []
  return {
    server,
    smtp,
    /** What the pages have thrown: the server of the guides covers a page with it. */
    faults,
    async openAs(email: string): Promise<Page> {
      const { page } = parts.use(await browser.openDevice())
      page.on('pageerror', ({ message }) => faults.push(message))
      await page.goto(url)
      await logIn(page, smtp, email)
      return page
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** The lines of the guide on sharing before its pieces of code. */
const ASKED =
  "An application asks what its user may do before it offers it. React has `usePermissions(item, 'todoItems')`:"
const MOVED_BACK = 'again when it is moved back and its realm is deleted:'

/** Presses a button and answers the question that it asks. */
async function press(page: Page, name: string, answer: string): Promise<void> {
  page.once('dialog', (dialog) => void dialog.accept(answer))
  await page.getByRole('button', { name, exact: true }).click()
}

test('the page of the guide shares a list, keeps to the permissions and makes it private again', async () => {
  await using scene = await openGuide('docs/sharing.md')
  const alice = await scene.openAs('alice@example.com')
  const bob = await scene.openAs('bob@example.com')
  await press(alice, 'New list', 'Groceries')
  await press(alice, 'Add an item', 'Bread')
  await alice.getByText('Bread', { exact: true }).waitFor()
  await press(alice, 'Share', 'bob@example.com')
  expect((await scene.smtp.next()).to).toEqual(['bob@example.com'])

  await bob.getByText('alice@example.com invites you to Groceries').waitFor()
  expect(await bob.locator('h2').count()).toBe(0)
  await bob.getByRole('button', { name: 'Accept' }).click()
  await bob.getByText('Bread', { exact: true }).click()
  await alice.getByText('✓ Bread').waitFor()
  await alice.getByText('bob@example.com is a member.').waitFor()
  await press(bob, 'Add an item', 'Milk')
  await alice.getByText('Milk', { exact: true }).waitFor()

  const ask = codeOf('docs/sharing.md', ASKED).trim()
  const item = `const item = await db.todoItems.where({ todoListId: list.id }).filter(({ title }) => title === 'Bread').first()`
  const list = `const list = await db.todoLists.toCollection().first()`
  const may = await bob.evaluate(`(async () => { ${list}; ${item}
    return new Promise((resolve) => { const console = { log: (...may) => resolve(may) }; ${ask} }) })()`)
  expect(may).toEqual([true, false, false])

  const unshare = codeOf('docs/sharing.md', MOVED_BACK)
  await alice.evaluate(`(async () => { ${unshare}; ${list}; await unshare(list) })()`)
  await until(async () => (await bob.locator('h2').count()) === 0)
  expect(await alice.locator('main p').allTextContents()).toEqual(['✓ Bread', 'Milk'])
  const headers = { authorization: `Bearer ${await scene.server.token()}` }
  const stored = async (table: string) =>
    (await (await fetch(`${scene.server.main}/all/${table}`, { headers })).json()) as object[]
  await until(async () => (await stored('realms')).length === 0)
  const mine = { owner: 'alice@example.com', realmId: 'alice@example.com' }
  expect(await stored('todoItems')).toMatchObject([mine, mine])
  expect(scene.faults).toEqual([])
})

test('an invitation of the page of the guide that is declined goes away', async () => {
  await using scene = await openGuide('docs/sharing.md')
  const alice = await scene.openAs('alice@example.com')
  const bob = await scene.openAs('bob@example.com')
  await press(alice, 'New list', 'Groceries')
  await press(alice, 'Share', 'bob@example.com')
  await bob.getByRole('button', { name: 'Decline' }).click()
  await until(async () => (await bob.locator('header p').count()) === 0)
  expect(await bob.locator('h2').count()).toBe(0)
  expect(scene.faults).toEqual([])
})

test('the page of the guide shows a picture on another device, byte by byte', async () => {
  await using scene = await openGuide('docs/blobs.md')
  const one = await scene.openAs('alice@example.com')
  const other = await scene.openAs('alice@example.com')
  const buffer = await one.screenshot()
  expect(buffer.length).toBeGreaterThan(4096)
  await one
    .locator('input[type=file]')
    .setInputFiles({ name: 'one', mimeType: 'image/png', buffer })
  for (const page of [one, other]) {
    await until(() =>
      page.evaluate<boolean>(`document.querySelector('img[alt=one]')?.naturalWidth === 1280`),
    )
  }
  const bytes = await other.evaluate<number[]>(
    `db.pictures.toArray().then(async ([{ file }]) => [...new Uint8Array(await file.arrayBuffer())])`,
  )
  expect(Buffer.from(bytes).equals(buffer)).toBe(true)
  const headers = { authorization: `Bearer ${await scene.server.token()}` }
  const [stored] = (await (
    await fetch(`${scene.server.main}/all/pictures`, { headers })
  ).json()) as { file: unknown }[]
  expect(stored?.file).toMatchObject({ ref: expect.any(String), size: buffer.length })
})
