import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { serve } from '../binary/setup'
import { connectOpenId, setupLogins } from '../oauth/setup'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { useChromium } from './chromium'
import { pageOf, servePage, withOwnFiles } from './guide-page'

const browser = useChromium()

test('the page of the guide logs a person in and shows their tokens', async () => {
  await using server = await setupLogins()
  await connectOpenId(server, { type: 'google' })
  using application = servePage(pageOf('docs/login.md', `'${server.main}'`))
  await using device = await browser.openDevice()
  const { page } = device
  const address = `${application.url}login.html`
  await page.goto(address)
  await page.getByRole('link', { name: 'Log in with Google' }).click()
  await page.getByPlaceholder('Enter any login').fill('alice')
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('"sub": "alice@example.com"').waitFor()
  expect(page.url()).toBe(address)
})

test('the page of the README syncs two browsers, also with changes made while the server was away', async () => {
  using folder = temporaryFolder()
  await using undo = new AsyncDisposableStack()
  const { ready, ...first } = undo.use(await serve({ cwd: folder.path }))
  using application = servePage(withOwnFiles(pageOf('README.md', `'${ready.url}/main'`)))
  const { page: start } = undo.use(await browser.openDevice())
  await start.goto(ready.url)
  const logIn = async (person: number) => {
    const { page } = undo.use(await browser.openDevice())
    await page.goto(application.url)
    await page.locator('input[name=email]').fill('alice@example.com')
    await page.getByRole('button', { name: 'Submit' }).click()
    const codes = start.locator('#mails .code')
    await until(async () => (await codes.count()) === person)
    await page.locator('input[name=otp]').fill(await codes.first().innerText())
    await page.locator('input[name=otp]').waitFor({ state: 'detached' })
    return page
  }
  const pages = [await logIn(1), await logIn(2)] as const
  const add = async (page: Page, title: string) => {
    await page.getByPlaceholder('Add an item').fill(title)
    await page.keyboard.press('Enter')
    await page.getByText(title, { exact: true }).waitFor()
  }
  const [one, other] = pages
  await add(one, 'Bread')
  await other.getByText('Bread', { exact: true }).click()
  await one.getByText('✓ Bread').waitFor()
  expect(await other.locator('li').allTextContents()).toEqual(['✓ Bread'])

  await first[Symbol.asyncDispose]()
  await add(one, 'Eggs')
  await add(other, 'Milk')
  undo.use(await serve({ cwd: folder.path }, ['--port', new URL(ready.url).port]))
  for (const page of pages) {
    await until(async () => {
      for (const each of pages) await each.mouse.move(80 * Math.random(), 40)
      return (await page.locator('li').count()) === 3
    })
    expect(await page.locator('li').allTextContents()).toEqual(['✓ Bread', 'Eggs', 'Milk'])
  }
})
