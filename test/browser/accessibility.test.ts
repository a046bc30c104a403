import axe from 'axe-core'
import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { invitationPage } from '../../src/http/pages/invitation-page'
import { messagePage } from '../../src/http/pages/page'
import { sampleVariables } from '../../src/mail/samples'
import { TEMPLATE_NAMES, wordMail } from '../../src/mail/templates'
import { INVITATION_PAGE } from '../auth/invitation-setup'
import { postJson } from '../http/setup'
import { setupServer } from '../setup'
import { until } from '../timing'
import { useChromium } from './chromium'

/** A phone in the dark and a desktop: each page is looked at on both. */
const SCREENS = [
  { width: 360, height: 640, colorScheme: 'dark' },
  { width: 1280, height: 800, colorScheme: 'light' },
] as const

/** The guides are made alike: these have tables, quotations and long lines. */
const ADDRESSES = ['/', '/nothing', '/docs/operations', '/docs/merging', '/docs/starters']

const TEMPLATES = `${import.meta.dir}/../../src/mail/email-templates`

const browser = useChromium()

test.each(SCREENS)('every page and mail can be used by everybody: %j', async (screen) => {
  await using server = await setupServer()
  const login = { grant_type: 'otp', email: 'alice@example.com', scopes: ['ACCESS_DB'] }
  await postJson(`${server.main}/token`, login)
  await until(() => server.lines.some((line) => line.includes('"logger":"mail"')))
  await using device = await browser.openDevice(screen)
  const { page } = device
  await page.emulateMedia({ colorScheme: screen.colorScheme })
  for (const address of ADDRESSES) {
    await page.goto(server.url + address)
    expect({ address, ...(await look(page)) }).toEqual({ address, ...GOOD })
  }
  // Without the policy of the page before, which allows other styles.
  await page.goto('about:blank')
  for (const html of await contents()) {
    await page.setContent(html)
    expect({ html, ...(await look(page)) }).toEqual({ html, ...GOOD })
  }
  await page.goto(`${server.url}/openapi`)
  await page.locator('.opblock').first().waitFor()
  expect(await look(page)).toEqual(GOOD)
})

const GOOD = { violations: [], overhang: 0 }

/** What axe finds on a page, and how far it is wider than the screen. */
async function look(page: Page) {
  // A script of the page would be blocked by its policy.
  await page.evaluate(axe.source)
  const violations = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    'axe.run().then(({ violations }) => violations)',
  )
  const { width = 0 } = page.viewportSize() ?? {}
  const scrolled = await page.evaluate<number>('document.documentElement.scrollWidth')
  return {
    violations: violations.map(({ id, nodes }) => ({ id, nodes: nodes.map(({ html }) => html) })),
    overhang: Math.max(0, scrolled - width),
  }
}

/** Pages that need a link to be opened, and the mails. */
async function contents(): Promise<string[]> {
  const variables = sampleVariables('bob@example.com', 'main')
  const templates = await Promise.all(
    TEMPLATE_NAMES.map(async (id) => ({
      id,
      content: await Bun.file(`${TEMPLATES}/${id}.handlebars`).text(),
    })),
  )
  const mails = [
    await wordMail(templates, 'otp', { ...variables.otp }),
    await wordMail(templates, 'invite', { ...variables.invite }),
  ]
  return [
    messagePage({
      title: 'You are not logged in',
      text: 'The application is not known',
      remedy: 'For the developer: list it',
      back: new URL('https://app.example.com/'),
    }),
    ...(['open', 'accepted', 'rejected'] as const).map((state) =>
      invitationPage({ ...INVITATION_PAGE, state }),
    ),
    ...mails.map(({ html }) => html),
  ]
}
