import { afterAll, beforeAll } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import type { Clock } from '../src/clock'
import { readConfig } from '../src/config/config'
import type { LineSink } from '../src/log/line-sink'
import { openLogs } from '../src/log/log'
import type { Server, ServerContext } from '../src/server'
import type { FolderEngineOptions } from '../src/host/folder-engine'
import { createTestClock, type TestClock } from './auth/setup'
import { engineUnderTest } from './missing'

/** A folder that is removed when the test ends. */
export interface TemporaryFolder extends Disposable {
  readonly path: string
}

export function temporaryFolder(parent = tmpdir()): TemporaryFolder {
  const path = mkdtempSync(join(parent, 'satchel-test-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

/** The input of a plain `import` into the database `main`. */
export const PLAIN_IMPORT = {
  database: 'main',
  table: null,
  realm: null,
  atomic: false,
  dryRun: false,
  size: null,
  name: null,
}

/** True while a process with this id exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * One server, or whatever `setup` opens, for the tests of a `describe` that are rows of a table and
 * leave nothing behind that another row would notice. The function that it returns is for tests.
 */
export function share<T extends AsyncDisposable>(setup: () => Promise<T>): () => T {
  let shared: T | undefined
  beforeAll(async () => {
    shared = await setup()
  })
  afterAll(async () => await shared?.[Symbol.asyncDispose]())
  return () => {
    if (shared === undefined) throw new Error('It is open only during tests')
    return shared
  }
}

export interface CollectedLines extends LineSink {
  readonly lines: readonly string[]
}

export function collectLines(): CollectedLines {
  const lines: string[] = []
  return { lines, write: (line) => void lines.push(line), flush: async () => {}, flushNow() {} }
}

/** A server in this process, with its first client. */
export interface TestServer<Time extends Clock = TestClock> extends Server {
  readonly clock: Time
  /** The log, one entry per line. */
  readonly lines: readonly string[]
  /** The base address of the database `main`. */
  readonly main: string
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  /** An access token of the first client, or of the user with the id `sub`. */
  token(options?: { readonly sub?: string; readonly scopes?: readonly string[] }): Promise<string>
}

/** A server of a data folder that may have had others before; `lines` is its log, one entry per line. */
export async function startAgain(
  data: string,
  clock: Clock = createTestClock(),
  flags: Readonly<Record<string, unknown>> = {},
  parts: Partial<ServerContext> = {},
): Promise<Server & { readonly lines: readonly string[] }> {
  const sink = collectLines()
  const logs = openLogs({ clock, level: 'debug', format: 'json', sink })
  // That acknowledged writes survive power loss is shown on executables: here syncing would only take time.
  const defaults = { port: 0, durability: 'relaxed' }
  const config = readConfig({ environment: {}, flags: { ...defaults, ...flags, data } })
  // Only here, so that tests of one room do not load them all.
  const { startServer } = await import('../src/server')
  return { ...(await startServer(config, { clock, logs, ...parts })), lines: sink.lines }
}

const EVERYTHING = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'IMPERSONATE', 'MANAGE_DB']

/** A server on a free port with a new data folder, both gone when the test ends. */
export function setupServer(
  flags: Readonly<Record<string, unknown>> = {},
  clock = createTestClock(),
): Promise<TestServer> {
  return setupServerAt(clock, flags)
}

/** The same by a clock that need not be a test's: for clients with clocks of their own. */
export async function setupServerAt<Time extends Clock>(
  clock: Time,
  flags: Readonly<Record<string, unknown>> = {},
): Promise<TestServer<Time>> {
  await using undo = new AsyncDisposableStack()
  const given = flags['data']
  const data = typeof given === 'string' ? given : undo.use(temporaryFolder()).path
  const { openFolderEngine } = await import('../src/host/folder-engine')
  const openEngine = (path: string, options: FolderEngineOptions) =>
    engineUnderTest(openFolderEngine(path, options))
  const server = undo.use(await startAgain(data, clock, flags, { openEngine }))
  const { client, url } = server
  if (client === undefined) throw new Error('The data folder had a database already')
  const parts = undo.move()
  return {
    ...server,
    clock,
    client,
    main: `${url}/main`,
    async token({ sub, scopes = sub === undefined ? EVERYTHING : ['ACCESS_DB'] } = {}) {
      const answer = await fetch(`${url}/main/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          grant_type: 'client_credentials',
          client_id: client.clientId,
          client_secret: client.clientSecret,
          scopes,
          ...(sub === undefined ? {} : { claims: { sub, email: sub, name: sub } }),
        }),
      })
      if (!answer.ok) throw new Error(`No token: ${answer.status} ${await answer.text()}`)
      const { accessToken } = (await answer.json()) as { accessToken: string }
      return accessToken
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
