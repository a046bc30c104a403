import { postJson } from '../http/setup'
import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { useChromium } from './chromium'
import { editorOf, editorText, openAdmin, watch, logInAgain } from './admin-page'

/** The login of the page for administrators, its keys and its ends, in a real browser. */

const browser = useChromium()

test('a link logs in once, and its code is in no address and no history', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { url } = await server.commands.run('session.link', {})
  const [, code = ''] = url.split('#')
  const { faults } = watch(page)
  await page.goto(url)
  await page.getByRole('heading', { name: 'Live', level: 1 }).waitFor()
  expect(page.url()).not.toContain(code)
  const inspector = await page.context().newCDPSession(page)
  const { entries } = await inspector.send('Page.getNavigationHistory')
  expect(entries.map((entry) => entry.url).join('\n')).not.toContain(code)
  expect(server.lines.join('\n')).not.toContain(code)
  await using other = await browser.openDevice()
  await other.page.goto(url)
  await other.page.getByText('This link was used, or has expired').waitFor()
  expect(faults).toEqual([])
})

test('other tabs of the browser need no login, and log out together', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page, context } = device
  await openAdmin(page, server.commands)
  const tab = await context.newPage()
  await tab.goto(`${server.url}/admin#/main/data`)
  await tab.getByRole('navigation', { name: 'Pages' }).waitFor()
  // Nothing of the login stays in the memory of a tab that is loaded anew.
  const loaded = [page, tab].map((each) => each.waitForEvent('load'))
  await page.getByRole('button', { name: 'Log out' }).click()
  await Promise.all(loaded)
  for (const each of [page, tab]) {
    await each.getByText('satchel admin --open').waitFor()
    expect(await each.locator('.desk').count()).toBe(0)
    expect(await each.evaluate('sessionStorage.length')).toBe(0)
  }
})

test('a session that ends in the middle of an edit leaves the text, which a new login goes on with', async () => {
  await using server = await setupAdmin()
  const token = await server.token()
  await server.commands.run(
    'schema.push',
    { database: 'main', wait: true },
    { upload: new Blob(['{"notes":"@id"}']).stream() },
  )
  await postJson(
    `${server.main}/all/notes`,
    { id: 'milk', realmId: 'rlm-public', title: 'Milk' },
    { authorization: `Bearer ${token}` },
  )
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  const text = editorOf(page)
  await text.fill((await editorText(page)).replace('Milk', 'Oat milk'))
  await server.commands.run('session.revoke', {})
  await logInAgain(page, server.commands)
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  expect(
    await page.evaluate(`JSON.stringify({ ...localStorage, ...sessionStorage })`),
  ).not.toContain('Oat milk')
  await page.locator('.tree').getByText('Oat milk').waitFor()
})

test('a page that was opened when the session had ended is there after the login', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/mail')
  await page.getByRole('heading', { name: 'No mail since the server started' }).waitFor()
  await server.commands.run('session.revoke', {})
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
  await dialog.waitFor()
  const calls: string[] = []
  page.on('request', (request) => calls.push(new URL(request.url()).pathname))
  await page.clock.install()
  await page.evaluate(`location.hash = '#/main/sharing'`)
  await page.getByRole('heading', { name: 'Sharing', level: 1 }).waitFor()
  await page.clock.runFor(10_000)
  expect(calls.filter((path) => path.includes('/api/'))).toEqual([])

  await dialog.getByRole('button', { name: 'With a code by mail' }).click()
  expect(await dialog.getByLabel('Database').inputValue()).toBe('main')
  await dialog.getByRole('button', { name: 'With a link' }).click()
  const { url } = await server.commands.run('session.link', {})
  await dialog.getByLabel('Paste it here').fill(url)
  await dialog.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Nothing is shared yet').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(faults).toEqual([])
})

test('the keyboard goes everywhere: ? lists the keys, Ctrl K finds pages and tables', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await commands.run(
    'schema.push',
    { database: 'main', wait: true },
    { upload: new Blob(['{"recipes":"@id"}']).stream() },
  )
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, commands)
  await page.keyboard.press('?')
  const keys = page.getByRole('dialog', { name: 'Keys' })
  await keys.getByText('Pause and go on').waitFor()
  await page.keyboard.press('Escape')
  await keys.waitFor({ state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('p')
  await page.getByRole('heading', { name: 'People', level: 1 }).waitFor()
  // The letters that follow at once are for the field, before anything was painted.
  const focused = await page.evaluate<string>(`(async () => {
    document.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true }))
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
    return document.activeElement.role
  })()`)
  expect(focused).toBe('combobox')
  await page.getByRole('option', { name: /recipes/ }).waitFor()
  await page.keyboard.type('recip')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'recipes' }).waitFor()
  expect(page.url()).toEndWith('#/main/data/recipes')

  await commands.run('realm.add', { database: 'main', realm: 'rlmNorway', name: 'Norway <b>' })
  await page.keyboard.press('Control+k')
  await page.keyboard.type('norw')
  await page.getByRole('option', { name: 'Norway <b> realm' }).click()
  await page.getByRole('complementary', { name: 'Norway <b>' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('audit')
  await page.keyboard.press('Enter')
  await page.getByRole('columnheader', { name: 'Operation' }).waitFor()
  expect(page.url()).toEndWith('#/main/server/audit')
})

test('the page comes back by itself when the server does', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page, context } = device
  await openAdmin(page, server.commands, '#/main/people')
  await page.getByText('No user has logged in yet').waitFor()
  await context.setOffline(true)
  await page.getByPlaceholder('Name or address').fill('alice')
  await page.getByText('The server does not answer').first().waitFor()
  await context.setOffline(false)
  await page.getByText('No user matches').waitFor()
  await page.getByText('Connected').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})
