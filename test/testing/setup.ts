import { setupServerAt } from '../setup'
import { systemClock } from '../../src/clock'

/** The answer of an address for tests. */
export interface TestAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** The answer to a request for data; null when it has no body. */
export interface ApiAnswer {
  readonly status: number
  readonly body: unknown
}

/** A server in test mode by the time of the machine, and calls of its addresses for tests. */
export async function setupTestMode(flags: Readonly<Record<string, unknown>> = {}) {
  await using undo = new AsyncDisposableStack()
  const server = undo.use(await setupServerAt(systemClock, { memory: true, test: true, ...flags }))
  const token = server.test?.token ?? ''
  const { main } = server

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
    base = main,
  ): Promise<TestAnswer> {
    const response = await fetch(`${base}/_test/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as TestAnswer['body'] }
  }

  async function login(email: string): Promise<string> {
    const { body } = await call('POST', 'login', { email })
    return body['accessToken'] as string
  }

  /** A request of a user for data; null for an answer without a body. */
  async function api(
    token: string,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<ApiAnswer> {
    const response = await fetch(`${main}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) }
  }

  const parts = undo.move()
  return {
    ...server,
    testToken: token,
    call,
    login,
    api,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
