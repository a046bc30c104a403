import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** Realms, members and roles in the page for administrators, changed as a person does. */

const MAIN = { database: 'main' }

const browser = useChromium()

test('a realm is added, given a role and a member, changed and removed', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const bob = JSON.stringify({ userId: 'bob@example.com', type: 'prod' })
  await commands.run('user.write', { ...MAIN, user: bob, isNew: true })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/sharing')
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const dialog = page.getByRole('dialog')

  await press('Realm')
  await dialog.getByLabel('Name').fill('<b>List</b>')
  await dialog.getByRole('button', { name: 'Add' }).click()
  const panel = page.locator('aside.panel, .panel').first()
  await panel.getByRole('heading', { name: '<b>List</b>' }).waitFor()

  const adds = panel.getByRole('button', { name: 'Add', exact: true })
  await adds.nth(1).click()
  await dialog.getByLabel('Name').fill('editor')
  await dialog.getByLabel('Permissions as JSON').fill('{"manage": 7}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('permissions').waitFor()
  await dialog.getByLabel('Permissions as JSON').fill('{"update": "*"}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('update everything').waitFor()

  await adds.nth(0).click()
  await dialog.getByLabel('Add a user at once').check()
  await dialog.getByLabel('User', { exact: true }).fill('bob@example.com')
  await dialog.getByLabel('editor').check()
  await dialog.getByRole('button', { name: 'Add' }).click()
  await panel.getByText('accepted').waitFor()

  await press('Change the realm')
  await dialog.getByLabel('Owner').fill('bob@example.com')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await panel.getByRole('definition').getByText('bob@example.com').waitFor()

  const { realms } = await commands.run('realm.list', MAIN)
  expect(realms).toMatchObject([{ name: '<b>List</b>', owner: 'bob@example.com' }])
  const { realm = '' } = realms[0] ?? {}
  const { members } = await commands.run('member.list', { ...MAIN, user: 'bob@example.com' })
  expect(members.find(({ isOwner }) => !isOwner)).toMatchObject({ roles: ['editor'] })
  await press('Delete')
  await dialog.getByLabel('Type its name').fill(realm)
  await dialog.getByRole('button', { name: 'Delete the realm' }).click()
  await page.getByText('Nothing is shared yet').waitFor()
  expect((await commands.run('realm.list', MAIN)).realms).toEqual([])
  expect(faults).toEqual([])
})
