import { openSession, type Session } from '../../../src/control/session'
import { type InputOf } from '../../../src/control/operations'
import { KEY_HEADER } from '../../../src/http/admin/halves'
import { setupServer, type TestServer } from '../../setup'

/** A server with its commands, and the page for administrators. */
export interface AdminServer extends TestServer {
  readonly commands: Session
  /** A browser that has logged in by a link. */
  logIn(link?: InputOf<'session.link'>): Promise<Browser>
  /** A browser that has not. */
  browser(): Browser
}

/** A browser with the page open: its requests have the headers that browsers set, and both halves. */
export interface Browser {
  readonly origin: string
  cookie: string | undefined
  key: string | undefined
  send(method: string, path: string, options?: Sending): Promise<Response>
  /** Runs an operation to its end; the events in order. */
  run(operation: string, input?: object): Promise<Event[]>
  /** The result. Throws what is not one. */
  result(operation: string, input?: object): Promise<unknown>
  post(code: string): Promise<Response>
}

interface Sending {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly signal?: AbortSignal
}

export type Event = Readonly<Record<string, unknown>>

export async function setupAdmin(
  flags: Readonly<Record<string, unknown>> = {},
): Promise<AdminServer> {
  const server = await setupServer(flags)
  const commands = await openSession(server.folder, () => undefined)
  const browser = () => openBrowser(server.url)
  return {
    ...server,
    commands,
    browser,
    async logIn(link = {}) {
      const opened = browser()
      const { url } = await commands.run('session.link', link)
      const answer = await opened.post(url.split('#')[1] ?? '')
      if (!answer.ok) throw new Error(`No login: ${answer.status} ${await answer.text()}`)
      return opened
    },
  }
}

export function openBrowser(url: string): Browser {
  const { origin } = new URL(url)
  const browser: Browser = {
    origin,
    cookie: undefined,
    key: undefined,
    async send(method, path, { body, headers = {}, signal } = {}) {
      const all = new Headers({ 'sec-fetch-site': 'same-origin' })
      if (method !== 'GET' && method !== 'HEAD') all.set('origin', origin)
      if (body !== undefined) all.set('content-type', 'application/json')
      if (browser.cookie !== undefined) all.set('cookie', browser.cookie)
      if (browser.key !== undefined) all.set(KEY_HEADER, browser.key)
      for (const [name, value] of Object.entries(headers)) {
        if (value === undefined) all.delete(name)
        else all.set(name, value)
      }
      const isRaw = typeof body === 'string' || body instanceof ReadableStream
      return await fetch(`${url}/admin${path}`, {
        method,
        headers: all,
        redirect: 'manual',
        ...(signal === undefined ? {} : { signal }),
        ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
      })
    },
    async run(operation, input = {}) {
      const answer = await browser.send('POST', `/api/${operation}`, { body: input })
      return await eventsOf(answer)
    },
    async result(operation, input) {
      const events = await browser.run(operation, input)
      const last = events.at(-1)
      if (last !== undefined && 'result' in last) return last['result']
      throw new Error(`No result: ${JSON.stringify(events)}`)
    },
    async post(code) {
      return await keep(browser, await browser.send('POST', '/session', { body: { code } }))
    },
  }
  return browser
}

/** Keeps both halves of a session, as the page does; returns the answer. */
export async function keep(browser: Browser, answer: Response): Promise<Response> {
  const { status, headers } = answer
  const text = await answer.text()
  const [cookie] = headers.get('set-cookie')?.split(';') ?? []
  if (answer.ok && cookie !== undefined) {
    browser.cookie = cookie
    browser.key = (JSON.parse(text) as { key: string }).key
  }
  return new Response(text, { status, headers })
}

/** The events of an answer; a refusal is one with its `error`. */
export async function eventsOf(answer: Response): Promise<Event[]> {
  const text = await answer.text()
  if (!answer.ok) return [{ error: { status: answer.status, ...JSON.parse(text) } }]
  const lines = text.trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Event)
}

/** `[status, code]` of a refusal. */
export async function refusal(answer: Response): Promise<readonly [number, unknown]> {
  const { code } = (await answer.json()) as { code?: unknown }
  return [answer.status, code]
}
