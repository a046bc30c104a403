import axe from 'axe-core'
import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openSession } from '../../src/control/session'
import { setupAdmin } from '../http/admin/setup'
import { setupTestMode } from '../testing/setup'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
import { useChromium } from './chromium'
import { go, openAdmin, type Watched } from './admin-page'

/** Every page for administrators: with nothing in the database, and with data that would harm a careless page. */

const SCREENS = [
  { width: 360, height: 640, colorScheme: 'dark' },
  { width: 1280, height: 800, colorScheme: 'light' },
] as const

const PAGES = [
  'live',
  'mail',
  'data',
  'files',
  'people',
  'sharing',
  'see-as',
  'jobs',
  'database',
  'server/state',
  'server/databases',
  'server/backups',
  'server/settings',
  'server/log',
  'server/audit',
  'server/logins',
]

const HOSTILE = [
  '<img src=x onerror=alert(1)>',
  '"><script>alert(1)</script>',
  '\u202egnp.exe',
  '__proto__',
  'constructor',
  "it's `quoted` ${7*7} {{7*7}}",
  'x'.repeat(300),
  'مرحبا',
  '../../etc/passwd',
  'javascript:alert(1)',
]

const GOOD = { found: [], faults: [] }

const browser = useChromium()

test('every page of an empty database can be used by everybody, on a phone and a desktop, light and dark', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const watched = await openAdmin(page, server.commands)
  expect(await lookAtAll(page, watched, PAGES)).toEqual(GOOD)
})

test('data with tags, marks of direction and names of built-in properties is only text on every page', async () => {
  await using server = await setupAdmin()
  await fillWithHostile(server)
  await using device = await browser.openDevice()
  const { page } = device
  const watched = await openAdmin(page, server.commands)
  const objects = HOSTILE.slice(0, 4).map((key) => `data/notes/${encodeURIComponent(key)}`)
  const names = [...PAGES, ...objects, 'people/alice@example.com']
  expect(await lookAtAll(page, watched, names)).toEqual(GOOD)
  await go(page, '#/main/data/notes')
  // The mark would turn the text that follows around.
  await page.getByText('\\u202egnp.exe').first().waitFor()
})

test('the page of test mode moves the clock, and returns to snapshots', async () => {
  await using server = await setupTestMode()
  const commands = await openSession(server.folder, () => undefined)
  await using device = await browser.openDevice()
  const { page } = device
  const watched = await openAdmin(page, commands, '#/main/test')
  const clock = page.locator('.clock-value')
  await clock.getByText(/\d{4}/).waitFor()
  const before = await clock.textContent()
  await page.getByRole('button', { name: '+31d' }).click()
  await until(async () => (await clock.textContent()) !== before)
  await page.getByRole('button', { name: 'Take one' }).click()
  await page.getByRole('button', { name: 'Return to it' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Return to it' }).click()
  await page.getByText('The database is as it was').waitFor()
  await page.getByRole('button', { name: 'Make a database' }).click()
  await page.getByText(/^The database main-[0-9a-f]{8} was made$/).waitFor()
  expect(await lookAtAll(page, watched, ['test'])).toEqual(GOOD)
})

test('nothing jumps while a page loads, however late each answer comes', async () => {
  using place = temporaryFolder()
  await using server = await setupAdmin({ backup: place.path })
  await fillWithHostile(server)
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  let count = 0
  await page.route('**/admin/api/**', async (route) => {
    count += 1
    // Neighbours come one after the other, in another order than they were asked for.
    await Bun.sleep(60 * ((count * 3) % 5))
    await route.continue()
  })
  const found: unknown[] = []
  // A new line of the log moves the others down.
  const names = [...PAGES.filter((name) => name !== 'server/log'), 'data/notes']
  for (const screen of SCREENS) {
    await page.setViewportSize(screen)
    for (const name of names) {
      await go(page, '#/main/live')
      await page.getByRole('heading', { name: 'Live', level: 1 }).waitFor()
      await page.evaluate(WATCH_JUMPS)
      await go(page, `#/main/${name}`)
      await page.locator('main h1').first().waitFor()
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
      await page.waitForTimeout(800)
      const jumps = await page.evaluate<readonly unknown[]>('jumps')
      if (jumps.length > 0) found.push({ name, width: screen.width, jumps })
    }
  }
  expect({ found, faults }).toEqual({ found: [], faults: [] })
})

type Setup = Awaited<ReturnType<typeof setupAdmin>>

async function fillWithHostile({ commands, main, ...server }: Setup): Promise<void> {
  const tables = Object.fromEntries(HOSTILE.slice(0, 2).map((name) => [name, '@id']))
  const upload = new Blob([JSON.stringify({ notes: '@id', ...tables })]).stream()
  await commands.run('schema.push', { database: 'main', wait: true }, { upload })
  const headers = {
    authorization: `Bearer ${await server.token({ sub: 'alice@example.com', scopes: ['ACCESS_DB'] })}`,
    'content-type': 'application/json',
  }
  const post = async (path: string, body: string) => {
    const answer = await fetch(`${main}/my/${path}`, { method: 'POST', headers, body })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.json()) as { realmId: string }
  }
  const objects = HOSTILE.map((text) => {
    const value = JSON.stringify(text)
    return `{"id":${value},"__proto__":${value},"long":"${'long '.repeat(2_000)}","constructor":{"toString":${value}},${value}:[${value}],"at":{"$t":"Date","v":"NaN"}}`
  })
  await post('notes', `[${objects.join(',')}]`)
  for (const name of HOSTILE) {
    const { realmId } = await post('realms', JSON.stringify({ name }))
    await post('members', JSON.stringify({ realmId, email: 'bob@example.com', name, invite: true }))
  }
  await commands.run('user.write', {
    database: 'main',
    user: JSON.stringify({ userId: 'alice@example.com', data: { displayName: HOSTILE[0] } }),
    isNew: false,
  })
}

/** Opens each page on both screens, and returns what is wrong. */
async function lookAtAll(page: Page, { faults }: Watched, names: readonly string[]) {
  const found: unknown[] = []
  for (const { colorScheme, ...screen } of SCREENS) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize(screen)
    for (const name of names) {
      await go(page, `#/main/${name}`)
      await page.locator('main h1, main .empty h2').first().waitFor()
      await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' })
      const { violations, overhang, cut } = await look(page)
      if (violations.length > 0 || overhang > 0 || cut > 0) {
        found.push({ name, colorScheme, violations, overhang, cut })
      }
    }
  }
  return { found, faults }
}

/** What axe finds on a page, how far it is wider than the screen, and how many of its parts are cut off. */
async function look(page: Page) {
  // A script of the page would be blocked by its policy.
  await page.evaluate(axe.source)
  const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    'axe.run().then(({ violations }) => violations)',
  )
  const { width = 0 } = page.viewportSize() ?? {}
  const scrolled = await page.evaluate<number>(WIDEST)
  return {
    violations: violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) })),
    overhang: Math.max(0, scrolled - width),
    cut: await page.evaluate<number>(CUT),
  }
}

/** Collects the parts that move up or down from now on (Layout Instability API of browsers). */
const WATCH_JUMPS = `{
  globalThis.jumps = []
  globalThis.watching?.disconnect()
  globalThis.watching = new PerformanceObserver((list) => {
    for (const { sources } of list.getEntries()) {
      for (const { node, previousRect, currentRect } of sources) {
        const by = currentRect.y - previousRect.y
        if (by !== 0 && currentRect.height > 0) jumps.push([node?.nodeName, node?.className, by])
      }
    }
  })
  watching.observe({ type: 'layout-shift' })
}`

/** How wide the content of the window is, and that of the page and the panel in it. */
const WIDEST = `innerWidth + Math.max(...[...document.querySelectorAll('html, main, .panel-body')]
  .map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))`

/** Boxes that hide a part of their content: the page around them should scroll instead. */
const CUT = `[...document.querySelectorAll('.snippet, .segments, .code-card, .box')]
  .filter(({ scrollHeight, clientHeight }) => scrollHeight > clientHeight + 1).length`
