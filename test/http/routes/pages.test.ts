import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setupServer, type TestServer } from '../../setup'
import { until } from '../../timing'

const DOCS = join(import.meta.dir, '..', '..', '..', 'docs')
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

/** The status and the text of a page. */
async function open(url: string, headers: Record<string, string> = {}) {
  const answer = await fetch(url, { headers: { ...BROWSER, ...headers } })
  const html = await answer.text()
  return { status: answer.status, type: answer.headers.get('content-type'), html, answer }
}

/** Mails are printed soon after the answer. */
async function requestCode({ main, lines }: TestServer, email: string): Promise<void> {
  const body = JSON.stringify({ grant_type: 'otp', email, scopes: ['ACCESS_DB'] })
  const headers = { 'content-type': 'application/json' }
  const { status } = await fetch(`${main}/token`, { method: 'POST', headers, body })
  if (status === 200) await until(() => lines.some((line) => line.includes(`"to":"${email}"`)))
}

describe('the page at the address of the server', () => {
  test('has the addresses of the databases, an application to copy and the last codes', async () => {
    await using server = await setupServer()
    await requestCode(server, 'alice@example.com')
    const { status, type, html, answer } = await open(`${server.url}/`)
    expect({ status, type }).toEqual({ status: 200, type: 'text/html;charset=utf-8' })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(html).toContain(`<code class="whole">${server.main}</code>`)
    expect(html).toContain(`databaseUrl: &#39;${server.main}&#39;`)
    expect(html).toMatch(
      /To alice@example\.com at [\d:]{8} UTC<\/p><p><code[^>]*>[A-Z0-9]{8}<\/code>/,
    )
  })

  test('has the way to the page for administrators, where there is one', async () => {
    for (const [flags, isThere] of [
      [{}, true],
      [{ noAdmin: true }, false],
      [{ publicUrl: 'https://db.example.com' }, false],
    ] as const) {
      await using server = await setupServer(flags)
      const { html } = await open(`${server.url}/`)
      expect(html.includes('<code>satchel admin --open</code>')).toBe(isThere)
      expect(html.includes('<a href="/docs/admin">')).toBe(isThere)
    }
  })

  test('is JSON for programs', async () => {
    await using server = await setupServer()
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      const answer = await fetch(`${server.url}/`, { headers })
      expect(await answer.json()).toMatchObject({ name: 'satchel', documentation: '/openapi' })
    }
    const answer = await fetch(server.main)
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ code: 'UNKNOWN_ROUTE' })
    const token = await fetch(`${server.url}/token`)
    expect(token.status).toBe(405)
    expect(token.headers.get('allow')).toBe('POST, OPTIONS')
    expect(await token.json()).toMatchObject({ code: 'METHOD_NOT_ALLOWED' })
  })

  test('shows one database at the address of that database', async () => {
    await using server = await setupServer()
    await requestCode(server, 'alice@example.com')
    const { status, html } = await open(server.main)
    expect(status).toBe(200)
    expect(html).toContain(`<code class="whole">${server.main}</code>`)
    const other = await open(`${server.url}/other`)
    expect(other.status).toBe(404)
    expect(other.html).toContain('There is nothing here')
    expect(other.html).toContain('<a href="/docs">Guides</a>')
    expect(other.html).not.toContain('alice@example.com')
  })

  test.each<[string, Record<string, unknown>, Record<string, string>]>([
    ['for another host name, which a page elsewhere could have', {}, { host: 'evil.example' }],
    ['behind a proxy', {}, { 'x-forwarded-for': '192.0.2.1' }],
    ['with a public address', { publicUrl: 'https://db.example.com' }, {}],
  ])('tells nothing about databases and mails %s', async (_, settings, headers) => {
    await using server = await setupServer(settings)
    await requestCode(server, 'alice@example.com')
    const { status, html } = await open(`${server.url}/`, headers)
    expect(status).toBe(200)
    expect(html).toContain('open the address of the application instead')
    expect(html).not.toMatch(/main<|alice|databaseUrl/)
    const database = await open(server.main, headers)
    const nothing = await open(`${server.url}/nothing`, headers)
    expect(database.status).toBe(404)
    expect(database.html).toBe(nothing.html)
  })

  test('writes no line into the log when its script asks again, where there is one', async () => {
    await using server = await setupServer()
    const asked = { 'sec-fetch-dest': 'empty' }
    const read = () => server.lines.filter((line) => line.includes('"path":"/"')).length
    await open(`${server.url}/`, asked)
    await open(`${server.url}/`, { 'sec-fetch-dest': 'document' })
    await until(() => read() > 0)
    expect(read()).toBe(1)
    await open(`${server.url}/`, { ...asked, host: 'evil.example' })
    await until(() => read() > 1)
    expect(read()).toBe(2)
  })

  test('shows no more than ten mails', async () => {
    await using server = await setupServer()
    for (let person = 0; person < 12; person++) await requestCode(server, `p${person}@example.com`)
    const { html } = await open(`${server.url}/`)
    const shown = [...html.matchAll(/To (p\d+)@example\.com/g)].map(([, name]) => name)
    expect(shown).toEqual(['p11', 'p10', 'p9', 'p8', 'p7', 'p6', 'p5', 'p4', 'p3', 'p2'])
  })
})

describe('the guides at /docs', () => {
  test('are all of them, and link to each other', async () => {
    await using server = await setupServer()
    const pages = new Map<string, string>()
    const guides = readdirSync(DOCS).filter((file) => file.endsWith('.md'))
    for (const name of ['', ...guides.map((file) => `/${file.replace('.md', '')}`)]) {
      const { status, html } = await open(`${server.url}/docs${name}`)
      expect({ name, status }).toEqual({ name, status: 200 })
      expect(html).toContain('<h1')
      pages.set(`/docs${name}`, html)
    }
    for (const html of pages.values()) {
      for (const [, address = '', section] of html.matchAll(
        /href="(\/docs[^"#]*|)(?:#([^"]+))?"/g,
      )) {
        const target = address === '' ? html : pages.get(address)
        expect({ address, exists: target !== undefined }).toEqual({ address, exists: true })
        if (section !== undefined) expect(target).toContain(`id="${section}"`)
      }
      expect(html).not.toMatch(/href="[^"]*\.md/)
    }
  })

  test('answer 404 for another name, as a page or as JSON', async () => {
    await using server = await setupServer()
    const { status, html } = await open(`${server.url}/docs/constructor`)
    expect(status).toBe(404)
    expect(html).toContain('There is no such guide: see /docs')
    const answer = await fetch(`${server.url}/docs/constructor`)
    expect(await answer.json()).toMatchObject({ code: 'UNKNOWN_ROUTE' })
  })
})
