import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** The settings of a database in the page for administrators, changed as a person does. */

const MAIN = { database: 'main' }

const browser = useChromium()

test('a login provider is added with its secret, and removed', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'Login providers' })
  const dialog = page.getByRole('dialog')
  await box.getByRole('button', { name: 'Add' }).click()
  await dialog.getByLabel('Type').selectOption('github')
  await dialog.getByLabel('Client id at the provider').fill('todo')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.getByRole('alert').getByText('secret').waitFor()
  await dialog.getByLabel('Client secret').fill('s3cret')
  await dialog.getByLabel('Text of its button').fill('<b>GitHub</b>')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await box.getByText('<b>GitHub</b>').waitFor()
  expect(await commands.run('provider.list', MAIN)).toMatchObject([
    { name: 'github', clientId: 'todo', hasSecret: true },
  ])
  await box.getByRole('button', { name: 'Remove github' }).click()
  await dialog.getByRole('button', { name: 'Remove the login provider' }).click()
  await box.getByText('None: people log in').waitFor()
  expect(await commands.run('provider.list', MAIN)).toEqual([])
  expect(faults).toEqual([])
})

test('a mail template is changed, a mistake is refused, and the built-in one comes back', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'Mail templates' })
  const dialog = page.getByRole('dialog')
  const show = () => commands.run('template.show', { ...MAIN, name: 'otp-subject' })
  const builtIn = await show()
  await box.getByRole('button', { name: 'Change otp-subject' }).click()
  await dialog.getByLabel('Handlebars').fill('{{#if')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Handlebars').fill('Your code: {{{otp}}}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await box.getByText('own', { exact: true }).waitFor()
  expect(await show()).toMatchObject({ content: 'Your code: {{{otp}}}', isOwn: true })
  await box.getByRole('button', { name: 'Return to the built-in otp-subject' }).click()
  await dialog.getByRole('button', { name: 'Return to the built-in template' }).click()
  await box.getByText('own', { exact: true }).waitFor({ state: 'detached' })
  expect(await show()).toEqual(builtIn)
  expect(faults).toEqual([])
})
