import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/clock'
import { DAY } from '../auth/setup'
import { startSmtp } from '../mail/smtp-server'
import { setupServerAt, type TestServer } from '../setup'
import { until } from '../timing'
import { useChromium } from './chromium'
import { linesOf, logIn, pageOf, servePage, withOwnFiles } from './guide-page'

const browser = useChromium()

/** The application of the README on a device on which every way out of an old login is tried. */

const ALICE = 'alice@example.com'
const GUIDE = 'docs/troubleshooting.md'

/** A mailbox, and the settings of servers that send to it. */
async function setup() {
  await using undo = new AsyncDisposableStack()
  const smtp = undo.use(await startSmtp())
  const settings = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, mailFrom: 'app@example.com' }
  const device = undo.use(await browser.openDevice())
  const parts = undo.move()
  return { smtp, settings, device, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

async function add(page: Page, title: string): Promise<void> {
  await page.getByPlaceholder('Add an item').fill(title)
  await page.keyboard.press('Enter')
  await page.getByText(title).waitFor()
}

/** The titles on the server, once there are `count`. */
async function stored(server: TestServer<typeof systemClock>, count: number): Promise<string[]> {
  const headers = { authorization: `Bearer ${await server.token()}` }
  let titles: string[] = []
  await until(async () => {
    const answer = await fetch(`${server.main}/all/items`, { headers })
    const rows = answer.ok ? ((await answer.json()) as { title: string }[]) : []
    titles = rows.map(({ title }) => title).toSorted()
    return titles.length === count
  })
  return titles
}

/** Lets the time of the page run ahead until `work` is done: the add-on pauses after a refusal. */
async function hurry<T>(page: Page, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => (isDone = true))
  while (!isDone) {
    // The add-on also waits for a sign of a person.
    await page.mouse.move(40, 40)
    await page.mouse.move(80, 40)
    await page.clock.fastForward(5_000)
    await Promise.race([done, Bun.sleep(200)])
  }
  return done
}

const synced = (page: Page) =>
  page.waitForResponse((answer) => answer.url().endsWith('/sync')).then((found) => found.status())

test('a device of a deleted data folder is emptied, and logs in to the new database', async () => {
  await using scene = await setup()
  const { page } = scene.device
  await page.clock.install()
  await using undo = new AsyncDisposableStack()
  let server = undo.use(await setupServerAt(systemClock, scene.settings))
  const port = new URL(server.url).port
  using application = servePage(withOwnFiles(pageOf('README.md', `'${server.main}'`)))
  await page.goto(application.url)
  await logIn(page, scene.smtp, ALICE)
  await add(page, 'Bread')
  expect(await stored(server, 1)).toEqual(['Bread'])
  await server[Symbol.asyncDispose]()

  await add(page, 'Milk')
  server = undo.use(await setupServerAt(systemClock, { ...scene.settings, port }))
  const refused = page.waitForResponse((answer) => answer.status() === 401)
  await page.mouse.move(20, 20)
  await refused
  expect(await page.locator('input[name=email]').count()).toBe(0)

  // A login alone: the device is told that it has data of another database, and keeps it.
  const login = page.evaluate(linesOf(GUIDE, '### An expired login'))
  await logIn(page, scene.smtp, ALICE)
  await login
  expect(await hurry(page, synced(page))).toBe(409)
  expect(await page.locator('li').allTextContents()).toEqual(['Bread', 'Milk'])

  await hurry(page, page.evaluate(linesOf(GUIDE, '### A deleted data folder')))
  await page.reload()
  await logIn(page, scene.smtp, ALICE)
  expect(await page.locator('li').allTextContents()).toEqual([])
  await add(page, 'Eggs')
  expect(await stored(server, 1)).toEqual(['Eggs'])
})

test('a device that was not used for 180 days logs in again and sends what it kept', async () => {
  await using scene = await setup()
  const { context, page } = scene.device
  let ahead = 0
  const clock = { now: () => systemClock.now() + ahead }
  await using server = await setupServerAt(clock, scene.settings)
  using application = servePage(withOwnFiles(pageOf('README.md', `'${server.main}'`)))
  await page.goto(application.url)
  await logIn(page, scene.smtp, ALICE)
  await add(page, 'Bread')
  expect(await stored(server, 1)).toEqual(['Bread'])
  await context.setOffline(true)
  await add(page, 'Milk')
  await page.close()

  ahead = 181 * DAY
  await context.setOffline(false)
  await context.clock.install({ time: clock.now() })
  const later = await context.newPage()
  const refused = later.waitForResponse((answer) => answer.status() === 401)
  await later.goto(application.url)
  await refused
  await later.getByText('Milk').waitFor()
  expect(await later.locator('input[name=email]').count()).toBe(0)
  const login = later.evaluate(linesOf(GUIDE, '### An expired login'))
  await logIn(later, scene.smtp, ALICE)
  await login
  expect(await hurry(later, synced(later))).toBe(200)
  expect(await stored(server, 2)).toEqual(['Bread', 'Milk'])
  expect(await later.locator('li').allTextContents()).toEqual(['Bread', 'Milk'])
})
