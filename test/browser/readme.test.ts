import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/clock'
import { startSmtp } from '../mail/smtp-server'
import { connectOpenId, setupLogins } from '../oauth/setup'
import { setupServerAt } from '../setup'
import { useChromium } from './chromium'

const browser = useChromium()

const ROOT = join(import.meta.dir, '..', '..')

/** The first page that a guide has its reader save. */
function pageOf(guide: string, database: string): string {
  const [, rest = ''] = readFileSync(join(ROOT, guide), 'utf8').split('<!doctype html>')
  const [html = ''] = rest.split(/\n(?:HTML|```)\n/)
  expect(html).toContain("'http://127.0.0.1:7080/main'")
  return `<!doctype html>${html}`.replace('http://127.0.0.1:7080/main', database)
}

test('the page of the guide logs a person in and shows their tokens', async () => {
  await using server = await setupLogins()
  await connectOpenId(server, { type: 'google' })
  const html = pageOf('docs/login.md', server.main)
  using application = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(html, { headers: { 'content-type': 'text/html' } }),
  })
  await using device = await browser.openDevice()
  const { page } = device
  const address = `http://localhost:${application.port}/login.html`
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
  const html = pageOf('README.md', server.main)
  using application = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(html, { headers: { 'content-type': 'text/html' } }),
  })
  await using devices = new AsyncDisposableStack()
  const log = async () => {
    const { page } = devices.use(await browser.openDevice())
    // The published files, without a network.
    await page.route('https://unpkg.com/**', (route) => {
      const [, name = '', path = ''] =
        /^https:\/\/unpkg\.com\/([^@]+)@[\d.]+\/(.+)$/.exec(route.request().url()) ?? []
      return route.fulfill({ path: join(ROOT, 'node_modules', name, path) })
    })
    await page.goto(`http://localhost:${application.port}/`)
    await page.locator('input[name=email]').fill('alice@example.com')
    await page.getByRole('button', { name: 'Submit' }).click()
    await page.locator('input[name=otp]').waitFor()
    const [, otp = ''] = /^ {4}(\S+)$/m.exec((await smtp.next()).text) ?? []
    await page.locator('input[name=otp]').fill(otp)
    await page.locator('input[name=otp]').waitFor({ state: 'detached' })
    return page
  }
  const [one, other] = [await log(), await log()]
  await one.getByPlaceholder('Add an item').fill('Bread')
  await one.keyboard.press('Enter')
  await other.getByText('Bread', { exact: true }).click()
  await one.getByText('✓ Bread').waitFor()
  expect(await other.locator('li').allTextContents()).toEqual(['✓ Bread'])
})
