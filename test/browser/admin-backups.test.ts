import axe from 'axe-core'
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { setupAdmin } from '../http/admin/setup'
import { temporaryFolder } from '../setup'
import { openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** The backups of a server in the page for administrators, as a person without a terminal works with them. */

const browser = useChromium()

test('a backup is made, verified, restored, saved as a file and uploaded', async () => {
  using place = temporaryFolder()
  await using server = await setupAdmin({ backup: place.path, backupAt: '02:30' })
  const { commands } = server
  await commands.run('realm.add', { database: 'main', realm: 'rlmA', name: 'A' })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/server/backups')
  const dialog = page.getByRole('dialog')
  const rows = page.locator('li.backup')

  await page.getByRole('button', { name: 'Make one' }).click()
  await rows.first().getByText('main').waitFor()
  await rows
    .first()
    .getByRole('button', { name: /^Verify/ })
    .click()
  await rows.first().getByText('as written').waitFor()

  await rows
    .first()
    .getByRole('button', { name: /^Restore/ })
    .click()
  await dialog.getByLabel('Its new name').fill('main')
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Its new name').fill('old')
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByText('The database old is there').waitFor()

  await rows.first().getByRole('button', { name: /^Save/ }).click()
  const saving = page.waitForEvent('download')
  await dialog.getByRole('button', { name: 'Save as a file' }).click()
  const path = await (await saving).path()
  expect(readFileSync(path).subarray(0, 18).toString()).toBe('{"kind":"database"')

  await page.getByLabel('Backup of one database').setInputFiles(path)
  await page.getByLabel('Name of the new database').fill('older')
  await page.getByLabel('End all logins in it').check()
  const asked = page.waitForRequest('**/admin/upload/backup.restore?**')
  await page.getByRole('button', { name: 'Restore', exact: true }).click()
  await page.getByText('The database older is there').waitFor()
  const input = new URL((await asked).url()).searchParams.get('input') ?? ''
  expect(JSON.parse(input)).toMatchObject({ name: 'older', revokeLogins: true })
  await page.getByRole('link', { name: 'older' }).click()
  await page.waitForURL(/#\/older\/data$/)
  await page.goBack()
  await page.getByRole('button', { name: 'Make one' }).waitFor()
  for (const database of ['old', 'older']) {
    const { realms } = await commands.run('realm.list', { database })
    expect(realms).toMatchObject([{ realm: 'rlmA' }])
  }

  await page.evaluate(axe.source)
  const violations = await page.evaluate<{ id: string }[]>(
    'axe.run().then(({ violations }) => violations)',
  )
  expect(violations.map(({ id }) => id)).toEqual([])
  expect(faults).toEqual([])
})

test('a restore ends with its dialog, and leaves no database', async () => {
  using place = temporaryFolder()
  await using server = await setupAdmin({ backup: place.path, backupAt: '02:30' })
  const { commands } = server
  await commands.run('backup.make', {})
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/server/backups')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: /^Restore 2/ }).click()
  await dialog.getByLabel('Its new name').fill('old')
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
  await page.route('**/admin/api/backup.restore-kept', () => isAsked())
  const ended = page.waitForEvent('requestfailed')
  await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
  await asked
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect((await ended).url()).toEndWith('/admin/api/backup.restore-kept')
  expect((await commands.run('db.list', {})).map(({ name }) => name)).toEqual(['main'])
  expect(faults).toEqual([])
})

test('without a place for backups the page leads to the databases, which are saved as files, and follows them', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/server/backups')
  await page.getByRole('link', { name: 'Databases', exact: true }).click()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Backup', exact: true }).click()
  expect((await saving).suggestedFilename()).toBe('main.satchel-backup')
  await server.commands.run('db.create', { name: 'second' })
  await page.getByRole('button', { name: 'second', exact: true }).waitFor()
})
