import { readFileSync } from 'node:fs'
import { version } from '../package.json'
import type { Clock } from './clock'
import { type Config, UsageError } from './config/config'
import { createCreation } from './control/creation'
import { createDatabase } from './control/databases'
import { nameHolder, readHolder } from './host/holder'
import { listenForCommands } from './control/listener'
import { type DataFolder, takeDataFolder } from './host/data-folder'
import type { Host } from './host/host'
import type { Fault, Testing } from './host/test-mode'
import type { AnswerTest } from './http/routes/testing'
import type { ClientCredentials } from './domain/database/client'
import { codeAndLinkOf } from './domain/store/mailer'
import { SatchelError } from './domain/value/error'
import { newSecret } from './domain/value/secret'
import { createApp } from './http/app'
import type { HttpContext, PrintedMail } from './http/context'
import type { Call } from './http/call'
import { createBodies } from './http/body/body'
import { createUnsent } from './http/body/unsent'
import { createUploads } from './http/body/uploads'
import { createLimiter } from './http/rate-limits'
import { createLive, type Live } from './sync/live'
import { type Application, listen } from './listen'
import { httpLog, type Logs, serverLog } from './log/log'
import type { Message } from './mail/message'
import { because } from './net/system-error'
import { RATE_LIMITS } from './limits/rate-limits'

/** A running server. Disposing it stops it. */
export interface Server extends AsyncDisposable {
  /** `http://127.0.0.1:7080` */
  readonly url: string
  /** The data folder; with `memory` one that is removed when the server stops. */
  readonly folder: string
  /** The databases that existed when the server started. */
  readonly databases: readonly { readonly name: string; readonly url: string }[]
  /** The default client, when this start created the first database. */
  readonly client?: ClientCredentials
  /** Present in test mode: the bearer token of the addresses for tests. */
  readonly test?: { readonly token: string }
  /**
   * Accepts no new requests, answers those in flight (10 s at most), writes everything back and
   * releases the data folder (promises.md 45).
   */
  stop(): Promise<void>
  /** Takes renewed certificates into use without waiting for the next look at their files. */
  reload(): Promise<void>
}

/** The clock and the logs of a server. */
export interface ServerContext {
  readonly clock: Clock
  readonly logs: Logs
  /** Called when the server has started, before rare forms of paths are registered. Must not throw. */
  readonly ready?: (server: Server) => void
}

const GRACE_MS = 10_000
const WARM_UP_AFTER_MS = 50
const FIRST_DATABASE = 'main'

/**
 * Serves a data folder. Throws `DATA_FOLDER_IN_USE`, `NEWER_DATA`, `READ_ONLY` and what `listen`
 * throws; then everything that was opened is closed, and nothing that was created is left.
 */
export async function startServer(
  config: Config,
  { clock, logs, ready }: ServerContext,
): Promise<Server> {
  await using stack = new AsyncDisposableStack()
  const mode = createMode(config)
  const printer = createPrinter(logs, mode)
  const testing = await openTesting(config, clock)
  const take = () => takeDataFolder(config, clock, printer, testing)
  const folder = stack.use(await requireDataFolder(config.data, take))
  const live = stack.use(
    createLive({
      hosts: folder.hosts,
      report: (database, error) => serverLog.error('A live connection failed', { database, error }),
    }),
  )
  const answerTest = testing && (await openTestRoutes(folder, testing, config))
  const parts = { mode, printer, clock, logs, answerTest }
  const application = createApplication(folder, live, config, parts)
  // Before the first database is created: its secret is shown once, and a port in use ends the start.
  const listener = await listen(config, application)
  stack.defer(() => listener.stop(true))
  application.servedAt(listener.url)
  folder.servedAt(listener.url)
  const client = await openFirstDatabase(folder)
  // The secret of the client is shown when the start has succeeded, and never again.
  let hasStarted = false
  stack.defer(async () => {
    if (client !== undefined && !hasStarted) await folder.hosts.remove(FIRST_DATABASE)
  })
  await fillFirstDatabase(folder, config)
  const token = newSecret()
  const commands = listenForCommands(folder, token)
  stack.defer(() => commands.stop(true))
  folder.answersAt(commands.address, token)
  const names = await folder.hosts.list()
  hasStarted = true
  const owned = stack.move()
  void folder.hosts.resumeAll(names, reportUnopened)
  // Well after the ready line and the first request. A server for tests may never need it.
  const warmUp = config.test ? undefined : setTimeout(application.warmUp, WARM_UP_AFTER_MS)
  warmUp?.unref()

  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= shutDown())
  async function shutDown(): Promise<void> {
    clearTimeout(warmUp)
    application.retire()
    const isIdle = await isDoneWithin(GRACE_MS, Promise.all([listener.stop(), commands.stop()]))
    if (!isIdle) serverLog.warning('Requests that took longer than 10 s were aborted')
    await owned.disposeAsync()
    await logs.flush()
  }
  const server: Server = {
    url: listener.url,
    folder: folder.path,
    databases: names.map((name) => ({ name, url: `${listener.url}/${name}` })),
    ...(client === undefined ? {} : { client }),
    ...(testing === undefined ? {} : { test: { token: testing.token } }),
    stop,
    reload: () => listener.reload(),
    [Symbol.asyncDispose]: stop,
  }
  try {
    ready?.(server)
    // In the same turn: no request is read between the two.
    listener.complete()
  } catch (error) {
    await stop()
    throw error
  }
  return server
}

const TRIES = 5
const PAUSE_MS = 100

/** Waits for a command, which releases the folder soon; a server does not (promises.md 10). */
async function requireDataFolder(
  path: string,
  take: () => Promise<DataFolder | undefined>,
): Promise<DataFolder> {
  for (let tries = 1; ; tries++) {
    const folder = await take()
    if (folder !== undefined) return folder
    const holder = readHolder(path)
    if (tries === TRIES || (holder !== undefined && holder.address !== null)) {
      throw new SatchelError(
        'DATA_FOLDER_IN_USE',
        `The data folder ${path} is in use by ${nameHolder(holder)}: stop it, or choose another folder with --data`,
      )
    }
    await Bun.sleep(PAUSE_MS)
  }
}

const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-forwarded-proto']

/** Development mode allows what is convenient on this machine and unsafe anywhere else. */
interface Mode {
  isDevelopment(): boolean
  /** A request through an unknown proxy ends development mode: its caller may be anywhere (design.md §2). */
  look(request: Request): void
}

function isForwarded(headers: Headers): boolean {
  for (const name of FORWARDED) if (headers.has(name)) return true
  return false
}

function createMode(config: Config): Mode {
  let isDevelopment = config.development
  return {
    isDevelopment: () => isDevelopment,
    look({ headers }) {
      if (!isDevelopment || !isForwarded(headers)) return
      isDevelopment = false
      serverLog.warning(
        'A proxy forwards requests, so development mode is off: origins on this machine must be added with satchel origin add, mails are not printed, and rate limits apply unless --rate-limits is off',
      )
    },
  }
}

/** Warns once: anybody can send the header. */
function createProxyWarning(): (address: string) => void {
  let isWarned = false
  return (address) => {
    if (isWarned) return
    isWarned = true
    const network = `${address}/${address.includes(':') ? 128 : 32}`
    serverLog.warning(
      `A request from ${address} has X-Forwarded-For, which is ignored: if this is a proxy, all its callers share one rate limit until it is trusted with --trust-proxy ${network}`,
    )
  }
}

/** Mails that are printed in the terminal, and shown on the page of the server. */
interface Printer {
  isDevelopment(): boolean
  print(message: Message): void
  /** The last ones, newest first; none outside development. */
  last(): readonly PrintedMail[]
}

function createPrinter(logs: Logs, mode: Mode): Printer {
  const last: PrintedMail[] = []
  return {
    isDevelopment: () => mode.isDevelopment(),
    print({ letter, subject, text, date }) {
      const { kind, to, variables } = letter
      logs.mail({ kind, to, subject, text, variables })
      last.unshift({ kind, to, subject, ...codeAndLinkOf(letter), date })
      last.length = Math.min(last.length, SHOWN_MAILS)
    },
    last: () => (mode.isDevelopment() ? last : []),
  }
}

const SHOWN_MAILS = 10

/** The lowest average rate at which a client may send a blob, bytes per second. */
const LEAST_RATE = 1024

/** The HTTP application of this server. */
interface ServedApplication extends Application {
  /** Called once the server listens: pages of this origin may call it. */
  servedAt(url: string): void
  /** Loads the router before a request needs it. */
  readonly warmUp: () => void
  /** From now on `/ready` answers that the server is stopping. */
  retire(): void
}

interface ApplicationParts extends ServerContext {
  readonly mode: Mode
  readonly printer: Printer
  readonly answerTest: AnswerTest | undefined
}

function createApplication(
  folder: DataFolder,
  live: Live,
  config: Config,
  { mode, printer, clock, logs, answerTest }: ApplicationParts,
): ServedApplication {
  const { maxBody: bytes, maxDepth: depth, maxValues: values, maxProperties: properties } = config
  const own = new Set(config.publicUrl === null ? [] : [new URL(config.publicUrl).origin])
  let isReady = true
  const clockOf = ({ segments }: Call) => folder.hosts.findOpen(segments[1] ?? '')?.clock ?? clock
  const isLimited = () => config.rateLimits !== null || !mode.isDevelopment()
  const http: HttpContext = {
    hosts: folder.hosts,
    bodies: createBodies({ bytes, depth, values, properties }),
    uploads: createUploads(),
    unsent: createUnsent(),
    limits: createLimiter(config.rateLimits ?? RATE_LIMITS, clockOf, isLimited),
    deletions: folder.deletions,
    creation: createCreation(folder, config, () => mode.isDevelopment()),
    live,
    importLimits: folder.importLimits,
    writeLimits: config,
    blobs: {
      limits: folder.blobLimits,
      offload: folder.offloadRule,
      timeout: { silence: config.maxSilence * 1000, rate: LEAST_RATE },
    },
    origins: { own, isDevelopment: () => mode.isDevelopment() },
    printedMails: () => printer.last(),
    proxies: config.trustProxy,
    unknownProxy: createProxyWarning(),
    version,
    isReady: () => isReady,
    access: (entry) => logs.access(entry),
    failure: (requestId, error) => httpLog.error('A request failed', { requestId, error }),
    answerTest: (call) => answerTest?.(http, call),
  }
  const app = createApp(http, config.domain)
  function failing(fault: Fault, ...given: Parameters<Application['fetch']>): Promise<Response> {
    return fail(fault, given[0], () => app.fetch(...given))
  }

  return {
    fetch(request, server, segments) {
      mode.look(request)
      const fault = folder.testing?.faultFor(request)
      return fault === undefined
        ? app.fetch(request, server, segments)
        : failing(fault, request, server, segments)
    },
    warmUp: () => void app.warmUp(),
    servedAt: (url) => own.add(url),
    retire() {
      isReady = false
    },
  }
}

/** The token is new at every start, or the one that a container was given. */
async function openTesting(config: Config, clock: Clock): Promise<Testing | undefined> {
  if (!config.test) return undefined
  const { createTesting } = await import('./testing/testing')
  const { testTokenFile: file } = config
  return createTesting(clock, file === null ? newSecret() : readTestToken(file))
}

async function openTestRoutes(
  folder: DataFolder,
  testing: Testing,
  config: Config,
): Promise<AnswerTest> {
  const { createTestRoutes } = await import('./http/routes/testing')
  return createTestRoutes({
    token: testing.token,
    isShared: config.testTokenFile !== null,
    respondIdp: (database, request) => testing.idpRespond(database, request),
    async perform(name, input) {
      const { findOperation } = await import('./control/operations')
      const operation = findOperation(`test.${name}`)
      if (operation === undefined) throw new Error(`there is no operation test.${name}`)
      return await operation.run(folder, operation.read(input), {})
    },
  })
}

/** At least 16 characters, so that it is no name. */
function readTestToken(path: string): string {
  let token = ''
  try {
    token = readFileSync(path, 'utf8').trim()
  } catch (error) {
    throw new UsageError(`--test-token-file ${path} cannot be read${because(error)}`, {
      cause: error,
    })
  }
  if (/^[\w.~+/-]{16,}=*$/.test(token)) return token
  throw new UsageError(
    `--test-token-file ${path} must hold a token: at least 16 letters, digits and - . _ ~ + /`,
  )
}

/** Declares the schema and imports the seed that the settings name. */
async function fillFirstDatabase(folder: DataFolder, config: Config): Promise<void> {
  const { hosts, testing } = folder
  const { schema, seed } = config
  if (schema === null && testing === undefined) return
  const { declareSchema, importSeed } = await import('./control/seed')
  const names = await hosts.list()
  const host = await hosts.open(names.includes(FIRST_DATABASE) ? FIRST_DATABASE : (names[0] ?? ''))
  if (schema !== null) await declareSchema(host, schema)
  const plant = async (database: Host) => {
    if (seed !== null) await importSeed(folder, database, seed)
  }
  await plant(host)
  testing?.served(hosts, plant)
  await testing?.begin(host)
}

/** Loaded in test mode only. */
async function fail(
  fault: Fault,
  request: Request,
  proceed: () => Response | Promise<Response>,
): Promise<Response> {
  const { underFault } = await import('./testing/fault')
  return await underFault(fault, request, proceed)
}

/** Checks that the data can be read, and creates the first database if there is none. */
async function openFirstDatabase(folder: DataFolder): Promise<ClientCredentials | undefined> {
  const { hosts } = folder
  const names = await hosts.list()
  const [first] = names.includes(FIRST_DATABASE) ? [FIRST_DATABASE] : names
  if (first !== undefined) {
    // A copied database is not served, and does not keep the others from it: `resumeAll` reports it.
    await hosts.open(first).catch((error: unknown) => {
      if (!(error instanceof SatchelError) || error.code !== 'COPIED_DATABASE') throw error
    })
    return undefined
  }
  return await createDatabase(folder, FIRST_DATABASE)
}

function reportUnopened(database: string, error: unknown): void {
  serverLog.error('A database cannot be opened', { database, error })
}

async function isDoneWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), milliseconds)
  try {
    return await Promise.race([work.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
