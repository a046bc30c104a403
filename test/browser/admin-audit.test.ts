import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { openAdmin } from './admin-page'
import { useChromium } from './chromium'

const MAIN = { database: 'main' }

const browser = useChromium()

test('the newest operations come first, with the login that asked for them, and older ones when they are wanted', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  for (let at = 0; at < 200; at += 1) {
    await commands.run('origin.add', { ...MAIN, origin: `https://${at}.example.com` })
  }
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/sharing')
  await page.getByRole('button', { name: 'Realm', exact: true }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('List')
  await page.getByRole('dialog').getByRole('button', { name: 'Add' }).click()
  await page.getByRole('heading', { name: 'List', exact: true }).waitFor()
  const [login] = await commands.run('session.list', {})

  await page.evaluate(`location.hash = '#/main/server/audit'`)
  const rows = page.locator('tbody tr')
  await rows.first().getByText('realm.add').waitFor()
  expect(await rows.first().textContent()).toContain(login?.id ?? 'no login')
  expect(await rows.nth(1).textContent()).toContain('origin.add')
  expect(await rows.count()).toBe(200)
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await rows.nth(201).waitFor()
  expect(await rows.nth(201).textContent()).toContain('db.createthe server')
  expect(await page.getByRole('button', { name: 'More', exact: true }).count()).toBe(0)

  await page.getByRole('button', { name: 'The server' }).click()
  await page.getByRole('cell', { name: login?.id ?? '', exact: true }).waitFor()
  expect(faults).toEqual([])
})
