import { describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { systemClock } from '../../src/clock'
import { openSession } from '../../src/control/session'
import { GUIDES } from '../../src/http/pages/guide-page'
import { setupServer, setupServerAt } from '../setup'
import { until } from '../timing'
import { useChromium } from './chromium'

const browser = useChromium()

interface Box {
  readonly top: number
  readonly right: number
  readonly bottom: number
  readonly left: number
}

const PHONE = { width: 390, height: 844 }

async function requestCode(main: string, email: string): Promise<void> {
  const body = JSON.stringify({ grant_type: 'otp', email, scopes: ['ACCESS_DB'] })
  await fetch(`${main}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
}

/** The complaints of a page about its policy, as they come. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = []
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) complaints.push(message.text())
  })
  return complaints
}

describe('the page at the address of the server', () => {
  test('shows codes and databases as they come, without a word of its policy', async () => {
    await using server = await setupServerAt(systemClock)
    await using device = await browser.openDevice()
    const { page } = device
    const complaints = complaintsOf(page)
    await page.goto(server.url)
    await page.getByText('The code of a person who logs in').waitFor()
    await requestCode(server.main, 'alice@example.com')
    await page.getByText('To alice@example.com at').waitFor()
    const commands = await openSession(server.folder, () => undefined)
    await commands.run('db.create', { name: 'second' })
    await page.getByText(`${server.url}/second`).waitFor()
    expect(complaints).toEqual([])
  })

  test('asks less often while the server is away, and goes on when it is back', async () => {
    await using device = await browser.openDevice()
    const { page } = device
    await page.clock.install()
    await using undo = new AsyncDisposableStack()
    let server = undo.use(await setupServerAt(systemClock))
    const port = new URL(server.url).port
    await page.goto(server.url)
    await server[Symbol.asyncDispose]()
    await page.clock.fastForward(2_000)
    await page.getByText('The server does not answer.').waitFor()
    server = undo.use(await setupServerAt(systemClock, { port }))
    await requestCode(server.main, 'alice@example.com')
    await page.clock.fastForward(2_000)
    expect(await page.getByText('The server does not answer.').count()).toBe(1)
    await page.clock.fastForward(2_000)
    await page.getByText('To alice@example.com at').waitFor()
    await page.getByText('New mails appear here by themselves.').waitFor()
  })

  test('stops asking half an hour after it was looked at, until somebody looks again', async () => {
    await using server = await setupServer()
    await using device = await browser.openDevice()
    const { page } = device
    await page.clock.install()
    await page.goto(server.url)
    await page.clock.fastForward(31 * 60_000)
    await page.getByText('Reload the page to see new mails.').waitFor()
    let requests = 0
    page.on('request', () => (requests += 1))
    await page.clock.fastForward(60 * 60_000)
    expect(requests).toBe(0)
    await page.evaluate(`dispatchEvent(new Event('focus'))`)
    await page.clock.fastForward(1)
    await page.getByText('New mails appear here by themselves.').waitFor()
    expect(requests).toBe(1)
  })

  test('is still where it tells nothing', async () => {
    await using server = await setupServer({ publicUrl: 'https://db.example.com' })
    const { headers } = await fetch(server.url, { headers: { accept: 'text/html' } })
    expect(headers.get('content-security-policy')).not.toContain('script-src')
  })
})

describe('a guide', () => {
  test('lists all guides and its own sections, whose headings are links, and copies examples', async () => {
    await using server = await setupServer()
    await using device = await browser.openDevice()
    const { page } = device
    await device.context.grantPermissions(['clipboard-read', 'clipboard-write'])
    const complaints = complaintsOf(page)
    await page.goto(`${server.url}/docs/operations`)
    const list = page.getByRole('navigation', { name: 'All guides' })
    expect(await list.locator('> ul > li').count()).toBe(Object.keys(GUIDES).length + 1)
    expect(await list.locator('[aria-current=page]').allTextContents()).toEqual([
      'Run Satchel as a service',
    ])
    await list.getByRole('link', { name: 'Rate limits' }).click()
    expect(page.url()).toEndWith('/docs/operations#rate-limits')
    await page.getByRole('heading', { name: 'A service on Debian' }).getByRole('link').click()
    expect(page.url()).toEndWith('/docs/operations#a-service-on-debian')
    const example = page.locator('.example').nth(1)
    await example.getByRole('button', { name: 'Copy' }).click()
    await example.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(copied).toStartWith('apt install ')
    expect(copied).toBe((await example.locator('pre').textContent()) ?? '')
    await list.getByRole('link', { name: 'Begin with React, Vue or Svelte' }).click()
    await page.getByRole('heading', { name: 'Begin with React, Vue or Svelte' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('stands beside its list on a desktop, and above it on a phone', async () => {
    await using server = await setupServer()
    await using device = await browser.openDevice()
    const { page } = device
    await page.goto(`${server.url}/docs/sync`)
    const places = () =>
      page.evaluate<{ list: Box; text: Box }>(`({
        list: document.querySelector('.side').getBoundingClientRect().toJSON(),
        text: document.querySelector('main').getBoundingClientRect().toJSON() })`)
    const wide = await places()
    expect(wide.list.right).toBeLessThanOrEqual(wide.text.left)
    await page.setViewportSize(PHONE)
    const narrow = await places()
    expect(narrow.list.top).toBeGreaterThanOrEqual(narrow.text.bottom)
  })
})

test('the description of the interface leads back to the start and to the guides', async () => {
  await using server = await setupServer()
  await using device = await browser.openDevice(PHONE)
  const { page } = device
  await page.goto(`${server.url}/openapi`)
  await page.getByRole('link', { name: 'Guides' }).click()
  expect(page.url()).toBe(`${server.url}/docs`)
  await page.goBack()
  await page.getByRole('link', { name: 'Start' }).click()
  expect(page.url()).toBe(`${server.url}/`)
})

test('no page breaks a line inside a word on a phone', async () => {
  await using server = await setupServer()
  await requestCode(server.main, 'alice@example.com')
  await until(() => server.lines.some((line) => line.includes('"logger":"mail"')))
  await using device = await browser.openDevice(PHONE)
  const { page } = device
  const guides = Object.keys(GUIDES).map((name) => `/docs/${name}`)
  for (const address of ['/', '/docs', ...guides, '/openapi']) {
    await page.goto(server.url + address)
    if (address === '/openapi') await page.locator('.opblock').first().waitFor()
    expect({ address, broken: await page.evaluate(BROKEN_WORDS) }).toEqual({ address, broken: [] })
  }
})

/** The words of a page, letters and digits only, that stand on more than one line. */
const BROKEN_WORDS = `(() => {
  const broken = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node; (node = walker.nextNode()); ) {
    if (/^(SCRIPT|STYLE)$/.test(node.parentElement.tagName)) continue
    for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange()
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) broken.push(word)
    }
  }
  return broken
})()`
