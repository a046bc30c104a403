import axe from 'axe-core'
import { expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { type AdminServer, setupAdmin } from '../http/admin/setup'
import { temporaryFolder } from '../setup'
import { go, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** The page for administrators without a mouse. */

const ALICE = 'alice@example.com'

/** The button that opens each dialog, with the place where it is. */
const DIALOGS: readonly (readonly [place: string, opener: (page: Page) => Locator])[] = [
  ['live', (page) => page.getByRole('button', { name: 'Go to…' })],
  ['live', (page) => page.getByRole('button', { name: 'Keys' })],
  ['people', button('Add')],
  [`people/${ALICE}`, button('Delete')],
  ['sharing', button('Realm')],
  ['sharing/rlmA', button('Change the realm')],
  ['sharing/rlmA', button('Delete')],
  ['sharing/rlmA', (page) => part(page, 'Members').getByRole('button', { name: 'Add' })],
  ['sharing/rlmA', (page) => part(page, 'Roles').getByRole('button', { name: 'Add' })],
  ['sharing/rlmA', button('Change doer')],
  ['sharing/rlmA', button('Remove doer')],
  ['data/todoItems/milk', button('Delete')],
  [`see-as/${ALICE}/bob@example.com`, button('Why not bob?')],
  ['database', (page) => part(page, 'Clients').getByRole('button', { name: 'Add' })],
  ['database', button('Revoke default')],
  ['database', (page) => part(page, 'Login providers').getByRole('button', { name: 'Add' })],
  ['database', button('Remove github')],
  ['database', button('Change otp-subject')],
  ['database', (page) => part(page, 'Schema').getByRole('button', { name: 'Change' })],
  ['database', button('Delete the database')],
  ['server/databases', button('Add')],
  ['server/backups', (page) => page.getByRole('button', { name: /^Restore \d/ })],
  ['server/backups', (page) => page.getByRole('button', { name: /as a file$/ })],
]

const browser = useChromium()

test('every dialog is opened by a key, can be used by everybody, and gives the focus back at Escape', async () => {
  using place = temporaryFolder()
  await using server = await setupAdmin({ backup: place.path })
  await fill(server)
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  const found: unknown[] = []
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [360, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    for (const [address, openerOf] of DIALOGS) {
      // The list of pages is behind a button on a narrow screen.
      if (width === 360 && address === 'live') continue
      await go(page, `#/main/${address}`)
      // Other buttons of its name are in the dialog.
      const opener = openerOf(page).first()
      await opener.focus()
      await page.keyboard.press('Enter')
      const dialog = page.getByRole('dialog')
      await dialog.waitFor()
      const at = { address, opener: String(await opener.getAttribute('aria-label')), width }
      const violations = await violationsIn(page, 'dialog')
      if (violations.length > 0) found.push({ ...at, violations })
      const box = await dialog.boundingBox()
      if (box === null || box.x < 0 || box.x + box.width > width) found.push({ ...at, box })
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      const isBack = await opener.evaluate((element) => element.matches(':focus'))
      if (!isBack) found.push({ ...at, isBack })
    }
  }
  expect({ found, faults }).toEqual({ found: [], faults: [] })
})

test('arrows move in lists, and a key that presses a button does nothing else', async () => {
  await using server = await setupAdmin()
  await fill(server)
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/people')
  await page.setViewportSize({ width: 360, height: 640 })
  const row = (name: string) => page.getByRole('button', { name, exact: true })
  const focused = async () => (await page.locator(':focus').textContent()) ?? ''
  await row('bob@example.com').waitFor()
  await page.locator('.row-button').first().focus()
  const names = await page.locator('.row-button').allTextContents()
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toBe(names[1] ?? '')
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toBe(names[1] ?? '')
  await page.keyboard.press('Home')
  expect(await focused()).toBe(names[0] ?? '')
  // The panel covers the list, and gives the focus back to the row.
  await page.keyboard.press('Enter')
  const panel = page.locator('.panel')
  await panel.waitFor()
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'detached' })
  expect(await focused()).toBe(names[0] ?? '')

  await go(page, '#/main/live')
  const rejected = page.getByRole('button', { name: 'Rejected' })
  await rejected.focus()
  await page.keyboard.press(' ')
  expect(await rejected.getAttribute('aria-pressed')).toBe('true')
  await page.getByRole('button', { name: 'Pause' }).waitFor()
})

test('Escape closes the list of pages on a narrow screen, and gives the focus back', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/people')
  await page.setViewportSize({ width: 360, height: 640 })
  const opener = page.getByRole('button', { name: 'Pages' })
  await opener.focus()
  await page.keyboard.press('Enter')
  await page.locator('.sidebar.open').waitFor()
  for (let times = 0; times < 3; times += 1) await page.keyboard.press('Tab')
  await page.keyboard.press('Escape')
  await page.locator('.sidebar.open').waitFor({ state: 'detached' })
  expect(await opener.evaluate((element) => element.matches(':focus'))).toBe(true)
})

async function fill({ commands, main, ...server }: AdminServer): Promise<void> {
  const input = { database: 'main' }
  const upload = new Blob(['{"todoItems":"@id"}']).stream()
  await commands.run('schema.push', { ...input, wait: true }, { upload })
  for (const userId of [ALICE, 'bob@example.com']) {
    const user = JSON.stringify({ userId, type: 'prod' })
    await commands.run('user.write', { ...input, user, isNew: true })
  }
  const answer = await fetch(`${main}/my/todoItems`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await server.token({ sub: ALICE, scopes: ['ACCESS_DB'] })}`,
      'content-type': 'application/json',
    },
    body: '{"id":"milk"}',
  })
  expect(answer.status).toBe(200)
  await commands.run('realm.add', { ...input, realm: 'rlmA', name: 'A' })
  await commands.run('role.put', { ...input, realm: 'rlmA', name: 'doer' })
  await commands.run(
    'provider.add',
    { ...input, type: 'github', clientId: 'todo' },
    { upload: new Blob(['s3cret']).stream() },
  )
  await commands.run('backup.make', {}).catch(() => undefined)
}

function button(name: string) {
  return (page: Page) => page.locator('main').getByRole('button', { name, exact: true })
}

function part(page: Page, title: string): Locator {
  return page.locator('section.part').filter({ has: page.getByRole('heading', { name: title }) })
}

async function violationsIn(page: Page, selector: string): Promise<unknown[]> {
  await page.evaluate(axe.source)
  const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    `axe.run(${JSON.stringify(selector)}, { iframes: false }).then(({ violations }) => violations)`,
  )
  return violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) }))
}
