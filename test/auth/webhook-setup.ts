import { expect } from 'bun:test'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { createVault } from '../../src/auth/key/seal'
import { createWebhook, type WebhookLimits } from '../../src/auth/person/webhook'
import { parseNetworks } from '../../src/net/networks'
import { createOutbound, type OutboundOptions } from '../../src/net/outbound'
import { createTestClock, refusalOf, setupStore } from './setup'

export const ALICE = { id: 'alice', email: 'alice@example.com', name: 'Alice' }

/** A request to the web hook. */
export interface AskedQuestion {
  readonly headers: Readonly<Record<string, string>>
  readonly method: string
  readonly path: string
  /** As it came. */
  readonly text: string
}

/** A web hook on loopback that remembers what it was asked. */
export interface TestHook extends Disposable {
  readonly url: string
  readonly questions: readonly AskedQuestion[]
}

export type AnswerHook = (question: AskedQuestion) => Response | Promise<Response>

/** The usual answer. */
export function verdict(action: string, userData?: unknown): Response {
  return Response.json({ ok: true, action, ...(userData === undefined ? {} : { userData }) })
}

export function startHook(answer: AnswerHook = () => verdict('prod')): TestHook {
  const questions: AskedQuestion[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const headers = Object.fromEntries(request.headers)
      const { pathname: path } = new URL(request.url)
      const question = { headers, method: request.method, path, text: await request.text() }
      questions.push(question)
      return await answer(question)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/new-user`,
    questions,
    [Symbol.dispose]: () => void server.stop(true),
  }
}

/** The body of a question, whose signature the library of the standard has verified. */
export function verified({ text, headers }: AskedQuestion, secret: string): unknown {
  return new Webhook(secret).verify(text, headers)
}

/** A server that says what it likes, byte by byte. */
export async function startRawHook(
  talk: (socket: Socket) => void,
): Promise<{ readonly url: string } & Disposable> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => talk(socket))
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await promise
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/new-user`,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

export const LOOPBACK = parseNetworks('127.0.0.0/8')!
/** Short pauses, and enough time for hooks that answer, on a busy machine too. */
export const QUICK = { total: 50_000, attempt: 20_000, pauses: [10, 20] }

export async function setupWebhook(
  hookUrl: string,
  limits: Partial<WebhookLimits> = QUICK,
  outbound: Partial<OutboundOptions> = {},
) {
  // Verifiers compare the time of a signature with their clock.
  const base = await setupStore(createTestClock(Date.now()))
  const database = await base.store.create('main')
  const { clock } = base
  const vault = createVault(new Uint8Array(32).fill(7))
  const call = createOutbound({ allowed: LOOPBACK, ...outbound })
  const webhook = createWebhook({ database, clock, vault, call, limits })
  const { hookSecret } = await webhook.setPolicy({ newUsers: 'webhook', hookUrl })
  return { ...base, database, webhook, secret: hookSecret ?? '' }
}

/** The log line for a web hook that gives no verdict. */
export async function reasonOf(
  url: string,
  ...more: [limits?: Partial<WebhookLimits>, outbound?: Partial<OutboundOptions>]
): Promise<string> {
  await using scene = await setupWebhook(url, ...more)
  const refusal = await refusalOf(() => scene.webhook.ask(ALICE))
  expect(refusal.code).toBe('WEBHOOK_ERROR')
  expect(refusal.message).toContain('try again in a moment')
  expect(refusal.message).not.toMatch(/127|localhost|http|answer/)
  expect(refusal.cause).toBeInstanceOf(Error)
  return (refusal.cause as Error).message
}
