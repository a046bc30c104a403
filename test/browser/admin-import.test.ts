import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** Files that are imported on the page for administrators, as a person without a terminal does. */

const MAIN = { database: 'main' }

const browser = useChromium()

test('files are imported one after the other, and a mistake is mended in a file of the same name', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/jobs')
  const field = page.locator('input[type=file]')
  const press = () => page.getByRole('button', { name: 'Import it' }).click()
  const countOf = async (table: string) => {
    const { objects } = await commands.run('object.list', { ...MAIN, table })
    return objects.length
  }

  await field.setInputFiles(fileOf('notes.json', notes('a').slice(0, -1)))
  await page.getByRole('alert').waitFor()
  // Else a browser tells nothing when a file of the same name is chosen.
  expect(await field.inputValue()).toBe('')
  await field.setInputFiles(fileOf('notes.json', notes('a')))
  await page.getByText('The file is right. It has 1 object').waitFor()
  await press()
  await page.getByText('Imported: 1 object').waitFor()
  expect(await countOf('notes')).toBe(1)

  await field.setInputFiles(fileOf('<b>more</b>.json', notes('b', 'c')))
  await page.getByText('The file is right. It has 2 objects').waitFor()
  expect(await page.getByText('Imported: 1 object').count()).toBe(0)
  await press()
  await page.getByText('Imported: 2 objects').waitFor()
  expect(await countOf('notes')).toBe(3)
  expect(faults).toEqual([])
})

test('the check of a file ends when another one is chosen, and does not answer for it', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/jobs')
  const field = page.locator('input[type=file]')
  const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>()
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  await page.route(
    '**/admin/upload/import?**',
    async (route) => {
      isAsked()
      await answered
      const result = { result: { objects: 7 } }
      await route.fulfill({ status: 200, body: `${JSON.stringify(result)}\n` }).catch(() => {})
    },
    { times: 1 },
  )
  await field.setInputFiles(fileOf('slow.json', notes('a')))
  await asked
  const ended = page.waitForEvent('requestfailed')
  await field.setInputFiles(fileOf('other.json', notes('b', 'c')))
  await ended
  await page.getByText('It has 2 objects').waitFor()
  answer()
  await page.getByRole('button', { name: 'Import it' }).click()
  await page.getByText('Imported: 2 objects').waitFor()
  expect(await page.getByText('7 objects').count()).toBe(0)
  expect(faults).toEqual([])
})

function fileOf(name: string, text: string) {
  return { name, mimeType: 'application/json', buffer: Buffer.from(text) }
}

function notes(...ids: string[]): string {
  return JSON.stringify({
    data: { 'rlm-public': { notes: Object.fromEntries(ids.map((id) => [id, { title: id }])) } },
  })
}
