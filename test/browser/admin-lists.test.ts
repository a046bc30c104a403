import { expect, test } from 'bun:test'
import type { Page, Route } from 'playwright-core'
import { setupAdmin } from '../http/admin/setup'
import { go, notesOf, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** Lists of users and files in the page for administrators, of which a page comes at a time. */

const MAIN = { database: 'main' }

const browser = useChromium()

test('all users are shown, page by page, and stay when one of them is changed or deleted', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const names = Array.from({ length: 1_101 }, (_, at) => `u${String(at).padStart(4, '0')}`)
  const users = names.map((userId) => ({ userId, type: 'prod' }))
  await commands.run('user.write-all', { ...MAIN, users })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/people')
  const rows = page.locator('tbody tr')
  const more = page.getByRole('button', { name: 'More', exact: true })
  for (let count = 200; count < 1_101; count += 200) {
    await rows.nth(count - 1).waitFor()
    expect(await rows.count()).toBe(count)
    await more.click()
  }
  await rows.nth(1_100).waitFor()
  expect(await more.count()).toBe(0)
  expect(await namesOf(page)).toEqual(names)

  await go(page, '#/main/people/u1000')
  const panel = page.locator('.panel')
  await panel.getByRole('button', { name: 'Deactivate' }).click()
  await rows.nth(1_000).getByText('deactivated').waitFor()
  expect(await rows.count()).toBe(1_101)
  await panel.getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type its name').fill('u1000')
  await dialog.getByRole('button', { name: 'Delete the user' }).click()
  await rows.nth(1_100).waitFor({ state: 'detached' })
  expect(await namesOf(page)).toEqual(names.filter((name) => name !== 'u1000'))

  await page.getByLabel('Name or address').fill('u09')
  await rows.nth(100).waitFor({ state: 'detached' })
  expect(await rows.count()).toBe(100)
  expect(faults).toEqual([])
})

test('the users of later pages stay when the last one of a page before them is deleted', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const names = Array.from({ length: 450 }, (_, at) => `u${String(at).padStart(4, '0')}`)
  const users = names.map((userId) => ({ userId, type: 'prod' }))
  await commands.run('user.write-all', { ...MAIN, users })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/people/u0199')
  const rows = page.locator('tbody tr')
  const more = page.getByRole('button', { name: 'More', exact: true })
  for (const count of [200, 400]) {
    await rows.nth(count - 1).waitFor()
    await more.click()
  }
  await rows.nth(449).waitFor()
  await page.locator('.panel').getByRole('button', { name: 'Delete' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Type its name').fill('u0199')
  await dialog.getByRole('button', { name: 'Delete the user' }).click()
  await page.getByRole('button', { name: 'u0199' }).waitFor({ state: 'detached' })
  await rows.nth(448).waitFor()
  expect(await namesOf(page)).toEqual(names.filter((name) => name !== 'u0199'))
  expect(faults).toEqual([])
})

test('realms stay where they are when one of them is renamed or deleted', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const headers = {
    authorization: `Bearer ${await server.token()}`,
    'content-type': 'application/json',
  }
  const ids = Array.from({ length: 250 }, (_, at) => `rlm${String(at).padStart(4, '0')}`)
  const body = JSON.stringify(ids.map((realmId) => ({ realmId })))
  const answer = await fetch(`${server.main}/all/realms`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(await answer.text())
  await using device = await browser.openDevice()
  const { page } = device
  // The newest come first, of which this one is the last on the first page.
  const { faults } = await openAdmin(page, commands, '#/main/sharing/rlm0050')
  const rows = page.locator('tbody tr')
  await rows.nth(199).waitFor()
  await page.getByRole('button', { name: 'More', exact: true }).click()
  await rows.nth(249).waitFor()
  await page.getByRole('button', { name: 'Change the realm' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Shopping')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await rows.getByText('Shopping').waitFor()
  expect(await rows.count()).toBe(250)
  await page.locator('.panel').getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByLabel('Type its name').fill('rlm0050')
  await dialog.getByRole('button', { name: 'Delete the realm' }).click()
  await rows.getByText('Shopping').waitFor({ state: 'detached' })
  await rows.nth(248).waitFor()
  expect(await namesOf(page)).toEqual(ids.toReversed().filter((id) => id !== 'rlm0050'))
  expect(faults).toEqual([])
})

test('each file is shown once, however often more are asked for while they come', async () => {
  await using server = await setupAdmin()
  const { commands, main } = server
  const authorization = `Bearer ${await server.token({ sub: 'alice@example.com', scopes: ['ACCESS_DB'] })}`
  for (let at = 0; at < 201; at += 1) {
    const answer = await fetch(`${main}/blob/${'x'.repeat(20)}${at}`, {
      method: 'PUT',
      headers: { authorization },
      body: `file ${at}`,
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/files')
  const rows = page.locator('tbody tr')
  await rows.nth(199).waitFor()
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  await page.route('**/admin/api/blob.list', async (route) => {
    await answered
    await route.continue()
  })
  const more = page.getByRole('button', { name: 'More', exact: true })
  await more.click()
  await more.waitFor({ state: 'detached' })
  expect(await rows.count()).toBe(200)
  answer()
  await rows.nth(200).waitFor()
  const names = await namesOf(page)
  expect(names).toHaveLength(201)
  expect(new Set(names).size).toBe(201)
  expect(faults).toEqual([])
})

test('a question that is refused shows no answer to the one before, until it is asked again', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const users = ['alice', 'albert', 'bob'].map((userId) => ({ userId, type: 'prod' }))
  await commands.run('user.write-all', { ...MAIN, users })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/people')
  const rows = page.locator('tbody tr')
  const search = page.getByLabel('Name or address')
  const refusal = page.getByRole('alert').getByText('Not now')
  const isShown = async (count: number) => {
    await rows.nth(count - 1).waitFor()
    await rows.nth(count).waitFor({ state: 'detached' })
  }
  await isShown(3)
  await search.fill('al')
  await isShown(2)
  await page.route('**/admin/api/user.list', refuse)
  await search.fill('bob')
  await refusal.waitFor()
  expect(await rows.count()).toBe(0)
  expect(await page.getByText('No user').count()).toBe(0)
  expect(await page.getByRole('button', { name: 'More', exact: true }).count()).toBe(0)
  await page.unroute('**/admin/api/user.list')
  await page.getByRole('button', { name: 'Try again' }).click()
  await isShown(1)
  expect(await refusal.count()).toBe(0)

  await search.fill('zzz')
  await page.getByText('No user matches').waitFor()
  await page.route('**/admin/api/user.list', refuse)
  await search.fill('')
  await refusal.waitFor()
  expect(await page.getByText('No user').count()).toBe(0)
  expect(faults).toEqual([])
})

test('a later page that was refused is asked for again, by itself when that passes', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const users = Array.from({ length: 601 }, (_, at) => ({ userId: `u${at}`, type: 'prod' }))
  await commands.run('user.write-all', { ...MAIN, users })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/people')
  const rows = page.locator('tbody tr')
  const more = page.getByRole('button', { name: 'More', exact: true })
  await page.getByText('200+').waitFor()
  await page.route('**/admin/api/user.list', refuse, { times: 1 })
  await more.click()
  await page.getByRole('alert').getByText('Not now').waitFor()
  expect(await more.count()).toBe(0)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('400+').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)

  const json = { code: 'BUSY', message: 'Not now' }
  const passing = (route: Route) => route.fulfill({ status: 503, json })
  await page.route('**/admin/api/user.list', passing, { times: 1 })
  await more.click()
  await rows.nth(599).waitFor()
  expect(new Set(await namesOf(page)).size).toBe(600)
  expect(faults).toEqual([])
})

test('lists that are refused do not say that they are empty', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'Shopping' })
  await (
    await notesOf(server)
  )({ id: 'milk' })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands)
  const lists: readonly (readonly [string, string, string, string])[] = [
    ['sharing/rlmA', 'role.list', 'None of its own', 'None of its own'],
    ['sharing/rlmA', 'member.list', 'body yet.', 'body yet.'],
    ['see-as/alice', 'object.listAs', 'Nothing in this table', 'milk'],
  ]
  for (const [hash, operation, empty, answer] of lists) {
    await page.route(`**/admin/api/${operation}`, refuse)
    await go(page, `#/main/${hash}`)
    await page.getByRole('alert').getByText('Not now').waitFor()
    expect(await page.getByText(empty).count()).toBe(0)
    await page.unroute(`**/admin/api/${operation}`)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('.rows').getByText(answer).first().waitFor()
    await go(page, '#/main/live')
    await page.locator('.rows').first().waitFor({ state: 'detached' })
  }
  expect(faults).toEqual([])
})

async function refuse(route: Route): Promise<void> {
  await route.fulfill({ status: 403, json: { code: 'FORBIDDEN', message: 'Not now' } })
}

async function namesOf(page: Page): Promise<string[]> {
  return await page.locator('tbody th').allTextContents()
}
