import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { MINUTE } from '../../src/domain/value/time'
import { setupAdmin } from '../http/admin/setup'
import { until } from '../timing'
import { go, logInAgain, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** Sessions of the page for administrators that go on, end, and begin again in an open page. */

const browser = useChromium()

test('Live follows on when the times of the session are asked for', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const follows = countRequests(page, 'api/live.follow')
  await page.clock.install()
  const { faults } = await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  const asked = page.waitForResponse((answer) => answer.url().endsWith('/admin/session'))
  await page.clock.fastForward(31_000)
  await asked
  await write(server, 'https://one.example')
  await page.locator('.entry', { hasText: 'one.example' }).waitFor()
  expect({ follows: follows(), faults }).toEqual({ follows: 1, faults: [] })
})

test('a page that nobody is at asks for nothing by itself, so that its session ends', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await page.clock.install()
  await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  const asks = countRequests(page, 'session')
  await page.clock.fastForward('06:00')
  await page.mouse.move(100, 100)
  const asked = page.waitForResponse((answer) => answer.url().endsWith('/admin/session'))
  await page.clock.fastForward('00:31')
  await asked
  expect(asks()).toBe(1)
})

test('a session that ends shows the login at once, and Log and Live go on after it', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/server/log')
  await untilLogged(page, `${server.main}/all/one`)
  await server.commands.run('session.revoke', {})
  await write(server, 'https://two.example')
  await logInAgain(page, server.commands)
  await untilLogged(page, `${server.main}/all/three`)
  await page.getByText('Lines may be missing here').waitFor()
  await go(page, '#/main/live')
  await page.getByText('This page missed 1 change here').waitFor()
  await write(server, 'https://four.example')
  await page.locator('.entry', { hasText: 'four.example' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(faults).toEqual([])
})

test('when the scopes of its client change, Live goes on with the operations that it has then', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  let cuts = 0
  const { promise: isReady, resolve: cut } = Promise.withResolvers<void>()
  await page.route('**/admin/api/live.follow', async (route) => {
    await isReady
    cuts += 1
    if (cuts > 1) return route.continue()
    const error = { code: 'NOT_AUTHORIZED', status: 403, message: 'The scopes were changed' }
    return route.fulfill({ body: `${JSON.stringify({ error })}\n` })
  })
  await page.route('**/admin/session', async (route) => {
    if (route.request().method() !== 'GET') return route.continue()
    const session = (await (await route.fetch()).json()) as object
    return route.fulfill({ json: { ...session, scopes: ['GLOBAL_READ'] } })
  })
  const { faults } = await openAdmin(page, server.commands)
  await page.getByRole('link', { name: 'Jobs' }).waitFor()
  await page.route('**/admin/operations', async (route) => {
    const all = (await (await route.fetch()).json()) as { readonly name: string }[]
    return route.fulfill({ json: all.filter(({ name }) => name !== 'job.list') })
  })
  cut()
  await page.getByRole('link', { name: 'Jobs' }).waitFor({ state: 'detached' })
  await page.getByText('Following').waitFor()
  await write(server, 'https://one.example')
  await page.locator('.entry', { hasText: 'one.example' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect({ cuts, faults }).toEqual({ cuts: 2, faults: [] })
})

test('a failure of Live is tried again by a button', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  let isBroken = true
  await page.route('**/admin/api/live.follow', (route) => {
    const json = { code: 'INTERNAL', message: 'Something went wrong' }
    return isBroken ? route.fulfill({ status: 500, json }) : route.continue()
  })
  await openAdmin(page, server.commands)
  await page.getByText('Something went wrong').waitFor()
  isBroken = false
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('Following').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('a failure of the log is tried again by a button', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  let isBroken = true
  await page.route('**/admin/api/log.follow', (route) => {
    const json = { code: 'INTERNAL', message: 'Something went wrong' }
    return isBroken ? route.fulfill({ status: 500, json }) : route.continue()
  })
  await openAdmin(page, server.commands, '#/main/server/log')
  await page.getByText('Something went wrong').waitFor()
  isBroken = false
  await page.getByRole('button', { name: 'Try again' }).click()
  await untilLogged(page, `${server.main}/all/one`)
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('a link that was used is refused with words, and the page stays where it is', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/people')
  await page.getByText('No user has logged in yet').waitFor()
  await page.getByPlaceholder('Name or address').fill('alice')
  await go(page, '#used')
  await page.getByText('This link was used, or has expired').waitFor()
  expect(page.url()).toEndWith('#/main/people')
  expect(await page.getByPlaceholder('Name or address').inputValue()).toBe('alice')
})

test('the owner of a client confirms with a code by mail, and a wrong one is refused in the dialog', async () => {
  await using server = await setupAdmin()
  const email = 'ann@example.com'
  const scopes = ['ACCESS_DB', 'MANAGE_DB', 'GLOBAL_READ']
  await server.commands.run('client.create', { database: 'main', scopes, email })
  await using device = await browser.openDevice()
  const { page } = device
  await page.goto(`${server.url}/admin`)
  await page.getByRole('button', { name: 'With a code by mail' }).click()
  await page.getByLabel('Database').fill('main')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('button', { name: 'Send a code' }).click()
  await page.getByLabel('Code').fill(await codeOf(server, 1))
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('.sidebar').waitFor()
  server.clock.advance(10 * MINUTE)
  await go(page, '#/main/database')
  const clients = page.locator('section', { has: page.getByRole('heading', { name: 'Clients' }) })
  await clients.getByRole('button', { name: 'Add' }).click()
  const adding = page.getByRole('dialog', { name: 'Add a client' })
  await adding.getByLabel('Name').fill('nightly')
  await adding.getByRole('button', { name: 'Add' }).click()
  const question = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await question.getByText(email).waitFor()
  await question.getByRole('button', { name: 'Send a code' }).click()
  const code = await codeOf(server, 2)
  // The field has the focus.
  await question.getByLabel('Code').waitFor()
  await page.keyboard.type('WRONGONE')
  await page.keyboard.press('Enter')
  await question.getByRole('alert').waitFor()
  await question.getByLabel('Code').fill(code)
  await question.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('dialog', { name: 'A new client' }).waitFor()
  expect(await server.commands.run('session.list', {})).toHaveLength(1)
})

type Server = Awaited<ReturnType<typeof setupAdmin>>

async function write({ commands }: Server, origin: string): Promise<void> {
  await commands.run('origin.add', { database: 'main', origin })
}

/** Waits until the log shows a request for this address, which is sent again and again. */
async function untilLogged(page: Page, url: string): Promise<void> {
  const { pathname } = new URL(url)
  const line = page.getByRole('list', { name: 'Log' }).getByText(pathname)
  await until(async () => {
    await fetch(url)
    return (await line.count()) > 0
  })
}

/** The code of so many mails that were sent. */
async function codeOf({ lines }: Server, count: number): Promise<string> {
  const mails = () => lines.filter((line) => line.includes('"logger":"mail"'))
  await until(() => mails().length === count)
  return (JSON.parse(mails().at(-1) ?? '') as { variables: { otp: string } }).variables.otp
}

/** Counts the requests of a page for a path below that of the page. */
function countRequests(page: Page, path: string): () => number {
  let count = 0
  page.on('request', (request) => {
    if (request.url().endsWith(`/admin/${path}`)) count += 1
  })
  return () => count
}
