import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { setupAdmin } from '../http/admin/setup'
import { PLAIN_IMPORT } from '../setup'
import { useChromium } from './chromium'
import { until } from '../timing'
import { editorOf, editorText, go, openAdmin } from './admin-page'

/** Browsing and editing objects on the page for administrators. */

const browser = useChromium()

const DUE = { $t: 'Date', v: '2030-01-02T03:04:05.000Z' }

async function setup(objects: readonly object[]) {
  const server = await setupAdmin()
  const upload = new Blob(['{"notes":"@id"}']).stream()
  await server.commands.run('schema.push', { database: 'main', wait: true }, { upload })
  const headers = {
    authorization: `Bearer ${await server.token()}`,
    'content-type': 'application/json',
  }
  const put = async (body: unknown) => {
    const answer = await fetch(`${server.main}/all/notes`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(await answer.text())
  }
  await put(objects)
  const read = async (key: string) => {
    const answer = await fetch(`${server.main}/all/notes/${key}`, { headers })
    return (await answer.json()) as Readonly<Record<string, unknown>>
  }
  return { ...server, put, read, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('a person edits an object, sees the difference, and all that they did not touch stays', async () => {
  const value = {
    id: 'milk',
    realmId: 'rlm-public',
    title: 'Milk',
    due: DUE,
    $$ts: 7,
    odd: { a: [1] },
  }
  await using server = await setup([value])
  const before = await server.read('milk')
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  await page.getByRole('row', { name: /milk/ }).click()
  await page.locator('.tree').getByText('2030').waitFor()
  await page.keyboard.press('e')
  const text = editorOf(page)
  await text.fill((await editorText(page)).replace('"Milk"', '"Oat milk"'))
  await page.keyboard.press('Control+Enter')
  const changes = page.getByRole('region', { name: 'Changes' })
  await changes.getByText('"title": "Oat milk"').waitFor()
  expect(await changes.locator('.removed').count()).toBe(1)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  expect(await server.read('milk')).toEqual({ ...before, title: 'Oat milk' })
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('The object is as it was').waitFor()
  expect(await server.read('milk')).toEqual(before)
})

test('a stale edit is refused with the difference, and goes on from the object as it is', async () => {
  await using server = await setup([{ id: 'milk', realmId: 'rlm-public', title: 'Milk', count: 1 }])
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  const text = editorOf(page)
  await text.fill((await editorText(page)).replace('"Milk"', '"Oat milk"'))
  await server.put([{ id: 'milk', realmId: 'rlm-public', title: 'Milk', count: 2 }])
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Changed by others since you began').waitFor()
  await page.getByText('"count": 2').first().waitFor()
  expect(await server.read('milk')).toMatchObject({ title: 'Milk', count: 2 })
  await page.getByRole('button', { name: 'Go on with your text' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  expect(await server.read('milk')).toMatchObject({ title: 'Oat milk', count: 1 })
})

test('an edit of an object that others delete goes on as a new object', async () => {
  await using server = await setup([{ id: 'milk', realmId: 'rlm-public', title: 'Milk' }])
  await using device = await browser.openDevice()
  const { page } = device
  const remove = () =>
    server.commands.run('object.delete', { database: 'main', table: 'notes', key: 'milk' })
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  await editorOf(page).fill((await editorText(page)).replace('"Milk"', '"Oat milk"'))
  await remove()
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The object was deleted meanwhile').waitFor()
  await page.getByRole('button', { name: 'Add it as a new object' }).click()
  expect(await editorText(page)).toContain('"Oat milk"')
  // The text is there when the address is opened again, too.
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByPlaceholder('Name or address').waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Add your text as a new object' }).click()
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.locator('.tree').getByText('Oat milk').waitFor()
  expect(await server.read('milk')).toMatchObject({ title: 'Oat milk' })
})

test('Undo puts an object back in its own database, also when another one is chosen', async () => {
  await using server = await setup([{ id: 'milk', realmId: 'rlm-public', title: 'Milk' }])
  await server.commands.run('db.create', { name: 'other' })
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: 'Edit' }).click()
  await editorOf(page).fill((await editorText(page)).replace('"Milk"', '"Oat milk"'))
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  await go(page, '#/other/data')
  await page.getByText('There is no table yet').waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('The object is as it was').waitFor()
  expect(await server.read('milk')).toMatchObject({ title: 'Milk' })
})

test('all members who see an object are listed, page by page', async () => {
  await using server = await setup([])
  const rows = Array.from({ length: 250 }, (_, at) => {
    const userId = `user${at}@example.com`
    return [`mbr${at}`, { userId, accepted: { $t: 'Date', v: '2030-01-01T00:00:00.000Z' } }]
  })
  const realm = { realms: { rlmA: { realmId: 'rlmA', owner: 'user0@example.com' } } }
  const notes = { milk: { title: 'Milk' } }
  const data = { rlmA: { ...realm, members: Object.fromEntries(rows), notes } }
  const upload = new Blob([JSON.stringify({ data })]).stream()
  await server.commands.run('import', PLAIN_IMPORT, { upload })
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  await page.getByRole('button', { name: /sees it/ }).click()
  const seers = page.locator('.panel .rows li')
  const more = page.locator('.panel').getByRole('button', { name: 'More' })
  await more.waitFor()
  const first = await seers.count()
  expect(first).toBeLessThan(250)
  await more.click()
  await until(async () => (await seers.count()) > first)
  await more.click()
  await more.waitFor({ state: 'detached' })
  expect(await seers.count()).toBe(250)
})

test('See as asks for a text, and is recorded, once after it was typed', async () => {
  await using server = await setup([{ id: 'milk', realmId: 'rlm-public', title: 'Milk' }])
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/see-as/alice@example.com')
  await page.getByRole('link', { name: 'milk' }).waitFor()
  const recorded = async () => {
    const { lines } = await server.commands.run('audit.list', { database: 'main' })
    return lines.filter(({ operation }) => operation === 'object.listAs').length
  }
  expect(await recorded()).toBe(1)
  await page.clock.install()
  await page.clock.pauseAt(Date.now() + 1_000)
  const search = page.getByPlaceholder('Text in objects')
  for (const text of ['n', 'no', 'not', 'not h', 'not here']) {
    await search.fill(text)
    await page.clock.runFor(50)
  }
  await page.clock.runFor(1_000)
  await page.clock.resume()
  await page.getByText('Nothing in this table').waitFor()
  expect(await recorded()).toBe(2)
})

test('objects are found by a part, by a value and by their keys', async () => {
  const objects = Array.from({ length: 450 }, (_, at) => {
    return { id: `note${at}`, realmId: 'rlm-public', title: `Title ${at}`, done: at % 2 === 0 }
  })
  await using server = await setup(objects)
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  const grid = page.getByRole('grid')
  // The next rows may be there already.
  await page.getByText(/\d00 of 450/).waitFor()
  // Only the rows in view are drawn; the next pages come as they are scrolled to.
  expect(await grid.getByRole('row').count()).toBeLessThan(60)
  await grid.focus()
  const all = page.locator('.page-title').getByText('450', { exact: true })
  await until(async () => {
    await page.keyboard.press('End')
    return all.isVisible()
  })
  await page.keyboard.press('End')
  await grid.getByText('Title 0', { exact: true }).waitFor()

  const search = page.getByPlaceholder('Search')
  await search.fill('title 77')
  await grid.getByText('Title 77', { exact: true }).waitFor()
  expect(await grid.getByRole('row').count()).toBe(2)
  await search.fill('')
  await page.getByLabel('How to search').selectOption('prefix')
  await page.getByPlaceholder('Search').fill('note44')
  await page.locator('.page-title').getByText('11', { exact: true }).waitFor()
  await page.getByLabel('How to search').selectOption('filter')
  await page.getByPlaceholder('done=false').fill('done=false&title=Title 3')
  await page.locator('.page-title').getByText('1', { exact: true }).waitFor()
})

test('a long table keeps the rows near the view, and has the right ones wherever it is scrolled', async () => {
  await using server = await setup([])
  for (let from = 0; from < 6_000; from += 1_000) {
    await server.put(
      Array.from({ length: 1_000 }, (_, at) => {
        return { id: `note${from + at}`, realmId: 'rlm-public', title: `Title ${from + at}` }
      }),
    )
  }
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  const grid = page.getByRole('grid')
  await grid.focus()
  const oldest = grid.getByText('Title 0', { exact: true })
  await until(async () => {
    await page.keyboard.press('End')
    return oldest.isVisible()
  })
  const all = page.locator('.page-title').getByText('6,000', { exact: true })
  await all.waitFor()
  expect(await heldRows(page)).toBeLessThan(4_000)
  for (const at of [3_000, 1_500, 4_200, 0, 5_990, 600]) {
    await grid.evaluate((element, top) => (element.scrollTop = top), at * 34)
    const row = page.locator(`#row-${at}`)
    await row.getByText(`Title ${5_999 - at}`, { exact: true }).waitFor()
    expect(await row.getAttribute('aria-rowindex')).toBe(String(at + 2))
    expect(await heldRows(page)).toBeLessThan(4_000)
  }
  await page.locator('#row-602').click()
  await page.getByRole('complementary', { name: 'note5397' }).waitFor()
  expect(await all.isVisible()).toBe(true)
})

/** How many rows are in the memory of the tab, where nothing is that is not used. */
async function heldRows(page: Page): Promise<number> {
  const cdp = await page.context().newCDPSession(page)
  const { result } = await cdp.send('Runtime.evaluate', { expression: 'Object.prototype' })
  const { objects } = await cdp.send('Runtime.queryObjects', {
    prototypeObjectId: result.objectId ?? '',
  })
  const counted = await cdp.send('Runtime.callFunctionOn', {
    objectId: objects.objectId ?? '',
    functionDeclaration: `function () {
      return this.filter((each) => Object.hasOwn(each, 'revision') && Object.hasOwn(each, 'cut')).length
    }`,
    returnByValue: true,
  })
  await cdp.detach()
  return Number(counted.result.value)
}

test('the objects that a table shows are saved as a file that the server sends', async () => {
  const objects = Array.from({ length: 450 }, (_, at) => {
    return { id: `note${at}`, realmId: 'rlm-public', title: `Title ${at}`, done: at % 2 === 0 }
  })
  await using server = await setup(objects)
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  await page.getByText(/\d00 of 450/).waitFor()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  const save = async () => {
    asked.length = 0
    const saving = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Save as a file' }).click()
    const file = await saving
    expect(asked.filter((path) => path.startsWith('/admin/api/object.'))).toEqual([])
    expect(file.suggestedFilename()).toBe('notes.ndjson')
    const lines = (await Bun.file(await file.path()).text()).trimEnd().split('\n')
    const all = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    return all.flatMap(({ table, id }) => (table === 'notes' ? [id] : []))
  }
  expect(await save()).toEqual(objects.map(({ id }) => id))
  await page.getByLabel('How to search').selectOption('filter')
  await page.getByPlaceholder('done=false').fill('done=false&title=Title 3')
  await page.locator('.page-title').getByText('1', { exact: true }).waitFor()
  expect(await save()).toEqual(['note3'])
  await page.getByLabel('How to search').selectOption('prefix')
  await page.getByPlaceholder('Search').fill('note44')
  await page.locator('.page-title').getByText('11', { exact: true }).waitFor()
  expect(await save()).toHaveLength(11)
})

test('an object is added, and deleted after a question', async () => {
  await using server = await setup([])
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  await page.getByRole('button', { name: 'New', exact: true }).click()
  await editorOf(page).fill('{"id":"bread","realmId":"rlm-public","n":1}')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('complementary', { name: 'bread' }).waitFor()
  expect(await server.read('bread')).toMatchObject({ n: 1 })
  await page.locator('#row-0').getByText('bread').waitFor()
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the object' }).click()
  await page.getByText('The object was deleted').waitFor()
  expect(await server.read('bread')).toMatchObject({ code: 'UNKNOWN_OBJECT' })
  await page.getByText('No object is in this table').waitFor()
})

test('an object that another session has changed meanwhile is not deleted', async () => {
  await using server = await setup([{ id: 'milk', realmId: 'rlm-public', title: 'Milk' }])
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes/milk')
  const ask = page.getByRole('button', { name: 'Delete', exact: true })
  const dialog = page.getByRole('dialog')
  const destroy = dialog.getByRole('button', { name: 'Delete the object' })
  await ask.click()
  await destroy.waitFor()
  await server.put([{ id: 'milk', realmId: 'rlm-public', title: 'Oat milk' }])
  await page.locator('.tree').getByText('Oat milk').waitFor()
  await destroy.click()
  await dialog.getByText('The object was changed meanwhile').waitFor()
  expect(await server.read('milk')).toMatchObject({ title: 'Oat milk' })
  await page.keyboard.press('Escape')
  await ask.click()
  await destroy.click()
  await page.getByText('The object was deleted').waitFor()
  expect(await server.read('milk')).toMatchObject({ code: 'UNKNOWN_OBJECT' })
})

test('the table shows what its own page adds, edits and deletes, and stays where it is', async () => {
  await using server = await setup([])
  await server.put(
    Array.from({ length: 450 }, (_, at) => {
      return { id: `note${at}`, realmId: 'rlm-public', title: `Title ${at}` }
    }),
  )
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  const grid = page.getByRole('grid')
  const rowAt = (at: number, text: string) =>
    page.locator(`#row-${at}`).getByText(text, { exact: true }).waitFor()
  const count = (of: string) => page.locator('.page-title').getByText(of, { exact: true }).waitFor()
  const topOf = () => grid.evaluate((element) => element.scrollTop)
  await grid.focus()
  await until(async () => {
    await page.keyboard.press('End')
    return page.locator('.page-title').getByText('450', { exact: true }).isVisible()
  })
  await grid.evaluate((element) => (element.scrollTop = 300 * 34))
  await page.locator('#row-302').click()
  await page.getByRole('complementary', { name: 'note147' }).waitFor()
  const top = await topOf()

  await page.keyboard.press('e')
  await editorOf(page).fill((await editorText(page)).replace('Title 147', 'Changed'))
  await page.keyboard.press('Control+Enter')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await rowAt(302, 'Changed')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the object' }).click()
  await count('449')
  await rowAt(302, 'Title 146')
  await page.getByRole('button', { name: 'New', exact: true }).click()
  await editorOf(page).fill('{"id":"bread","realmId":"rlm-public","title":"Bread"}')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await count('450')
  await rowAt(303, 'Title 146')
  await page.locator('.tables').getByText('450').waitFor()
  // The new row is above those in view, which stay.
  await until(async () => (await topOf()) !== top)
  expect(await topOf()).toBe(top + 34)
  await grid.evaluate((element) => (element.scrollTop = 0))
  await rowAt(0, 'bread')
  // What others write is not shown, but told of.
  await page.getByRole('button', { name: 'Load again', exact: true }).waitFor()
  await server.put([{ id: 'eggs', realmId: 'rlm-public', title: 'Eggs' }])
  await page.getByRole('button', { name: 'The table has changed: load again' }).click()
  await rowAt(0, 'eggs')
})

test('arrows move an open panel without a trace in the history, and Esc closes a menu before a panel', async () => {
  const notes = ['a', 'b', 'c', 'd'].map((id) => ({ id, realmId: 'rlm-public', n: 1 }))
  await using server = await setup(notes)
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  await page.locator('#row-0').click()
  const panelOf = (key: string) => page.getByRole('complementary', { name: key })
  await panelOf('d').waitFor()
  const length = await page.evaluate<number>('history.length')
  await page.getByRole('grid').focus()
  for (const key of ['c', 'b', 'a']) {
    await page.keyboard.press('ArrowDown')
    await panelOf(key).waitFor()
  }
  expect(await page.evaluate<number>('history.length')).toBe(length)
  const columns = page.getByRole('button', { name: 'Columns' })
  await columns.click()
  const first = page.getByRole('group', { name: 'Columns' }).getByRole('checkbox').first()
  await first.focus()
  await page.keyboard.press('Escape')
  await first.waitFor({ state: 'detached' })
  expect(await panelOf('a').count()).toBe(1)
  expect(await page.locator('button:focus').getAttribute('title')).toBe('Columns')
  await page.keyboard.press('Escape')
  await panelOf('a').waitFor({ state: 'detached' })
  await page.goBack()
  await panelOf('a').waitFor()
})

test('an object that is added while the next rows are asked for stays in the table', async () => {
  await using server = await setup([])
  await server.put(
    Array.from({ length: 650 }, (_, at) => {
      return { id: `note${at}`, realmId: 'rlm-public', title: `Title ${at}` }
    }),
  )
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/data/notes')
  const grid = page.getByRole('grid')
  await page.locator('.page-title').getByText('400 of 650').waitFor()
  const held: { readonly isTop: boolean; readonly go: () => void }[] = []
  const holding = async (isTop: boolean) => {
    await until(async () => {
      await Bun.sleep(20)
      return held.some((each) => each.isTop === isTop)
    })
  }
  await page.route('**/admin/api/object.list', async (route) => {
    const { cursor } = route.request().postDataJSON() as { readonly cursor: string | null }
    const { promise, resolve } = Promise.withResolvers<void>()
    const answer = await route.fetch()
    held.push({ isTop: cursor === null, go: resolve })
    await promise
    await route.fulfill({ response: answer })
  })
  await page.getByRole('button', { name: 'New', exact: true }).click()
  await editorOf(page).fill('{"id":"bread","realmId":"rlm-public","title":"Bread"}')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await holding(true)
  await grid.evaluate((element) => (element.scrollTop = 300 * 34))
  await holding(false)
  const release = (isTop: boolean) => held.find((each) => each.isTop === isTop)?.go()
  release(true)
  await page.locator('.page-title').getByText('401 of 651').waitFor()
  release(false)
  await page.locator('.page-title').getByText('601 of 651').waitFor()
  await grid.evaluate((element) => (element.scrollTop = 0))
  await page.locator('#row-0').getByText('bread', { exact: true }).waitFor()
  expect(held.map(({ isTop }) => isTop)).toEqual([true, false])
})
