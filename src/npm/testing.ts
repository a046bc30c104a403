import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { findExecutable } from './platform.js'

declare global {
  // For `await using` in programs whose `lib` is older than it: as in the types of Node.js.
  interface SymbolConstructor {
    readonly dispose: unique symbol
    readonly asyncDispose: unique symbol
  }
  interface Disposable {
    [Symbol.dispose](): void
  }
  interface AsyncDisposable {
    [Symbol.asyncDispose](): PromiseLike<void>
  }
}

/** A backend that lasts as long as a test file: see docs/testing.md. */
export interface Backend extends AsyncDisposable {
  /** The address of the database, for `databaseUrl` of the client add-on. */
  readonly url: string
  /** A client with all scopes. */
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  /** The bearer token of the addresses for tests. */
  readonly token: string
  /** Logs a user in, without a mail, and returns the access token. */
  tokenFor(person: Person): Promise<string>
  /** The address with which a page of an application with the client add-on is logged in. */
  pageFor(person: Person, page: string): Promise<string>
  /** Requests of a user for the data of the database. */
  as(person: Person): Promise<Api>
  /** Requests with all scopes, for `/all`, `/public` and `/users`. */
  admin(): Promise<Api>
  readonly mail: {
    /** The newest mail to this address that was not returned before; waits for up to `wait` ms. */
    waitFor(to: string, options?: { readonly wait?: number }): Promise<Mail>
    /** All mails, the newest first. */
    list(to?: string): Promise<readonly Mail[]>
  }
  readonly clock: {
    /** Moves the clock: `31d`, `1h30m`, `-2m`. */
    advance(time: string): Promise<Date>
    set(time: Date | string): Promise<Date>
    freeze(): Promise<Date>
    run(): Promise<Date>
    now(): Promise<Date>
  }
  /** Keeps the database as it is and returns the id of the snapshot. */
  snapshot(): Promise<string>
  /** Returns to a snapshot. */
  restore(id: string): Promise<void>
  /** Makes another database of a snapshot and returns its address. */
  fork(id: string): Promise<string>
  /** Keeps schema, clients and settings, empties the rest and applies the seed again. */
  reset(): Promise<void>
  explain(question: Question): Promise<Explanation>
  /** A login provider with OpenID Connect, named `test`. */
  readonly idp: {
    /** Adds it to the database, with these people. */
    open(people?: readonly IdpPerson[]): Promise<void>
    /** Logs a person in; the address at which the browser comes back to the page. */
    login(email: string, page: string): Promise<string>
  }
  /** Makes requests fail until the next change, restore or reset. */
  fault(fault: Fault): Promise<void>
  /** Calls an address for tests, such as `POST snapshot`. */
  call(method: string, path: string, body?: unknown): Promise<unknown>
  /** Ends the backend; the same as disposing it. */
  stop(): Promise<void>
}

/** An e-mail address, which is the user id, or with a name. */
export type Person = string | { readonly email: string; readonly name?: string }

/** Requests of one user: paths such as `/my/todos`. Each throws an `ApiError` when it is refused. */
export interface Api {
  get<Answer = unknown>(path: string): Promise<Answer>
  post<Answer = unknown>(path: string, body: unknown): Promise<Answer>
  put<Answer = unknown>(path: string, body: unknown): Promise<Answer>
  delete(path: string): Promise<void>
}

/** The server refused a request. */
export class ApiError extends Error {
  override readonly name = 'ApiError'

  constructor(
    message: string,
    readonly status: number,
    /** The code in the answer, such as `NOT_AUTHORIZED`; undefined when it has none. */
    readonly code: string | undefined,
  ) {
    super(message)
  }
}

export interface IdpPerson {
  readonly email: string
  readonly name?: string
  readonly failure?: 'denied' | 'unverified' | 'wrong-nonce' | 'slow' | 'down'
}

export interface Mail {
  readonly id: string
  readonly to: string
  readonly kind: 'otp' | 'invite'
  readonly subject: string
  readonly otp: string | null
  readonly link: string | null
  readonly text: string
  readonly html: string
}

export interface Question {
  readonly as: string
  readonly do: 'read' | 'add' | 'update' | 'delete'
  readonly table: string
  readonly key?: string
  readonly realm?: string
  readonly property?: string
}

export interface Explanation {
  readonly allowed: boolean
  readonly rule: string
  readonly user: { readonly userId: string; readonly state: string }
  readonly object: { readonly key: string; readonly owner: string | null } | null
  readonly realm: { readonly realmId: string; readonly kind: string } | null
  readonly members: readonly object[]
}

export interface Fault {
  readonly latency?: string
  readonly errorRate?: number
  readonly offline?: boolean
  readonly loseReplies?: boolean
}

export interface BackendOptions {
  /** The tables as in `schema.json`, or the path of such a file. */
  readonly schema?: Readonly<Record<string, string>> | string
  /** The content of an import file, or the path of one or of a folder of them. */
  readonly seed?: object | string
  /** More flags of `satchel serve`. */
  readonly args?: readonly string[]
  /** The executable, instead of the one for this machine. */
  readonly executable?: string
}

interface Ready {
  readonly url: string
  readonly databases: readonly { readonly url: string }[]
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  readonly test: { readonly token: string }
}

interface Login {
  readonly accessToken: string
  readonly url: string
}

const SERVE = ['serve', '--memory', '--test', '--port', '0', '--json', '--log-level', 'warning']
const DEFAULT_WAIT_MS = 5_000
const LOG_LINES = 50

/** Starts a backend and resolves at its ready line. Rejects with its log when it ends before. */
export async function startSatchel(options: BackendOptions = {}): Promise<Backend> {
  const { schema, seed, args = [], executable = findExecutable() } = options
  // Nothing is written to the disk, where a killed process would leave it behind.
  const input = [schema, seed].filter((given) => typeof given === 'object')
  const child = spawn(
    executable,
    [...SERVE, ...flag('--schema', schema), ...flag('--seed', seed), ...args],
    { stdio: [input.length === 0 ? 'ignore' : 'pipe', 'pipe', 'pipe'] },
  )
  // A backend that ended before it has read all says why.
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(input.map((given) => JSON.stringify(given)).join('\n'))
  const ready = await whenReady(child)
  // The test runner may end while the backend runs: the backend ends with it.
  child.unref()
  return createBackend(ready, async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    await exited
  })
}

/**
 * The backend of `satchel test exec`, when this process is its command or was started by it. `stop` leaves it
 * running for the others. Throws when there is none.
 */
export function connectSatchel(): Backend {
  const { SATCHEL_TEST_URL: url, SATCHEL_TEST_TOKEN: token = '' } = process.env
  const { SATCHEL_TEST_CLIENT_ID: clientId = '', SATCHEL_TEST_CLIENT_SECRET: clientSecret = '' } =
    process.env
  if (url === undefined || url === '') {
    throw new Error('There is no backend: run this program with satchel test exec -- <command>')
  }
  const ready = { url, databases: [{ url }], client: { clientId, clientSecret }, test: { token } }
  return createBackend(ready, async () => undefined)
}

/** A path is given as it is; a value comes from standard input. */
function flag(name: string, given: object | string | undefined): string[] {
  if (given === undefined) return []
  return [name, typeof given === 'string' ? given : '-']
}

function whenReady(child: ChildProcess): Promise<Ready> {
  const { stdout, stderr } = child
  if (stdout === null || stderr === null) throw new Error('the streams of the backend are missing')
  const log: string[] = []
  createInterface({ input: stderr }).on('line', (line) => {
    log.push(line)
    if (log.length > LOG_LINES) log.shift()
  })
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stdout })
    lines.once('line', (line) => {
      child.removeAllListeners('exit')
      // Sockets of pipes keep Node.js running.
      for (const stream of [stdout, stderr]) (stream as Partial<{ unref(): void }>).unref?.()
      resolve(JSON.parse(line) as Ready)
    })
    child.once('error', reject)
    child.once('exit', (code) => {
      reject(new Error(`Satchel ended with ${code} before it was ready:\n${log.join('\n')}`))
    })
  })
}

function createBackend(ready: Ready, stop: () => Promise<void>): Backend {
  const { token } = ready.test
  const url = ready.databases[0]?.url ?? `${ready.url}/main`
  const returnedMails = new Set<string>()
  let stopping: Promise<void> | undefined

  async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const address = `${url}/_test/${path}`
    return (await request(method, address, token, body)) as Answer
  }

  async function login(person: Person, page?: string) {
    const named = typeof person === 'string' ? { email: person } : person
    return await call<Login>('POST', 'login', { ...named, page })
  }

  async function moveClock(change: object): Promise<Date> {
    const { now } = await call<{ now: string }>('POST', 'clock', change)
    return new Date(now)
  }

  async function findMails(query: Readonly<Record<string, string | undefined>>) {
    const given = Object.entries(query).filter(([, value]) => value !== undefined)
    const parameters = new URLSearchParams(given as [string, string][])
    const { mails } = await call<{ mails: Mail[] }>('GET', `mail?${parameters.toString()}`)
    return mails
  }

  return {
    url,
    client: ready.client,
    token,
    tokenFor: async (person) => (await login(person)).accessToken,
    pageFor: async (person, page) => (await login(person, page)).url,
    as: async (person) => apiOf(url, (await login(person)).accessToken),
    async admin() {
      const { clientId, clientSecret } = ready.client
      const given = { grant_type: 'client_credentials', client_id: clientId }
      const body = { ...given, client_secret: clientSecret, scopes: ALL_SCOPES }
      const answer = (await request('POST', `${url}/token`, undefined, body)) as Login
      return apiOf(url, answer.accessToken)
    },
    mail: {
      async waitFor(to, { wait = DEFAULT_WAIT_MS } = {}) {
        // A mail that was returned may be gone, with the state before a restore.
        const [last] = await findMails({ to })
        const isNew = last !== undefined && !returnedMails.has(last.id)
        const [mail] = isNew ? [last] : await findMails({ to, after: last?.id, wait: `${wait}ms` })
        if (mail === undefined) throw new Error(`No new mail to ${to} came within ${wait} ms`)
        returnedMails.add(mail.id)
        return mail
      },
      list: (to) => findMails({ to }),
    },
    clock: {
      advance: (time) => moveClock({ advance: time }),
      set: (time) => moveClock({ set: typeof time === 'string' ? time : time.toISOString() }),
      freeze: () => moveClock({ freeze: true }),
      run: () => moveClock({ freeze: false }),
      now: () => moveClock({}),
    },
    snapshot: async () => (await call<{ id: string }>('POST', 'snapshot')).id,
    restore: async (id) => void (await call('POST', `restore/${id}`)),
    fork: async (id) => (await call<{ url: string }>('POST', `fork/${id}`)).url,
    reset: async () => void (await call('POST', 'reset')),
    explain: (question) => call<Explanation>('POST', 'explain', question),
    idp: {
      open: async (people) => void (await call('POST', 'idp', { people })),
      login: async (email, page) => {
        const asked = { as: email, redirect_uri: page }
        return (await call<{ url: string }>('POST', 'idp/login', asked)).url
      },
    },
    fault: async (fault) => void (await call('POST', 'fault', fault)),
    call,
    stop: () => (stopping ??= stop()),
    [Symbol.asyncDispose]: () => (stopping ??= stop()),
  }
}

function apiOf(url: string, token: string): Api {
  async function send<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    if (path.startsWith('/')) return (await request(method, url + path, token, body)) as Answer
    throw new TypeError(`A path begins with a slash: "/${path}" instead of "${path}"`)
  }
  return {
    get: (path) => send('GET', path),
    post: (path, body) => send('POST', path, body),
    put: (path, body) => send('PUT', path, body),
    delete: (path) => send('DELETE', path),
  }
}

const ALL_SCOPES = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'IMPERSONATE', 'MANAGE_DB']

/** The JSON of an answer; undefined when it has none. Throws `ApiError`. */
async function request(
  method: string,
  address: string,
  token: string | undefined,
  body?: unknown,
): Promise<unknown> {
  const response = await fetch(address, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) {
    const { status } = response
    const { pathname } = new URL(address)
    throw new ApiError(
      `${method} ${pathname} was answered with ${status}: ${text}`,
      status,
      codeOf(text),
    )
  }
  return text === '' ? undefined : (JSON.parse(text) as unknown)
}

function codeOf(text: string): string | undefined {
  try {
    const { code } = JSON.parse(text) as { readonly code?: unknown }
    return typeof code === 'string' ? code : undefined
  } catch {
    return undefined
  }
}
