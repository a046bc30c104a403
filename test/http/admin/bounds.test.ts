import { describe, expect, test } from 'bun:test'
import type { LiveSession } from '../../../src/auth/admin/sessions'
import { createTurns } from '../../../src/http/admin/runs'
import { codeOf } from '../../auth/setup'
import { MINUTE } from '../../../src/domain/value/time'
import { startSmtp } from '../../mail/smtp-server'
import { PLAIN_IMPORT } from '../../setup'
import { until } from '../../timing'
import { type AdminServer, type Browser, eventsOf, refusal, setupAdmin } from './setup'

/** How much callers of operations may have under way at a time, so that nobody else waits for them. */

const MOST_AT_ONCE = 8
const MEGABYTE = 1_000_000
const OBJECT = { database: 'main', table: 'items', key: 'large' }

/** An import whose file does not end before `end` is called. */
function beginImport(browser: Browser) {
  const leaving = new AbortController()
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const input = encodeURIComponent(JSON.stringify(PLAIN_IMPORT))
  const sending = { body: readable, signal: leaving.signal }
  const answer = browser.send('POST', `/upload/import?input=${input}`, sending)
  const over = answer.then(eventsOf).catch(() => undefined)
  const writer = writable.getWriter()
  void writer.write(Buffer.from('{')).catch(() => undefined)
  return {
    /** Resolves when it has its turn. */
    begun: answer.then(({ status }) => expect(status).toBe(200)),
    async end() {
      await writer.write(Buffer.from('}'))
      await writer.close()
      await over
    },
    async leave() {
      leaving.abort()
      await over
    },
  }
}

/** As many imports of one login as run at once. */
async function beginImports(browser: Browser) {
  const imports = Array.from({ length: MOST_AT_ONCE }, () => beginImport(browser))
  for (const { begun } of imports) await begun
  return imports
}

/** Others are answered, while requests that were sent before come and wait. */
async function askMeanwhile(server: AdminServer) {
  const other = await server.logIn()
  expect(await other.result('db.list')).toHaveLength(1)
}

async function setupLarge() {
  const server = await setupAdmin()
  const upload = new Blob([JSON.stringify({ items: 'id' })]).stream()
  await server.commands.run('schema.push', { database: 'main', wait: true }, { upload })
  return server
}

const LARGE = {
  id: 'large',
  realmId: 'rlm-public',
  texts: Array.from({ length: 15 }, () => 'x'.repeat(MEGABYTE)),
}

describe('the operations of one login', () => {
  test('run eight at a time, and others do not wait for them', async () => {
    await using server = await setupAdmin()
    const [browser, other] = [await server.logIn(), await server.logIn()]
    const imports = await beginImports(browser)
    const answer = browser.run('db.list')
    expect(await other.result('db.list')).toHaveLength(1)
    expect(Bun.peek.status(answer)).toBe('pending')
    const [first, second, ...more] = imports
    await first?.end()
    expect(await answer).toMatchObject([{ result: [{ name: 'main' }] }])
    await second?.leave()
    expect(await browser.result('db.list')).toHaveLength(1)
    for (const each of more) await each.leave()
    expect(await browser.result('db.list')).toHaveLength(1)
  })

  test('wait in their order, also those of several logins of a client', async () => {
    const turns = createTurns()
    const { signal } = new AbortController()
    const client = { id: 'c', email: 'c@example.com' }
    const of = (id: string) => ({ id, client, database: 'main' }) as LiveSession
    const inside = await Promise.all(
      Array.from({ length: MOST_AT_ONCE }, (_, n) => turns.enter(of(`login ${n % 2}`), signal)),
    )
    const entered: string[] = []
    const leaving = new AbortController()
    const gone = codeOf(() => turns.enter(of('login 0'), leaving.signal))
    const later = ['one', 'two'].map(async (name) => {
      const leave = await turns.enter(of('login 1'), signal)
      entered.push(name)
      return leave
    })
    const elsewhere = await turns.enter({ ...of('login 2'), database: 'other' }, signal)
    elsewhere()
    leaving.abort()
    expect(entered).toEqual([])
    inside[0]?.()
    expect(await gone).toBe('BUSY')
    const leaveOne = await later[0]
    expect(entered).toEqual(['one'])
    leaveOne?.()
    await later[1]
    expect(entered).toEqual(['one', 'two'])
  })
})

describe('an operation that waited for its turn', () => {
  async function setupFull() {
    const server = await setupAdmin()
    const browser = await server.logIn()
    const ticketFor = async (body: object) => {
      const answer = await browser.send('POST', '/ticket', { body: { name: 'x', ...body } })
      return ((await answer.json()) as { ticket: string }).ticket
    }
    const [file, mail] = [
      await ticketFor({ operation: 'db.list', input: {} }),
      await ticketFor({ operation: 'template.preview', input: PREVIEW }),
    ]
    const imports = await beginImports(browser)
    const get = (path: string) =>
      browser.send('GET', path, { headers: { 'satchel-admin-key': undefined } })
    return {
      browser,
      server,
      imports,
      file: () => get(`/file/${file}`),
      mail: () => get(`/mail/${mail}`),
      async [Symbol.asyncDispose]() {
        for (const each of imports) await each.leave()
        await server[Symbol.asyncDispose]()
      },
    }
  }

  const PREVIEW = { database: 'main', name: 'otp-body-html', content: null }
  const ORIGIN = { database: 'main', origin: 'https://example.com', force: false }
  const ENDED = [401, 'SESSION_ENDED'] as const

  test('does not run when its login was revoked meanwhile', async () => {
    await using scene = await setupFull()
    const { browser, server } = scene
    const waiting = [
      browser.send('POST', '/api/origin.add', { body: ORIGIN }),
      browser.send('POST', `/upload/schema.push?input=${encodeURIComponent('{}')}`, { body: '{}' }),
      scene.file(),
      scene.mail(),
    ]
    await askMeanwhile(server)
    await server.commands.run('session.revoke', {})
    const answers = await Promise.all(waiting.map(async (answer) => await refusal(await answer)))
    expect(answers).toEqual([ENDED, ENDED, ENDED, ENDED])
    expect(await server.commands.run('origin.list', { database: 'main' })).toEqual([])
  })

  test('shows no secret when its login is no longer fresh', async () => {
    await using scene = await setupFull()
    const { browser, server } = scene
    const body = { database: 'main', scopes: ['ACCESS_DB'] }
    const waiting = browser.send('POST', '/api/client.create', { body })
    await askMeanwhile(server)
    server.clock.advance(10 * MINUTE)
    await scene.imports[0]?.end()
    expect(await refusal(await waiting)).toEqual([403, 'CONFIRMATION_NEEDED'])
    expect(await server.commands.run('client.list', { database: 'main' })).toHaveLength(1)
  })

  test('is also a preview for a frame', async () => {
    await using scene = await setupFull()
    const answer = scene.mail()
    await askMeanwhile(scene.server)
    expect(Bun.peek.status(answer)).toBe('pending')
    await scene.imports[0]?.end()
    expect((await answer).status).toBe(200)
  })
})

describe('an operation whose reader has left', () => {
  test('keeps its turn until it is over', async () => {
    const held: (() => void)[] = []
    await using smtp = await startSmtp({ onConnect: (_session, greet) => void held.push(greet) })
    await using server = await setupAdmin()
    const upload = new Blob([`smtp://127.0.0.1:${smtp.port}`]).stream()
    const sender = 'app@example.com'
    await server.commands.run('mail.set', { database: 'main', sender }, { upload })
    const browser = await server.logIn()
    const body = { database: 'main', to: 'alice@example.com', kind: 'otp' }
    for (let count = 1; count <= MOST_AT_ONCE; count += 1) {
      const leaving = new AbortController()
      const sending = { body, signal: leaving.signal }
      const answer = browser.send('POST', '/api/mail.test', sending).catch(() => undefined)
      await until(() => held.length === count)
      leaving.abort()
      await answer
    }
    const answer = browser.run('db.list')
    const other = await server.logIn()
    for (let count = 0; count < 20; count += 1) {
      const leaving = new AbortController()
      const sending = { body, signal: leaving.signal }
      const left = browser.send('POST', '/api/mail.test', sending).catch(() => undefined)
      await other.result('db.list')
      leaving.abort()
      await left
    }
    expect(held).toHaveLength(MOST_AT_ONCE)
    expect(Bun.peek.status(answer)).toBe('pending')
    for (const greet of held) greet()
    expect(await answer).toMatchObject([{ result: [{ name: 'main' }] }])
  })
})

test.each([
  ['backup', {}],
  ['backup.read', { backup: 'x', database: 'main' }],
  ['blob.read', { database: 'main', blob: 'x' }],
  ['export', { database: 'main', format: 'zip' }],
])('%s, which sends a file, needs a ticket', async (operation, input) => {
  await using server = await setupAdmin()
  const browser = await server.logIn()
  const answer = await browser.send('POST', `/api/${operation}`, { body: input })
  expect(await refusal(answer)).toEqual([400, 'INVALID_REQUEST'])
})

describe('an object of 15 MB', () => {
  test('is written and shown, and refused while too many wait for their readers', async () => {
    await using server = await setupLarge()
    const browser = await server.logIn()
    const written = await browser.result('object.put', { ...OBJECT, value: LARGE })
    expect(written).toMatchObject({ value: { texts: LARGE.texts } })
    const show = () => browser.send('POST', '/api/object.show', { body: OBJECT })
    // Each as soon as it is there: readers who take nothing for long are cut.
    const events = await Promise.all(
      Array.from({ length: MOST_AT_ONCE }, async () => await eventsOf(await show())),
    )
    const last = events.map((each) => each.at(-1) ?? {})
    const whole = last.filter(({ result }) => result !== undefined)
    expect(whole.length).toBeGreaterThan(0)
    for (const { result } of whole) expect(result).toMatchObject({ value: LARGE })
    const busy = { status: 503, code: 'BUSY' }
    const others = last.filter(({ result }) => result === undefined)
    expect(others).toMatchObject(others.map(() => ({ error: busy })))
    // All memory is free again.
    expect(await browser.result('object.show', OBJECT)).toMatchObject({ key: 'large' })
  })

  test('with very many properties is refused before it is parsed', async () => {
    await using server = await setupLarge()
    const browser = await server.logIn()
    const value = Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`p${n}`, n]))
    const answer = await browser.send('POST', '/api/object.put', { body: { ...OBJECT, value } })
    expect(await refusal(answer)).toEqual([422, 'UNPROCESSABLE'])
  })
})

test('test data of a mail is refused before it is parsed', async () => {
  await using server = await setupAdmin()
  const browser = await server.logIn()
  const parts = { subjectStr: 'a', bodyTxtStr: 'b', bodyHtmlStr: 'c' }
  const body = { database: 'main', ...parts, vars: { text: 'x'.repeat(3 * MEGABYTE) } }
  const answer = await browser.send('POST', '/api/template.test', { body })
  expect(await refusal(answer)).toEqual([413, 'PAYLOAD_TOO_LARGE'])
})

test('a download that has not begun holds little memory', async () => {
  await using server = await setupAdmin()
  const browser = await server.logIn()
  const input = { ...OBJECT, key: 'x'.repeat(256 * 1024) }
  const body = { operation: 'object.show', input, name: 'x' }
  expect(await refusal(await browser.send('POST', '/ticket', { body }))).toEqual([
    413,
    'PAYLOAD_TOO_LARGE',
  ])
})
