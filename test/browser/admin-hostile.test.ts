import { expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { serverLog } from '../../src/log/log'
import { setupAdmin } from '../http/admin/setup'
import { until } from '../timing'
import { editorOf, go, MOST_TEXT, notesOf, openAdmin, textOf } from './admin-page'
import { useChromium } from './chromium'

/** Hostile text where people read it on the page for administrators, and networks that fail in the middle of work. */

const browser = useChromium()

const TAGS = '<img src=x onerror=alert(1)>'
const MEGABYTE = 2 ** 20
/** A megabyte of tags, halves of pairs and marks of direction. */
const LONG = `${TAGS}\ud800\u202e`.repeat(MEGABYTE / 30)
const ADDRESSES = ["o'brien@example.com", '{{7*7}}@example.com', '__proto__@example.com']

test('halves of surrogate pairs are written out, and survive an edit', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  const text = `a\ud800b\udfff${TAGS}`
  await post({ id: 'half', text, list: [text], title: 'Milk' })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/data/notes')
  await page.getByRole('grid').getByText('a\\ud800b\\udfff').first().waitFor()
  await go(page, '#/main/data/notes/half')
  await page.locator('.tree').getByText('a\\ud800b\\udfff').first().waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  await insert(page, '"done":true,')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  const input = { database: 'main', table: 'notes', key: 'half' }
  const { value } = await server.commands.run('object.show', input)
  expect(value).toMatchObject({ text, list: [text], title: 'Milk', done: true })
  // A name of a property that is no text is refused by name, and the edit goes on.
  await page.getByRole('button', { name: 'Edit' }).click()
  await insert(page, '"\\udfff":1,')
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('not well-formed Unicode').first().waitFor()
  expect(await page.locator('main img').count()).toBe(0)
  expect(faults).toEqual([])
})

test('marks of direction are written out, wherever they stand', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  const mark = '\u202egnp'
  const input = { database: 'main' }
  const [realmId, table, userId] = ['rlmA', `${mark} table`, `bob${mark}@example.com`]
  const upload = new Blob([JSON.stringify({ [table]: '@id' })]).stream()
  await server.commands.run('schema.push', { ...input, wait: true }, { upload })
  const value = { id: `${mark} of a long key, with a title`, link: `https://example.com/${mark}` }
  await post(value, encodeURIComponent(table))
  await post({ realmId, owner: userId }, 'realms')
  await post({ id: 'milk', realmId }, 'notes')
  const permissions = { update: { [table]: [mark] } }
  await post({ realmId, id: mark, userId, roles: [mark], permissions }, 'members')
  await post({ realmId, name: mark, permissions }, 'roles')
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  const [inTable, user] = [encodeURIComponent(table), encodeURIComponent(userId)]
  const marked = () =>
    page.evaluate<string[], null>(
      `[document.body.innerText, ...Array.from(document.querySelectorAll('[title]'), (each) => each.title)].filter((text) => text.includes('\u202e'))`,
      null,
    )
  const look = async (hash: string, seen: string) => {
    await go(page, `#/main/${hash}`)
    await page.locator('main').getByText(seen).first().waitFor()
    expect([hash, await marked()]).toEqual([hash, []])
  }
  await look(`data/${inTable}`, 'with a title')
  await look(`data/${inTable}/${encodeURIComponent(value.id)}`, 'https://example.com')
  await look(`see-as/${encodeURIComponent('ann@example.com')}/${user}`, 'Why not')
  await go(page, '#/main/data/notes/milk')
  await page.getByRole('button', { name: /sees it/ }).click()
  await page.locator('.panel').getByText('owner of the realm').waitFor()
  expect(await marked()).toEqual([])
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.getByLabel('User').fill(userId)
  await page.getByRole('button', { name: 'Ask' }).click()
  await page.getByText('own permissions').first().waitFor()
  expect(await marked()).toEqual([])
  expect(faults).toEqual([])
})

test('names of realms, members and lines of the log of a megabyte are shortened', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  await post({ realmId: 'rlm-long', name: LONG }, 'realms')
  await post({ realmId: 'rlm-tags', name: TAGS }, 'realms')
  const members = ADDRESSES.map((email) => ({ realmId: 'rlm-long', email, name: LONG }))
  for (const member of members) await post(member, 'members')
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/sharing')
  await page.locator('.sheet').getByText(TAGS).first().waitFor()
  await go(page, '#/main/sharing/rlm-long')
  const panel = page.getByRole('complementary').last()
  await panel.getByRole('heading', { level: 2 }).getByText(`${TAGS}\\ud800\\u202e`).waitFor()
  for (const address of ADDRESSES) await panel.getByText(address).first().waitFor()
  expect(await textOf(page)).toBeLessThan(MOST_TEXT)
  expect(await page.evaluate<number>(LONGEST_ATTRIBUTE)).toBeLessThan(10_000)
  await go(page, '#/main/server/log')
  const log = page.getByRole('list', { name: 'Log' })
  await until(async () => {
    serverLog.warning('Long {long}', { long: LONG })
    return (await log.getByText(/^.*onerror.*ud800.*$/s).count()) > 0
  })
  expect(await textOf(page)).toBeLessThan(MOST_TEXT)
  expect(await page.locator('main img, main script').count()).toBe(0)
  expect(faults).toEqual([])
})

test('mails to hostile addresses, and about a hostile realm, are text', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  await post({ realmId: 'rlm-tags', name: TAGS }, 'realms')
  const headers = { 'content-type': 'application/json' }
  for (const email of ADDRESSES) {
    const body = JSON.stringify({ grant_type: 'otp', email, scopes: ['ACCESS_DB'] })
    const answer = await fetch(`${server.main}/token`, { method: 'POST', headers, body })
    expect([email, answer.status]).toEqual([email, 200])
  }
  const invitation = { database: 'main', realm: 'rlm-tags', email: 'dave@example.com', name: TAGS }
  await server.commands.run('member.add', invitation)
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/mail')
  const mails = page.getByRole('list', { name: 'Mails' })
  for (const address of ADDRESSES) await mails.getByText(address, { exact: true }).waitFor()
  await mails.getByText(TAGS).first().waitFor()
  await page.getByPlaceholder('Address or code').fill('{{7*7}}')
  await until(async () => (await mails.getByRole('listitem').count()) === 1)
  await page.getByPlaceholder('Address or code').fill('dave')
  await mails.getByRole('listitem').getByText(TAGS).first().click()
  const panel = page.getByRole('complementary').last()
  await panel.getByRole('button', { name: 'HTML' }).click()
  const frame = page.frameLocator('iframe.mail-frame')
  await frame.getByText(TAGS).first().waitFor()
  expect(await frame.locator('img').count()).toBe(0)
  expect(await page.locator('main img, main script').count()).toBe(0)
  expect(faults).toEqual([])
})

test('on a slow network that is cut while an edit is saved, the text stays and is saved after it', async () => {
  await using server = await setupAdmin()
  const post = await notesOf(server)
  await post({ id: 'milk', title: 'Milk' })
  await using device = await browser.openDevice()
  const { page, context } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/data/notes/milk')
  const network = await context.newCDPSession(page)
  await network.send('Network.enable')
  const rate = 400_000 / 8
  const slow = { offline: false, latency: 200, downloadThroughput: rate, uploadThroughput: rate }
  await network.send('Network.emulateNetworkConditions', slow)
  let isCut = true
  await page.route('**/admin/api/object.put', (route) =>
    isCut ? route.abort('connectionreset') : route.continue(),
  )
  const more = 'Oat milk '.repeat(10_000)
  await page.getByRole('button', { name: 'Edit' }).click()
  await insert(page, `"more":"${more}",`)
  await page.getByRole('button', { name: 'Review' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('The server does not answer').first().waitFor()
  const stored = await page.evaluate<string>(
    'JSON.stringify({ ...localStorage, ...sessionStorage })',
  )
  expect(stored).not.toContain('Oat milk')
  isCut = false
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
  const input = { database: 'main', table: 'notes', key: 'milk' }
  const { value } = await server.commands.run('object.show', input)
  expect(value).toMatchObject({ title: 'Milk', more })
  expect(faults).toEqual([])
})

test('Live whose network is cut goes on by itself, and says how much it missed', async () => {
  await using way = await openWay()
  await using server = await setupAdmin({ publicUrl: way.url })
  way.leadTo(Number(new URL(server.url).port))
  const post = await notesOf(server)
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  await page.getByText('Following').waitFor()
  await post({ id: 'one' })
  await page.locator('.object-key', { hasText: 'one' }).waitFor()
  way.leadTo(undefined)
  await page.getByText('Cut, trying again').waitFor()
  await post({ id: 'two' })
  await post({ id: 'three' })
  way.leadTo(Number(new URL(server.url).port))
  await page.getByText('Following').waitFor()
  await page.getByText('This page missed 2 changes here').waitFor()
  await post({ id: 'four' })
  await page.locator('.object-key', { hasText: 'four' }).waitFor()
  // The lines from before are kept, and the login goes on.
  await page.locator('.object-key', { hasText: 'one' }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
  expect(faults).toEqual([])
})

/** Puts text at the beginning of the object, as a person who pastes it. */
async function insert(page: Page, text: string): Promise<void> {
  await editorOf(page).click()
  await page.keyboard.press('Control+Home')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.insertText(text)
}

/** The network between a browser and a server. */
async function openWay() {
  const sockets = new Set<Socket>()
  let port: number | undefined
  const way = createServer((socket) => {
    if (port === undefined) return socket.destroy()
    const other = connect(port, '127.0.0.1')
    for (const [one, next] of [
      [socket, other],
      [other, socket],
    ] as const) {
      sockets.add(one)
      one.on('error', () => next.destroy())
      one.on('close', () => {
        sockets.delete(one)
        next.destroy()
      })
      one.pipe(next)
    }
  })
  await new Promise<void>((resolve) => way.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(way.address() as AddressInfo).port}`,
    /** Undefined: everything is cut, and nothing gets through. */
    leadTo(next: number | undefined) {
      port = next
      if (next === undefined) for (const socket of sockets) socket.destroy()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      way.close()
    },
  }
}

/** How many characters the longest attribute of the page has. */
const LONGEST_ATTRIBUTE = `Math.max(...Array.from(document.querySelectorAll('*')).flatMap(
  (element) => Array.from(element.attributes, ({ value }) => value.length)))`
