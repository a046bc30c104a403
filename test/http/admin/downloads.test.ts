import { describe, expect, test } from 'bun:test'
import { MINUTE } from '../../../src/domain/value/time'
import { PLAIN_IMPORT } from '../../setup'
import { type Browser, eventsOf, refusal, setupAdmin } from './setup'

const EXPORT = {
  operation: 'export',
  input: { database: 'main', format: 'json', table: null, realm: null },
  name: 'main "x"\r\n.json',
}

async function ticketFor(browser: Browser, body: object = EXPORT): Promise<string> {
  const answer = await browser.send('POST', '/ticket', { body })
  if (!answer.ok) throw new Error(`No ticket: ${answer.status} ${await answer.text()}`)
  return ((await answer.json()) as { ticket: string }).ticket
}

/** A download by the browser itself, which sends the cookie and no key. */
function download(browser: Browser, ticket: string, cookie = browser.cookie): Promise<Response> {
  return browser.send('GET', `/file/${ticket}`, {
    headers: { cookie, 'satchel-admin-key': undefined },
  })
}

describe('a download', () => {
  test('needs a ticket and the cookie, and is a file that no browser runs', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const answer = await download(browser, await ticketFor(browser))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="main__x___.json"')
    expect(answer.headers.get('content-security-policy')).toContain('sandbox')
    expect(answer.headers.get('content-type')).toBe('application/octet-stream')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toMatchObject({})
  })

  test('begins once', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const ticket = await ticketFor(browser)
    expect((await download(browser, ticket)).status).toBe(200)
    expect(await refusal(await download(browser, ticket))).toEqual([404, 'UNKNOWN_ROUTE'])
  })

  test('begins within a minute', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const ticket = await ticketFor(browser)
    server.clock.advance(MINUTE)
    expect(await refusal(await download(browser, ticket))).toEqual([404, 'UNKNOWN_ROUTE'])
  })

  test('is not for another login, for none, or for one that has ended', async () => {
    await using server = await setupAdmin()
    const [browser, other] = [await server.logIn(), await server.logIn()]
    const [one, two, three] = [
      await ticketFor(browser),
      await ticketFor(browser),
      await ticketFor(browser),
    ]
    expect(await refusal(await download(other, one))).toEqual([401, 'SESSION_ENDED'])
    expect(await refusal(await download(browser, two, ''))).toEqual([401, 'SESSION_ENDED'])
    await server.commands.run('session.revoke', {})
    expect(await refusal(await download(browser, three))).toEqual([401, 'SESSION_ENDED'])
  })

  test('is not pushed out by those that another login asks for', async () => {
    await using server = await setupAdmin()
    const [browser, other] = [await server.logIn(), await server.logIn({ only: 'main' })]
    const first = await ticketFor(browser)
    const tickets: string[] = []
    for (let count = 0; count < 120; count += 1) tickets.push(await ticketFor(other))
    expect((await download(browser, first)).status).toBe(200)
    const [oldest = '', newest = ''] = [tickets[0], tickets.at(-1)]
    expect(await refusal(await download(other, oldest))).toEqual([404, 'UNKNOWN_ROUTE'])
    expect((await download(other, newest)).status).toBe(200)
  })

  test('has the rights of its login when it begins', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn({ only: 'main' })
    const body = { ...EXPORT, input: { ...EXPORT.input, database: 'other' } }
    expect(await refusal(await browser.send('POST', '/ticket', { body }))).toEqual([
      403,
      'NOT_AUTHORIZED',
    ])
    const none = { operation: 'none', input: {} }
    expect(await refusal(await browser.send('POST', '/ticket', { body: none }))).toEqual([
      404,
      'UNKNOWN_ROUTE',
    ])
  })

  test('says what went wrong before its first byte', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const input = { ...EXPORT.input, database: 'none' }
    const ticket = await ticketFor(browser, { ...EXPORT, input })
    expect(await refusal(await download(browser, ticket))).toEqual([404, 'UNKNOWN_DATABASE'])
  })

  test('is the output where an operation sends no file', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const ticket = await ticketFor(browser, { operation: 'db.list', input: {} })
    const answer = await download(browser, ticket)
    expect(answer.headers.get('content-disposition')).toContain('attachment')
    expect(await answer.json()).toEqual([{ name: 'main', url: server.main }])
  })

  test('has a ticket that is in no log', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const ticket = await ticketFor(browser)
    await (await download(browser, ticket)).text()
    await download(browser, ticket)
    await fetch(`${server.url}/admin/file/${ticket}`, { headers: { origin: 'http://x' } })
    await fetch(`${server.url}/admin/mail/${ticket}`, { method: 'POST' })
    expect(server.lines.join('\n')).toContain('/admin/file/')
    expect(server.lines.join('\n')).not.toContain(ticket)
  })
})

describe('a mail for a frame', () => {
  const open = async (browser: Browser, body: object) =>
    await browser.send('GET', `/mail/${await ticketFor(browser, { name: 'mail', ...body })}`, {
      headers: { 'satchel-admin-key': undefined },
    })

  test('is the HTML of a template, without scripts and without an origin', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const content = '<script>alert(1)</script>{{otp}}'
    const input = { database: 'main', name: 'otp-body-html', content }
    const answer = await open(browser, { operation: 'template.preview', input })
    expect(answer.status).toBe(200)
    const policy = answer.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain('; sandbox; ')
    expect(await answer.text()).toBe('<script>alert(1)</script>ABCD1234')
  })

  test('is nothing else', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const answer = await open(browser, { operation: 'db.list', input: {} })
    expect(await refusal(answer)).toEqual([404, 'UNKNOWN_ROUTE'])
  })
})

describe('an upload', () => {
  const input = { database: 'main', table: null, realm: null, atomic: false, dryRun: false }
  const path = (given: object) =>
    `/upload/import?input=${encodeURIComponent(JSON.stringify({ ...given, size: null, name: 'x.json' }))}`

  test('is the file of an operation', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    const body = JSON.stringify({ data: { 'rlm-public': { items: { one: { id: 'one' } } } } })
    const events = await eventsOf(await browser.send('POST', path(input), { body }))
    expect(events.at(-1)).toMatchObject({ result: expect.objectContaining({}) })
  })

  test('is refused before it is read', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn({ isReadOnly: true })
    const body = new ReadableStream<Uint8Array>({
      start: (sender) => sender.enqueue(Buffer.from('{')),
    })
    const leaving = new AbortController()
    const answer = await browser.send('POST', path(input), { body, signal: leaving.signal })
    expect(await refusal(answer)).toEqual([403, 'NOT_AUTHORIZED'])
    leaving.abort()
  })
})

describe('a download of many bytes', () => {
  const ROWS = 4_000

  /** A database with about 8 MB of objects. */
  async function setup() {
    const server = await setupAdmin()
    const objects = Object.fromEntries(
      Array.from({ length: ROWS }, (_, at) => [
        `k${at}`,
        { id: `k${at}`, text: 'x'.repeat(2_000) },
      ]),
    )
    const upload = new Blob([
      JSON.stringify({ data: { 'rlm-public': { items: objects } } }),
    ]).stream()
    await server.commands.run('import', PLAIN_IMPORT, { upload })
    return server
  }

  test('comes whole', async () => {
    await using server = await setup()
    const browser = await server.logIn()
    const answer = await download(browser, await ticketFor(browser))
    const { data } = (await answer.json()) as { data: Record<string, { items: object }> }
    expect(Object.keys(data['rlm-public']!.items)).toHaveLength(ROWS)
  })

  test('breaks off when its login ends, and is not taken for the whole', async () => {
    await using server = await setup()
    const browser = await server.logIn()
    const answer = await download(browser, await ticketFor(browser))
    const reader = answer.body!.getReader()
    await reader.read()
    await server.commands.run('session.revoke', {})
    const rest = async () => {
      while (!(await reader.read()).done);
    }
    const outcome = await rest().then(
      () => 'whole',
      () => 'broken off',
    )
    expect(outcome).toBe('broken off')
    expect(server.lines.join('\n')).not.toContain('Uncaught')
  })
})
