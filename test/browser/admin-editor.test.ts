import axe from 'axe-core'
import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { until } from '../timing'
import { editorOf, editorText, go, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** The field in which objects are edited as JSON. */

const browser = useChromium()

const MILK = { id: 'milk', realmId: 'rlm-public', title: 'Milk', tags: ['a', { b: true }] }

async function setup(object: object = MILK) {
  const server = await setupAdmin()
  const upload = new Blob(['{"notes":"@id"}']).stream()
  await server.commands.run('schema.push', { database: 'main', wait: true }, { upload })
  const authorization = `Bearer ${await server.token()}`
  const put = async (value: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const body = JSON.stringify(value)
    const answer = await fetch(`${server.main}/all/notes`, { method: 'POST', headers, body })
    if (!answer.ok) throw new Error(await answer.text())
  }
  await put(object)
  const read = async (key: string) => {
    const shown = await server.commands.run('object.show', {
      database: 'main',
      table: 'notes',
      key,
    })
    return shown.value
  }
  return { ...server, put, read, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('the editor is loaded when an edit begins, marks the line of a fault, and undoes', async () => {
  await using server = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.locator('.tree').getByText('Milk', { exact: true }).waitFor()
  const loaded: string[] = []
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname))
  await page.keyboard.press('e')
  const field = editorOf(page)
  await field.waitFor()
  expect(loaded.filter((path) => path.includes('/assets/part-')).length).toBeGreaterThan(0)
  const before = await editorText(page)
  expect(before).toBe(JSON.stringify(await server.read('milk'), null, 2))

  // The end of the second line is a comma.
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('End')
  await page.keyboard.press('Backspace')
  const sentence = page.getByRole('status').getByText('Line 3, column 3: a comma or } is expected')
  await sentence.waitFor()
  expect(await field.locator('.cm-line.cm-wrong').textContent()).toContain('"realmId"')
  expect(await field.getAttribute('aria-invalid')).toBe('true')
  expect(await page.getByRole('button', { name: 'Review' }).isDisabled()).toBe(true)
  await sentence.click()
  await page.keyboard.type(',')
  await sentence.waitFor({ state: 'detached' })
  expect(await field.getAttribute('aria-invalid')).toBeNull()
  for (let turn = 0; turn < 2; turn += 1) await page.keyboard.press('Control+z')
  await until(async () => (await editorText(page)) === before)
  expect(faults).toEqual([])
})

test('Tab indents, Esc and Tab leave the field, and neither closes the panel or takes keys of the page', async () => {
  await using server = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  const field = editorOf(page)
  await field.waitFor()
  await page.keyboard.press('Control+End')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  await page.keyboard.type('ge?')
  expect(await editorText(page)).toEndWith('\n  ge?')
  expect(page.url()).toEndWith('#/main/data/notes/milk')
  await page.keyboard.press('Control+z')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Tab')
  expect(await page.locator('button:focus').textContent()).toBe('Review')
  // A look at the difference keeps the changes that can be undone.
  await field.fill('{"realmId":"rlm-public","title":"Oat milk"}')
  await page.keyboard.press('Control+Enter')
  const changes = page.getByRole('region', { name: 'Changes' })
  await changes.waitFor()
  expect(await changes.evaluate((element) => element.matches(':focus'))).toBe(true)
  await page.getByRole('button', { name: 'Back to the text' }).click()
  await page.keyboard.press('Control+z')
  await until(async () => (await editorText(page)).includes('"Milk"'))
})

test('a text is found, and everybody can use the editor, on a phone and a desktop, light and dark', async () => {
  await using server = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  await editorOf(page).waitFor()
  await page.keyboard.press('Control+f')
  await page.keyboard.type('true')
  await page.keyboard.press('Enter')
  await editorOf(page).locator('.cm-searchMatch-selected').getByText('true').waitFor()
  await page.evaluate(axe.source)
  for (const [width, colorScheme] of [
    [360, 'dark'],
    [360, 'light'],
    [1280, 'dark'],
    [1280, 'light'],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 740 })
    const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
      `axe.run().then(({ violations }) => violations)`,
    )
    const violations = found.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) }))
    const overhang = await page.evaluate<number>(
      'document.documentElement.scrollWidth - innerWidth',
    )
    expect({ width, colorScheme, violations, overhang }).toEqual({
      width,
      colorScheme,
      violations: [],
      overhang: 0,
    })
  }
})

test('an edit that another page has interrupted goes on, and does not overwrite what others wrote', async () => {
  await using server = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  await editorOf(page).fill((await editorText(page)).replace('"Milk"', '"Oat milk"'))
  await page.locator('button:enabled', { hasText: 'Review' }).waitFor()
  await go(page, '#/main/people')
  await page.getByRole('heading', { name: 'People', level: 1 }).waitFor()
  await server.put({ ...MILK, count: 7 })
  await go(page, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('region', { name: 'Changes' }).getByText('"Oat milk"').waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Changed by others since you began').waitFor()
  expect(await server.read('milk')).toMatchObject({ title: 'Milk', count: 7 })
})

test('an object that is too large for a field is edited as a file', async () => {
  const large = { ...MILK, lines: Array.from({ length: 150_000 }, (_, at) => `line ${at}`) }
  await using server = await setup(large)
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByText('too much for an editor').waitFor()
  const saving = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download', exact: true }).click()
  const text = await Bun.file(await (await saving).path()).text()
  expect(JSON.parse(text)).toEqual(await server.read('milk'))

  const choose = (buffer: string) =>
    page.getByLabel('The changed file').setInputFiles({
      name: 'milk.json',
      mimeType: 'application/json',
      buffer: Buffer.from(buffer),
    })
  await choose(text.replace('"line 77",', '"line 77"'))
  await page.getByText(/milk\.json: Line \d+, column 5: a comma or ] is expected/).waitFor()
  const edited = text.replace('"line 77"', '"line seventy-seven"')
  await choose(edited.replace('"line 149900"', '"a line far away"'))
  const changes = page.getByRole('region', { name: 'Changes' })
  await changes.getByText('"line seventy-seven"').waitFor()
  // Only the lines around both changes are shown.
  await changes.getByText('"a line far away"').waitFor()
  expect(await changes.locator('.diff-line').count()).toBeLessThan(20)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  expect(await server.read('milk')).toMatchObject({
    lines: large.lines.with(77, 'line seventy-seven').with(149_900, 'a line far away'),
  })
})

test('a difference of very many lines is cut', async () => {
  const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at}`)
  await using server = await setup({ ...MILK, lines })
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  await editorOf(page).fill('{"realmId":"rlm-public"}')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByText(/4,0\d\d more lines are not shown/).waitFor()
  expect(await page.locator('.diff-line').count()).toBeLessThanOrEqual(1_000)
})

test('where the editor cannot be loaded, a plain field does', async () => {
  await using server = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.locator('.tree').getByText('Milk', { exact: true }).waitFor()
  await page.route('**/admin/assets/*', (route) => route.abort())
  await page.getByRole('button', { name: 'Edit' }).click()
  const field = page.locator('textarea')
  await field.fill((await field.inputValue()).replace('"Milk"', '"Oat milk"'))
  await field.press('Control+Enter')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  expect(await server.read('milk')).toMatchObject({ title: 'Oat milk' })
})

test('an open object follows what others write, except while it is edited', async () => {
  await using server = await setup()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/data/notes/milk')
  const tree = page.locator('.tree')
  await tree.getByText('Milk', { exact: true }).waitFor()
  await server.put({ ...MILK, title: 'Oat milk' })
  await tree.getByText('Oat milk').waitFor()
  await page.getByRole('button', { name: 'Time line' }).click()
  await page.getByText('"title" was written').waitFor()
  await server.put({ ...MILK, title: 'Oat milk', count: 5 })
  await page.getByText('"count" was written').waitFor()
  await page.getByRole('button', { name: 'Value' }).click()

  await page.keyboard.press('e')
  await editorOf(page).waitFor()
  await server.put({ ...MILK, title: 'Soy milk' })
  await until(async () => (await server.read('milk'))['title'] === 'Soy milk')
  expect(await editorText(page)).toContain('Oat milk')
  await page.getByRole('button', { name: 'Cancel' }).click()
  await tree.getByText('Soy milk').waitFor()
  expect(faults).toEqual([])
})
