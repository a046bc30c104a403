import { expect, test } from 'bun:test'
import { systemClock } from '../../src/clock'
import { startSmtp } from '../mail/smtp-server'
import { connectOpenId, setupLogins } from '../oauth/setup'
import { setupServerAt } from '../setup'
import { useChromium } from './chromium'
import { logIn, pageOf, servePage, withOwnFiles } from './guide-page'

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

test('the page of the README syncs two browsers', async () => {
  await using smtp = await startSmtp()
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
  await using server = await setupServerAt(systemClock, { smtpUrl, mailFrom: 'app@example.com' })
  using application = servePage(withOwnFiles(pageOf('README.md', `'${server.main}'`)))
  await using devices = new AsyncDisposableStack()
  const log = async () => {
    const { page } = devices.use(await browser.openDevice())
    await page.goto(application.url)
    await logIn(page, smtp, 'alice@example.com')
    return page
  }
  const [one, other] = [await log(), await log()]
  await one.getByPlaceholder('Add an item').fill('Bread')
  await one.keyboard.press('Enter')
  await other.getByText('Bread', { exact: true }).click()
  await one.getByText('✓ Bread').waitFor()
  expect(await other.locator('li').allTextContents()).toEqual(['✓ Bread'])
})
