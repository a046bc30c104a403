import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/clock'
import { HOUR } from '../auth/setup'
import { wrongCode } from '../auth/otp-setup'
import { startSmtp } from '../mail/smtp-server'
import { setupServerAt } from '../setup'
import { serveApplication } from './addon/application'
import { useChromium } from './chromium'

const browser = useChromium()

/** The published add-on in a real browser: its dialogs, its database, its keys. */

const ALICE = 'alice@example.com'
const LOGGED_IN = `${ALICE} with a key that stays here`

/** A server, its mailbox, and an application that runs beside it. */
async function setup() {
  await using undo = new AsyncDisposableStack()
  const smtp = undo.use(await startSmtp())
  const smtpUrl = `smtp://127.0.0.1:${smtp.port}`
  const server = undo.use(await setupServerAt(systemClock, { smtpUrl, mailFrom: ALICE }))
  const { url } = undo.use(await serveApplication(server.main))
  const parts = undo.move()
  return {
    main: server.main,
    url,
    async mail() {
      const { text } = await smtp.next()
      const [, otp = ''] = /^ {4}(\S+)$/m.exec(text) ?? []
      const [link = ''] = /^http\S+$/m.exec(text) ?? []
      return { otp, link }
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

async function askForCode(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator('input[name=email]').fill('Alice@Example.com')
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.locator('input[name=otp]').waitFor()
}

test('a person logs in with a code and stays logged in', async () => {
  await using scene = await setup()
  await using device = await browser.openDevice({ width: 360, height: 640 })
  const { page } = device
  await page.goto(scene.url)
  await askForCode(page)
  const { otp } = await scene.mail()
  await page.locator('input[name=otp]').fill(wrongCode(otp))
  await page.getByText('This code is wrong: you can try 4 more times').waitFor()
  await page.locator('input[name=otp]').fill(otp.toLowerCase())
  await page.getByText(LOGGED_IN).waitFor()
  await page.reload()
  await page.getByText(LOGGED_IN).waitFor()
  expect(await page.locator('input[name=otp]').count()).toBe(0)
})

test('a person logs in by following the link in the mail', async () => {
  await using scene = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  await page.goto(scene.url)
  await askForCode(page)
  const { link } = await scene.mail()
  expect(link).toStartWith(`${scene.url}?otpId=`)
  await page.goto(link)
  await page.getByText(LOGGED_IN).waitFor()
})

test('the add-on refreshes with the key that it keeps, an hour later', async () => {
  await using scene = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  await page.goto(scene.url)
  await askForCode(page)
  await page.locator('input[name=otp]').fill((await scene.mail()).otp)
  await page.getByText(LOGGED_IN).waitFor()
  const output = page.locator('output')
  const first = await output.getAttribute('title')
  await page.clock.install({ time: Date.now() + HOUR })
  await page.reload()
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.locator(`output:not([title="${first}"])`).waitFor()
  const authorization = `Bearer ${await output.getAttribute('title')}`
  const answer = await fetch(`${scene.main}/my/realms`, { headers: { authorization } })
  expect(answer.status).toBe(200)
})
