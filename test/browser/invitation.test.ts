import { expect, test } from 'bun:test'
import { ALICE, BOB, objectsOf, setupData } from '../http/setup'
import { startSmtp } from '../mail/smtp-server'
import { useChromium } from './chromium'

const browser = useChromium()

const PHONE = { width: 360, height: 640 }
/** A realm with a long name, a script and a right-to-left language in it. */
const REALM = `سلام <script>document.title='evil'</script> ${'Donaudampfschifffahrtsgesellschaft'.repeat(2)}`

/** Bob's mailbox with an invitation from Alice's application, and his phone. */
async function setupPhone() {
  await using undo = new AsyncDisposableStack()
  const smtp = undo.use(await startSmtp())
  const mail = { smtpUrl: `smtp://127.0.0.1:${smtp.port}`, mailFrom: 'Lists <lists@example.com>' }
  const server = undo.use(await setupData(mail))
  const application = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response('the application'),
  })
  undo.defer(() => application.stop(true))
  const origin = `http://localhost:${application.port}`
  const alice = await server.as(ALICE)
  const { body } = await alice.post('/my/realms', { name: REALM })
  const { realmId } = body as { realmId: string }
  await alice.post('/my/plain', { id: 'bread', realmId })
  await alice.post('/my/members', { realmId, email: BOB, invite: true }, { origin })
  const { html } = await smtp.next()
  const [, address = ''] = /href="([^"]+)"/.exec(html) ?? []
  const link = address.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')
  const { page } = undo.use(await browser.openDevice(PHONE))
  const complaints: string[] = []
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  const requests: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  const parts = undo.move()
  return {
    server,
    alice,
    origin,
    link,
    page,
    complaints,
    requests,
    /** How far the page is wider than the phone. */
    overhang: async () =>
      Number(await page.evaluate('document.documentElement.scrollWidth')) - PHONE.width,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

test('an invited person accepts on a phone, with the mail alone, and is led to the application', async () => {
  await using scene = await setupPhone()
  const { server, alice, page, link, origin } = scene
  const bob = await server.as(BOB)
  expect(objectsOf(await bob.get('/my/plain'))).toEqual([])
  await page.goto(link)
  await page.getByText(`${ALICE} invites you to`).waitFor()
  await page.getByRole('heading', { name: 'سلام' }).waitFor()
  expect(await page.title()).toBe('You are invited')
  expect(await scene.overhang()).toBeLessThanOrEqual(0)
  // Buttons that a thumb hits.
  for (const name of ['Accept', 'Decline']) {
    const box = await page.getByRole('button', { name }).boundingBox()
    expect(box?.height).toBeGreaterThanOrEqual(44)
    expect(box?.width).toBeGreaterThan(200)
  }
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.getByRole('heading', { name: 'You have joined' }).waitFor()
  expect(page.url()).toBe(link)
  expect(objectsOf(await bob.get('/my/plain'))).toMatchObject([{ id: 'bread' }])
  // The owner of the realm is a member as well.
  expect(objectsOf(await alice.get('/my/members'))).toMatchObject([
    { userId: ALICE, accepted: { $t: 'Date' } },
    { userId: BOB, accepted: { $t: 'Date' } },
  ])
  // Loading it again asks nothing and sends nothing again.
  await page.reload()
  await page.getByRole('heading', { name: 'You have joined' }).waitFor()
  expect(await scene.overhang()).toBeLessThanOrEqual(0)
  await page.getByRole('link', { name: 'Open localhost' }).click()
  await page.getByText('the application').waitFor()
  expect(page.url()).toBe(`${origin}/`)
  expect(await page.evaluate('document.referrer')).toBe('')
  expect(scene.complaints).toEqual([])
  const hosts = new Set(scene.requests.map((url) => new URL(url).origin))
  expect([...hosts]).toEqual([server.url, origin])
})

test('an invited person declines, comes back and accepts after all', async () => {
  await using scene = await setupPhone()
  const { server, page, link } = scene
  await page.goto(link)
  await page.getByRole('button', { name: 'Decline' }).click()
  await page.getByRole('heading', { name: 'You have declined' }).waitFor()
  const bob = await server.as(BOB)
  // The invitation can still be answered; the objects of the realm cannot be read.
  expect(objectsOf(await bob.get('/my/realms'))).toHaveLength(1)
  expect(objectsOf(await bob.get('/my/plain'))).toEqual([])
  await page.goto(link)
  await page.getByRole('button', { name: 'Accept after all' }).click()
  await page.getByRole('heading', { name: 'You have joined' }).waitFor()
  expect(objectsOf(await bob.get('/my/plain'))).toMatchObject([{ id: 'bread' }])
})

test.each(['light', 'dark'] as const)(
  'the pages can be read in %s colours',
  async (colorScheme) => {
    await using scene = await setupPhone()
    const { page, link, server } = scene
    await page.emulateMedia({ colorScheme })
    await page.goto(link)
    expect(await lowestContrast(page)).toBeGreaterThanOrEqual(4.5)
    await page.getByRole('button', { name: 'Decline' }).click()
    await page.getByRole('heading', { name: 'You have declined' }).waitFor()
    expect(await lowestContrast(page)).toBeGreaterThanOrEqual(4.5)
    await page.getByRole('button', { name: 'Accept after all' }).click()
    await page.getByRole('heading', { name: 'You have joined' }).waitFor()
    expect(await lowestContrast(page)).toBeGreaterThanOrEqual(4.5)
    await page.goto(`${server.main}/invitation?token=${'A'.repeat(43)}`)
    await page.getByRole('heading', { name: 'This invitation no longer exists' }).waitFor()
    expect(await lowestContrast(page)).toBeGreaterThanOrEqual(4.5)
    expect(await scene.overhang()).toBeLessThanOrEqual(0)
  },
)

/** The lowest contrast between a text and what is behind it (WCAG 2.2 §1.4.3). */
async function lowestContrast(page: { evaluate(script: string): Promise<unknown> }) {
  return Number(
    await page.evaluate(`(() => {
      const channels = (color) => color.match(/[\\d.]+/g).map(Number)
      const luminance = (color) => channels(color).slice(0, 3)
        .map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0)
      const behind = (element) => {
        const { backgroundColor } = getComputedStyle(element)
        return (channels(backgroundColor)[3] ?? 1) === 0 ? behind(element.parentElement) : backgroundColor
      }
      const texts = [...document.querySelectorAll('main *')].filter((element) =>
        [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ''))
      return Math.min(...texts.map((element) => {
        const [one, other] = [getComputedStyle(element).color, behind(element)].map(luminance)
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
      }))
    })()`),
  )
}
