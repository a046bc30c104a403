import { expect, test } from 'bun:test'
import type { Route } from 'playwright-core'
import { setupAdmin } from '../http/admin/setup'
import { logInAgain, notesOf, openAdmin } from './admin-page'
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

test('an order that ends after its dialog was closed leaves the next one open, and tells why it was refused', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const realm = { database: 'main', realm: 'rlmA' }
  await commands.run('realm.add', { ...realm, name: 'Shopping' })
  await commands.run('role.put', { ...realm, name: 'editor', permissions: {} })
  await commands.run('role.put', { ...realm, name: 'reader', permissions: {} })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/sharing/rlmA')
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const dialog = page.getByRole('dialog')
  /** Holds the next order back, until the returned function is called. */
  const hold = async (operation: string, json?: object) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const answer = async (route: Route) => {
      ask()
      await released
      await (json === undefined ? route.continue() : route.fulfill({ status: 403, json }))
    }
    await page.route(`**/admin/api/${operation}`, answer, { times: 1 })
    return { asked, release }
  }
  const leave = async (asked: Promise<void>) => {
    await asked
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }

  const removal = await hold('role.remove')
  await press('Remove editor')
  await press('Remove the role')
  await leave(removal.asked)
  await press('Remove reader')
  await dialog.getByText('reader cannot be brought back').waitFor()
  removal.release()
  await page.getByText('The role was removed').waitFor()
  expect(await dialog.isVisible()).toBe(true)
  await page.keyboard.press('Escape')

  const change = await hold('role.put')
  await press('Change reader')
  await press('Save')
  await leave(change.asked)
  await press('Change the realm')
  change.release()
  await page.getByText('The role reader was saved').waitFor()
  expect(await dialog.getByText('Change the realm').isVisible()).toBe(true)
  await page.keyboard.press('Escape')

  const refused = await hold('role.put', { code: 'NOT_AUTHORIZED', message: 'The role is fixed' })
  await press('Change reader')
  await press('Save')
  await leave(refused.asked)
  refused.release()
  await page.locator('.toast').getByText('The role is fixed').waitFor()
  expect(faults).toEqual([])
})

test('an object that others have changed is deleted at the second try, also where Live is not allowed', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  await post({ id: 'milk', title: 'Full' })
  await using device = await browser.openDevice()
  const { page } = device
  const json = { code: 'NOT_AUTHORIZED', message: 'It is not allowed' }
  await page.route('**/admin/api/live.follow', (route) => route.fulfill({ status: 403, json }))
  const { faults } = await openAdmin(page, server.commands, '#/main/data/notes/milk')
  const ask = page.getByRole('button', { name: 'Delete', exact: true })
  const dialog = page.getByRole('dialog')
  const destroy = dialog.getByRole('button', { name: 'Delete the object' })
  await page.locator('.tree').getByText('Full').waitFor()
  await post({ id: 'milk', title: 'Oat' })
  await ask.click()
  await destroy.click()
  await dialog.getByText('The object was changed meanwhile').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.tree').getByText('Oat').waitFor()
  await ask.click()
  await destroy.click()
  await page.getByText('The object was deleted').waitFor()
  expect(faults).toEqual([])
})

test('a database that is marked for deletion is not said to be lost', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/database')
  await page.getByRole('button', { name: 'Delete the database' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('main is removed in 30 days, unless the deletion is taken back.').waitFor()
  expect(await dialog.textContent()).not.toContain('brought back')
})
