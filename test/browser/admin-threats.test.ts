import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import type { BrowserContext, Page } from 'playwright-core'
import { systemClock } from '../../src/clock'
import { openSession } from '../../src/control/session'
import { fakeDesktop } from '../cli/desktop'
import { runSatchel } from '../cli/setup'
import { setupServerAt } from '../setup'
import { until } from '../timing'
import { type Device, useChromium } from './chromium'

/** A foreign name that leads to this machine, as a rebound DNS entry does. */
const REBOUND = 'rebound.example'

// Chromium would ask its user before it lets a foreign page in: here the server alone is to refuse it.
const browser = useChromium(
  `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`,
  '--disable-features=LocalNetworkAccessChecks',
)

/** A server with a link to its page. */
async function setup() {
  const server = await setupServerAt(systemClock)
  const commands = await openSession(server.folder, () => undefined)
  const { url } = await commands.run('session.link', {})
  return { ...server, commands, link: url, code: url.split('#')[1]! }
}

/** Opens the page by its link and waits until it is logged in. */
async function logIn(page: Page, { link }: { readonly link: string }): Promise<void> {
  const answered = page.waitForResponse((answer) => answer.url().endsWith('/admin/operations'))
  await page.goto(link)
  const answer = await answered
  if (!answer.ok()) throw new Error(`The page is not logged in: ${answer.status()}`)
}

/** A page of another program on this machine, which counts what browsers send it. */
function otherProgram(html = '<!doctype html><title>other</title>') {
  const cookies: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      cookies.push(request.headers.get('cookie') ?? '')
      return new Response(html, { headers: { 'content-type': 'text/html' } })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    cookies,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

/** The outcome of a request that a page makes with all that its browser adds. */
function attempt(page: Page, url: string, init: object): Promise<string> {
  return page.evaluate(
    async ([to, options]) => {
      try {
        const answer = await fetch(to, options)
        return `${answer.type} ${answer.status} ${await answer.text()}`
      } catch {
        return 'failed'
      }
    },
    [url, init] as const,
  )
}

async function loginsOf({
  commands,
}: {
  readonly commands: Awaited<ReturnType<typeof openSession>>
}) {
  return await commands.run('session.list', {})
}

describe('a page on another port of this machine', () => {
  test('reads and changes nothing with the cookie that its browser has', async () => {
    await using server = await setup()
    await using other = otherProgram()
    await using device = await browser.openDevice()
    await logIn(device.page, server)
    const page = await device.context.newPage()
    await page.goto(other.url)
    // The browser does send it: ports share cookies, and are one site.
    expect((await device.context.cookies(`${other.url}/admin`)).length).toBe(1)
    const calls: readonly (readonly [string, object])[] = [
      ['/admin/session', { credentials: 'include' }],
      ['/admin/operations', { credentials: 'include' }],
      ['/admin/operations', { credentials: 'include', mode: 'no-cors' }],
      ['/admin/session', { credentials: 'include', method: 'DELETE' }],
      ['/admin/api/db.list', { credentials: 'include', method: 'POST', body: '{}' }],
      [
        '/admin/api/db.create',
        { credentials: 'include', method: 'POST', mode: 'no-cors', body: '{"name":"evil"}' },
      ],
      [
        '/admin/api/db.list',
        {
          credentials: 'include',
          method: 'POST',
          headers: { 'satchel-admin-key': 'x', 'content-type': 'application/json' },
          body: '{}',
        },
      ],
    ]
    for (const [path, init] of calls) {
      const outcome = await attempt(page, server.url + path, init)
      expect([path, ['failed', 'opaque 0 '].includes(outcome)]).toEqual([path, true])
    }
    expect(await server.commands.run('db.list', {})).toHaveLength(1)
    expect(await loginsOf(server)).toHaveLength(1)
  })

  test('has a form that changes nothing', async () => {
    await using server = await setup()
    const form = `<form method="post" enctype="text/plain" action="${server.url}/admin/api/db.create">
      <input name='{"name":"evil","x":"' value='"}'><button>send</button></form>`
    await using other = otherProgram(form)
    await using device = await browser.openDevice()
    await logIn(device.page, server)
    const page = await device.context.newPage()
    await page.goto(other.url)
    const answered = page.waitForResponse((answer) => answer.url().includes('/admin/'))
    await page.getByRole('button').click()
    expect((await answered).status()).toBe(403)
    expect(await server.commands.run('db.list', {})).toHaveLength(1)
  })

  test('shows the page in no frame, and has no hold on its window', async () => {
    await using server = await setup()
    await using other = otherProgram(`<iframe src="${server.url}/admin"></iframe>`)
    await using device = await browser.openDevice()
    const { page } = device
    await page.goto(other.url)
    const frame = page.frames().find((each) => each !== page.mainFrame())
    expect(await frame?.evaluate('document.body.textContent')).not.toContain('Satchel')
    await page.evaluate(`window.found = window.open('${server.url}/admin')`)
    await until(() => page.evaluate('window.found === null || window.found.closed'))
  })

  test('sees the cookie, which is useless without the key of a tab', async () => {
    await using server = await setup()
    await using other = otherProgram()
    await using device = await browser.openDevice()
    await logIn(device.page, server)
    const page = await device.context.newPage()
    await page.goto(`${other.url}/admin`)
    const [stolen = ''] = other.cookies.filter((cookie) => cookie.includes('satchel-admin'))
    expect(stolen).not.toBe('')
    const answer = await fetch(`${server.url}/admin/operations`, { headers: { cookie: stolen } })
    expect(answer.status).toBe(401)
  })
})

describe('a page of a foreign name that leads to this server', () => {
  const PATHS: readonly (readonly [string, object])[] = [
    ['/admin', {}],
    ['/admin/session', { credentials: 'include' }],
    ['/admin/operations', { credentials: 'include' }],
    ['/admin/assets/x', {}],
    ['/admin/file/x', { credentials: 'include' }],
    ['/admin/otp', { method: 'POST', body: '{"email":"a@example.com","database":"main"}' }],
    ['/admin/api/db.list', { method: 'POST', body: '{}', credentials: 'include' }],
  ]

  /** A browser that is logged in, and then on the page that the name led to before. */
  async function setupRebound(device: Device, server: Awaited<ReturnType<typeof setup>>) {
    await logIn(device.page, server)
    const origin = `http://${REBOUND}:${new URL(server.url).port}`
    const page = await device.context.newPage()
    const html = '<!doctype html><title>other</title>'
    await page.route(`${origin}/`, (route) =>
      route.fulfill({ contentType: 'text/html', body: html }),
    )
    await page.goto(`${origin}/`)
    return { page, origin }
  }

  test('gets 421 and reads nothing', async () => {
    await using server = await setup()
    await using device = await browser.openDevice()
    const { page, origin } = await setupRebound(device, server)
    for (const [path, init] of PATHS) {
      const outcome = await attempt(page, origin + path, init)
      expect([path, outcome]).toEqual([path, expect.stringMatching(/^basic 421 .*"MISDIRECTED"/)])
    }
    const answer = await page.goto(`${origin}/admin`)
    expect(answer?.status()).toBe(421)
  })

  test('does not log in by the code of a link', async () => {
    await using server = await setup()
    await using device = await browser.openDevice()
    const { page, origin } = await setupRebound(device, server)
    const { url } = await server.commands.run('session.link', {})
    const body = JSON.stringify({ code: url.split('#')[1] })
    const outcome = await attempt(page, `${origin}/admin/session`, { method: 'POST', body })
    expect(outcome).toStartWith('basic 421 ')
    expect(await loginsOf(server)).toHaveLength(1)
  })
})

test('satchel admin --open leads the browser to the page, which is logged in', async () => {
  await using server = await setup()
  await using device = await browser.openDevice()
  using desktop = fakeDesktop()
  const running = runSatchel(['admin', '--open', '--data', server.folder])
  const [path] = await desktop.opened()
  const answered = device.page.waitForResponse(
    (answer) => answer.url().endsWith('/admin/operations') && answer.ok(),
  )
  await device.page.goto(`file://${path}`)
  await answered
  expect(await running).toMatchObject({ exitCode: 0 })
  expect(device.page.url()).toStartWith(`${server.url}/admin#/`)
  await device.page.getByRole('heading', { name: 'Live' }).waitFor()
  expect(existsSync(path)).toBe(false)
})

describe('the code of a link', () => {
  test('is in no log, no history, no storage and no Referer', async () => {
    await using server = await setup()
    await using device = await browser.openDevice()
    const { page, context } = device
    const sent: string[] = []
    page.on('request', (request) => {
      sent.push(request.url(), request.headers()['referer'] ?? '')
    })
    await logIn(page, server)
    expect(page.url()).not.toContain(server.code)
    expect(sent.join('\n')).not.toContain(server.code)
    expect(await storedIn(context, page)).not.toContain(server.code)
    expect(server.lines.join('\n')).not.toContain(server.code)
    await page.goBack()
    expect(page.url()).not.toContain(server.code)
  })
})

async function storedIn(context: BrowserContext, page: Page): Promise<string> {
  const inTab = await page.evaluate(
    'JSON.stringify([Object.entries(sessionStorage), Object.entries(localStorage)])',
  )
  return String(inTab) + JSON.stringify(await context.storageState())
}
