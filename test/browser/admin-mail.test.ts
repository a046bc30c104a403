import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { postJson } from '../http/setup'
import { startSmtp } from '../mail/smtp-server'
import { openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** The last mails on the page for administrators. */

const browser = useChromium()

const LOGIN = { grant_type: 'otp', email: 'carol@example.com', scopes: ['ACCESS_DB'] }

test('an open mail says when its code is used, and its age is not read out each second', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/mail')
  const asked = await postJson(`${server.main}/token`, LOGIN)
  const { otp_id } = (await asked.json()) as { readonly otp_id: string }
  const newest = page.locator('main .fill > .code-card')
  const otp = await newest.locator('.code').textContent()
  expect(await newest.locator('[aria-live=off] time').count()).toBe(1)
  await page.keyboard.press('j')
  const panel = page.getByRole('complementary').last()
  await panel
    .locator('.code')
    .getByText(otp ?? '')
    .waitFor()
  await postJson(`${server.main}/token`, { ...LOGIN, otp_id, otp })
  await panel.locator('.badge').getByText('used').waitFor()
})

test('an open mail that waits is sent now, and then has its contents', async () => {
  let isUp = false
  await using smtp = await startSmtp({
    onRcptTo: (_address, _session, done) =>
      done(isUp ? undefined : Object.assign(new Error('Later'), { responseCode: 450 })),
  })
  await using server = await setupAdmin({
    smtpUrl: `smtp://127.0.0.1:${smtp.port}`,
    mailFrom: 'app@example.com',
  })
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/mail')
  await postJson(`${server.main}/token`, LOGIN)
  await page.locator('main .list').getByText('waiting').waitFor()
  await page.keyboard.press('j')
  const panel = page.getByRole('complementary').last()
  await panel.getByText('Later').waitFor()
  isUp = true
  await panel.getByRole('button', { name: 'Send it now' }).click()
  await panel.getByRole('region', { name: 'Contents' }).waitFor()
  expect(await panel.getByRole('button', { name: 'Send it now' }).count()).toBe(0)
  expect(await panel.getByText('Later').count()).toBe(0)
})

test('a login that only reads is told why it sees no code', async () => {
  await using server = await setupAdmin()
  await postJson(`${server.main}/token`, LOGIN)
  await using device = await browser.openDevice()
  const { page } = device
  const { url } = await server.commands.run('session.link', { isReadOnly: true })
  await page.goto(url)
  await page.locator('.sidebar').waitFor()
  await page.evaluate('location.hash = "#/main/mail"')
  await page.getByText('A login that only reads sees no codes').waitFor()
  await page.locator('main .list').getByText('carol@example.com').click()
  await page.getByText('The contents of this mail are not shown').waitFor()
  expect(await page.locator('.code').count()).toBe(0)
})
