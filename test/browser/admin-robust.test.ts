import { expect, test } from 'bun:test'
import { openSession } from '../../src/control/session'
import { setupAdmin } from '../http/admin/setup'
import { systemClock } from '../../src/clock'
import { freePort } from '../ports'
import { temporaryFolder, startAgain } from '../setup'
import { until } from '../timing'
import { go, logIn, MOST_TEXT, notesOf, openAdmin, textOf } from './admin-page'
import { useChromium } from './chromium'

/** The page for administrators with very large and hostile data, on a slow network, and while its server restarts. */

const browser = useChromium()

const MEGABYTE = 2 ** 20

test('values of a megabyte and objects of 16 MB are shortened, and whole on demand', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  const key = `${'k'.repeat(900)}<b>`
  await post({ id: key, text: '<i>\u202e</i>'.repeat(MEGABYTE / 8), name: 'x'.repeat(MEGABYTE) })
  const lines = Array.from({ length: 15 }, (_, at) => `${at} `.padEnd(MEGABYTE, '<b> '))
  await post({ id: 'large', lines, numbers: Array.from({ length: 50_000 }, (_, at) => at) })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/data/notes')
  // Each is a page of its own; none comes twice.
  await page.locator('.page-title').getByText('2', { exact: true }).waitFor()
  const rows = page.getByRole('grid').getByRole('row')
  await rows.nth(2).waitFor()
  expect(await rows.count()).toBe(3)
  await go(page, `#/main/data/notes/${encodeURIComponent(key)}`)
  await page
    .getByRole('button', { name: /all 1,048,576 characters/ })
    .first()
    .waitFor()
  expect(await textOf(page)).toBeLessThan(MOST_TEXT)

  await go(page, '#/main/data/notes/large')
  const tree = page.locator('.tree').first()
  await tree.getByText('15 items').waitFor()
  expect(await textOf(page)).toBeLessThan(MOST_TEXT)
  await page.getByRole('button', { name: 'JSON', exact: true }).click()
  await page.getByRole('button', { name: /Show all/ }).waitFor()
  expect(await textOf(page)).toBeLessThan(MOST_TEXT)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save the object as a file' }).click(),
  ])
  const saved = (await Bun.file(await download.path()).json()) as { lines: string[] }
  expect(saved.lines).toEqual(lines)
  expect(faults).toEqual([])
})

test('Live and the log show hostile names as text the moment they come', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  const tags = '<img src=x onerror=alert(1)>'
  await post({ id: tags, __proto__: tags })
  await page.locator('.entry').getByText(tags).waitFor()
  await post({ id: 'a\u202eb' })
  await page.locator('.entry').getByText('a\\u202eb').waitFor()
  const table = encodeURIComponent('<script>alert(1)</script>')
  await fetch(`${server.main}/my/${table}/${encodeURIComponent(tags)}`, { method: 'DELETE' })
  const rejected = page.locator('.entry.rejected')
  await rejected.getByText('<script>alert(1)</script>').waitFor()
  await rejected.getByText('anonymous').waitFor()

  await go(page, '#/main/server/log')
  const log = page.getByRole('list', { name: 'Log' })
  await until(async () => {
    await fetch(`${server.main}/all/${table}/%E2%80%AE${encodeURIComponent(tags)}`)
    return (await log.getByText(/onerror/).count()) > 0
  })
  expect(await page.locator('main img, main script').count()).toBe(0)

  expect(faults).toEqual([])
})

test('reasons and titles show each character of a name', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  await post({ id: 'a\u202eb' })
  const key = page.locator('.entry .object-key')
  await key.waitFor()
  expect(await key.getAttribute('title')).toBe('a\\u202eb')
  const json = { code: 'OTP_EXPIRED', message: 'No link "c\u202ed"' }
  await page.route('**/admin/session', (route) => route.fulfill({ status: 403, json }))
  await go(page, '#used')
  await page.locator('.toast').getByText('No link "c\\u202ed"').waitFor()
  await page.route('**/admin/api/user.list', (route) => route.fulfill({ status: 403, json }))
  await go(page, '#/main/people')
  await page.locator('.failure').getByText('No link "c\\u202ed"').waitFor()
})

test('on a slow network the first page is a few kilobytes, and can be used', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page, context } = device
  const network = await context.newCDPSession(page)
  await network.send('Network.enable')
  const rate = 400_000 / 8
  const slow = { offline: false, latency: 200, downloadThroughput: rate, uploadThroughput: rate }
  await network.send('Network.emulateNetworkConditions', slow)
  let bytes = 0
  network.on('Network.dataReceived', ({ encodedDataLength }) => (bytes += encodedDataLength))
  const { faults } = await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  expect(bytes).toBeGreaterThan(10_000)
  expect(bytes).toBeLessThan(100_000)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('people')
  await page.keyboard.press('Enter')
  await page.getByText('No user has logged in yet').waitFor()
  expect(faults).toEqual([])
})

test('after a cut, and after a restart of the server, Live goes on and says how much it missed', async () => {
  using folder = temporaryFolder()
  await using device = await browser.openDevice()
  const { page, context } = device
  const port = freePort()
  let server = await startOn(folder.path, port)
  try {
    const write = async (command: string) => {
      await server.commands.run('origin.add', { database: 'main', origin: command })
    }
    const { faults } = await openAdmin(page, server.commands)
    await page.getByText('Following').waitFor()
    await write('https://one.example')
    await page.locator('.entry', { hasText: 'one.example' }).waitFor()

    await server.stop()
    await page.getByText('Cut, trying again').waitFor()
    server = await startOn(folder.path, port)
    await write('https://two.example')
    await write('https://three.example')
    // Sessions are in the memory of the server.
    await page.getByRole('dialog').getByText('The page is as you left it').waitFor()
    await logIn(page, server.commands)
    await page.getByText('Following').waitFor()
    await page.getByText('This page missed 2 changes here').waitFor()
    await page.locator('.entry', { hasText: 'one.example' }).waitFor()
    await write('https://four.example')
    await page.locator('.entry', { hasText: 'four.example' }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(faults).toEqual([])
    await context.close()
  } finally {
    await server.stop()
  }
})

test('a server that stops or starts is asked again, and says nothing wrong', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/people')
  await page.getByText('No user has logged in yet').waitFor()
  let refused = 0
  await page.route('**/admin/api/*', async (route) => {
    refused += 1
    if (refused > 3) return route.continue()
    const json = { code: 'BUSY', message: 'The server is stopping: repeat the request' }
    return route.fulfill({ status: 503, json })
  })
  await page.getByPlaceholder('Name or address').fill('alice')
  await page.getByText('The server is stopping').first().waitFor()
  // The list asks again by itself.
  await until(() => refused > 3)
  await page.getByText('The server is stopping').first().waitFor({ state: 'detached' })
  await page.getByText('No user matches').waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(faults).toEqual([])
})

test('a page that asks again and again shows an answer that takes longer than its pause', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await page.route('**/admin/api/mail.list', async (route) => {
    await Bun.sleep(1_500)
    await route.continue().catch(() => undefined)
  })
  const { faults } = await openAdmin(page, server.commands, '#/main/mail')
  await page.getByText('No mail since the server started').waitFor()
  expect(faults).toEqual([])
})

test('rows that came before a session ended are not there twice after the next login', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  for (const id of ['milk', 'bread', 'eggs']) await post({ id, title: 'Food' })
  await post({ id: 'soap' })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/data/notes')
  await page.locator('.page-title').getByText('4', { exact: true }).waitFor()
  let ended = 0
  await page.route('**/admin/api/object.list', async (route) => {
    if (ended > 0 || !(route.request().postData() ?? '').includes('food')) return route.continue()
    const answer = await (await route.fetch()).text()
    const items = answer.split('\n').filter((line) => line.startsWith('{"item":'))
    const objects = answer.split('\n').flatMap((line) => {
      const { result } = (line === '' ? {} : JSON.parse(line)) as { result?: { objects: object[] } }
      return result?.objects ?? []
    })
    items.push(...objects.map((item) => JSON.stringify({ item })))
    ended = items.length
    const error = { code: 'SESSION_ENDED', status: 401, message: 'The session has ended' }
    return route.fulfill({ body: [...items, JSON.stringify({ error }), ''].join('\n') })
  })
  await page.getByPlaceholder('Search').fill('food')
  await page.getByRole('dialog').getByText('The page is as you left it').waitFor()
  await logIn(page, server.commands)
  await page.locator('.page-title').getByText('3', { exact: true }).waitFor()
  expect(ended).toBe(3)
  expect(await page.getByRole('grid').getByRole('row').count()).toBe(4)
  expect(faults).toEqual([])
})

/** A server on a data folder that other servers had before. */
async function startOn(data: string, port: number) {
  const server = await startAgain(data, systemClock, { port })
  const commands = await openSession(data, () => undefined)
  return {
    url: server.url,
    commands,
    async stop() {
      await commands[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}
