import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { logInAgain, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** Dialogs of the page for administrators, which lose nothing that was typed. */

const browser = useChromium()

test('the login of an ended session cannot be closed, and a text behind it is kept', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/people')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const adding = page.getByRole('dialog', { name: 'Add a user' })
  await adding.getByRole('textbox').first().fill('alice@example.com')
  await server.commands.run('session.revoke', {})
  const ended = page.getByRole('dialog', { name: 'Your session has ended' })
  await ended.waitFor()
  for (let times = 0; times < 4; times += 1) await page.keyboard.press('Escape')
  // Out of its fields, the key goes to the page.
  await page.evaluate('document.activeElement.blur()')
  for (let times = 0; times < 4; times += 1) await page.keyboard.press('Escape')
  expect(await ended.isVisible()).toBe(true)
  expect(await ended.evaluate((element) => element.matches(':modal'))).toBe(true)
  await logInAgain(page, server.commands)
  expect(await adding.getByRole('textbox').first().inputValue()).toBe('alice@example.com')
  await adding.getByRole('button', { name: 'Add' }).click()
  await page.getByText('alice@example.com was added').waitFor()
})

test('a drag out of a dialog does not close it, and a press beside it does', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/people')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  const dialog = page.getByRole('dialog')
  const field = dialog.getByRole('textbox').first()
  await field.fill('alice@example.com')
  const box = await field.boundingBox()
  if (box === null) throw new Error('The field is not seen')
  await page.mouse.move(box.x + 20, box.y + 5)
  await page.mouse.down()
  await page.mouse.move(4, 4)
  await page.mouse.up()
  expect(await field.inputValue()).toBe('alice@example.com')
  await page.mouse.click(4, 4)
  await dialog.waitFor({ state: 'detached' })
})
