import { type Administration, createAdministration } from './administration'
import { createApplication, createMode, createPrinter } from './application'
import type { Clock } from './clock'
import type { Config } from './config/config'
import { readTokenFile } from './config/token-file'
import type { BackupSchedule } from './control/backup-schedule'
import { createDatabase } from './control/databases'
import { createRecentFigures } from './host/recent-figures'
import { nameHolder, readHolder } from './host/holder'
import { type ControlListener, listenForCommands } from './control/listener'
import { type DataFolder, takeDataFolder } from './host/data-folder'
import type { openFolderEngine } from './host/folder-engine'
import type { OpenDatabase } from './host/host'
import type { Testing } from './host/test-mode'
import type { AnswerTest } from './http/routes/testing'
import type { ClientCredentials } from './domain/database/client'
import { lineOfServer } from './domain/store/audit'
import { SatchelError } from './domain/value/error'
import { newSecret } from './domain/value/secret'
import { createLive } from './sync/live'
import type { CertifiedParts } from './certified'
import { type Application, listen, type Listener } from './listen'
import { type Logs, serverLog } from './log/log'

// State per process. Everything that must survive a process is in the engine; the rest belongs to this one process,
// which an engine on a locked folder makes the only one. With several processes on one engine:
//
// - Duties (jobs, mails, old blobs, old history) are the engine's: it grants each to one process. The mails under way
//   (`mail/outbox`) belong to the holder; the next holder may send one of them twice.
// - Caches follow the commits of all processes, which `onCommit` announces, and stay as they are: what a transaction
//   remembers (`sqlite/memo`, heads, counters: a second engine has its own), verified tokens and keys (`auth/key`),
//   clients of login providers (`auth/provider/provider-client`), compiled templates (`mail/templates`).
// - The hub of live sync (`sync/`: sockets, what each client has seen, who may see a realm) stays per process: a hub
//   hears the commits of the others, and asks `commitsAfter` for those it missed. That sockets rest while their client
//   is answered (`live.answering`) must be told to the process that has them.
// - Settled logins (`auth/person/login-log`) stay: the engine keeps the latest time. Steady clocks stay: each process
//   begins at the latest stored time and raises it. Concurrent questions to a web hook (`auth/person/admission`) are
//   asked once for each process.
// - Counters of requests, OTPs and failed logins (`http/rate-limits`, `auth/limits`, `auth/service`, `sync/gate`) and
//   the queue of first syncs (`limits/turns`) would allow as much in each process: they move to the engine, a row for
//   each caller and window, or each process gets its share of the limit.
// - Replies to repeated refresh requests (`auth/grant/refresh`), proofs of an address (`auth/otp/proof`) and codes of
//   the service (`auth/service`) are good in the process that made them: they become sealed rows that expire.
// - Sessions, links and tickets of the page for administrators (`auth/admin`, `http/admin`) are good in the process that
//   made them, whose key seals the cookies: a browser stays with one process. Its followers are counted per process.
// - The marks of deleted databases (`host/deletions`) are read from a commit, and their removal becomes a duty. Opening,
//   removing and adopting a database (`host/hosts`) is in turn within a process: the engine must lock, and tell the
//   others to close it. Those who wait for a job (`domain/job/job-end`) stay.
// - The memory budgets (`limits/ledger`, streams of sync) are a process's own.
// - At its start a process removes all unfinished uploads (`host/folder-engine`): beside other processes it must
//   leave the uploads that are younger than the grace period.
// - Test mode (`testing/`) and the holder of the folder (`host/folder`) are for one process.

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
  /** Makes a one-time link to the page for administrators; absent where that is off. */
  readonly linkAdmin?: () => string
  /**
   * Answers the requests in flight (10 s at most) and refuses later ones, writes everything back and
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
  /** Called when the server listens; requests wait for the rest of the start. Must not throw. */
  readonly ready?: (server: Server) => void
  /** Calls `work` again and again until it is disposed; absent: by a timer of this process. */
  readonly every?: (ms: number, work: () => void) => Disposable
  /** Opens what keeps the databases; absent: SQLite and files below the data folder. */
  readonly openEngine?: typeof openFolderEngine
}

const GRACE_MS = 10_000
const WARM_UP_AFTER_MS = 50
const FIRST_DATABASE = 'main'

/**
 * Serves a data folder. Throws `DATA_FOLDER_IN_USE`, `NEWER_DATA`, `READ_ONLY` and what `listen`
 * throws; then everything that was opened is closed, and nothing that was created is left, also when the
 * start fails after the ready line.
 */
export async function startServer(
  config: Config,
  { clock, logs, ready, openEngine, every = repeat }: ServerContext,
): Promise<Server> {
  await using stack = new AsyncDisposableStack()
  let listening: Listener | undefined
  // Last of all: callers are asked to repeat their requests while the rest is closed, and then refused.
  stack.defer(async () => await listening?.stop())
  const mode = createMode(config)
  const printer = createPrinter(logs, mode)
  const testing = await openTesting(config, clock)
  const take = () => takeDataFolder(config, clock, printer, testing, openEngine)
  const folder = stack.use(await requireDataFolder(config.data, take))
  const live = stack.use(
    createLive({
      hosts: folder.hostsAt('sync'),
      clock,
      report: (database, error) => serverLog.error('A live connection failed', { database, error }),
    }),
  )
  const answerTest = testing && (await openTestRoutes(folder, testing, config))
  const served = () => listener.url
  const administration = createAdministration(folder, config, { clock, every, served })
  if (administration !== null) stack.use(administration.sessions)
  const answerAdmin = administration?.answer
  const figures = stack.use(
    createRecentFigures({ folder, sockets: () => live.count, clock, every }),
  )
  const parts = { mode, printer, clock, logs, figures, answerTest, answerAdmin }
  const application = createApplication(folder, live, config, parts)
  const known = await folder.hosts.list()
  // A new database is made before the server listens: Bun collects garbage as soon as it does, which can wait
  // until the server is ready. An existing one is opened after that: it may be migrated for minutes, and a
  // port in use ends the start first.
  const line = { ...lineOfServer('db.create', clock.now()), result: 'done' }
  const client =
    known.length === 0
      ? await createDatabase(folder, FIRST_DATABASE, null, (tx) => tx.audit.put(line))
      : undefined
  const names = client === undefined ? known : [FIRST_DATABASE]
  // The secret of the client is shown once, in the ready line. A start that fails after it removes the database.
  let hasStarted = false
  stack.defer(async () => {
    if (client !== undefined && !hasStarted) await folder.hosts.remove(FIRST_DATABASE)
  })
  let isStopping = false
  const listener = await listenAsSet(config, application, {
    folder: folder.path,
    clock,
    every,
    isReady: () => !isStopping,
  })
  listening = listener
  stack.defer(() => application.retire())
  application.servedAt(listener.url)
  const unopened = new Map<string, string>()
  folder.servedBy({
    url: listener.url,
    since: clock.now(),
    sockets: () => live.count,
    live,
    logs,
    figures,
    certificate: () => listener.certificate(),
    admin: administration,
    config,
    signs: application.signs,
    unopened,
  })
  const first = names.includes(FIRST_DATABASE) ? FIRST_DATABASE : (names[0] ?? '')
  if (client === undefined) {
    // While a database is migrated, which may take minutes, health checks are answered.
    await application.open()
    await requireReadable(folder, first)
  }
  await fillDatabase(folder, first, config)
  const owned = stack.move()

  let commands: ControlListener | undefined
  let schedule: BackupSchedule | undefined
  let warmUp: Timer | undefined
  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= shutDown())
  async function shutDown(): Promise<void> {
    clearTimeout(warmUp)
    isStopping = true
    application.retire()
    administration?.sessions[Symbol.dispose]()
    const answered = Promise.all([listener.drain(() => application.late), commands?.stop()])
    const [isAnswered, isEnded] = await Promise.all([
      isDoneWithin(GRACE_MS, answered),
      isDoneWithin(GRACE_MS, schedule?.[Symbol.asyncDispose]()),
    ])
    if (!isAnswered) {
      serverLog.warning('Requests that took longer than 10 s were aborted')
      await listener.stop()
    }
    if (!isEnded) {
      serverLog.warning(
        'A backup that did not end within 10 s was left unfinished: the server removes what there is of it after its next start, from a bucket after two days',
        { target: config.backup },
      )
    }
    await owned.disposeAsync()
    await logs.flush()
  }

  /** Makes what the first request needs, and the ready line does not. */
  async function prepare(): Promise<void> {
    if (client !== undefined) {
      const host = await folder.hosts.open(first)
      await host.authority.keys()
      await testing?.begin(host)
    }
    const token = newSecret()
    const opened = listenForCommands(folder, token)
    owned.defer(() => opened.stop(true))
    commands = opened
    folder.answersAt(opened.address, token)
    if (client !== undefined) folder.audit.put(line)
    hasStarted = true
    if (config.backup !== null) {
      const { startBackupSchedule } = await import('./control/backup-schedule')
      if (isStopping) return
      schedule = startBackupSchedule(folder, config.backup, config, { clock, every })
    }
    if (config.metrics !== null) {
      const { startMetrics } = await import('./metrics/metrics')
      if (isStopping) return
      const certificate = () => listener.certificate()
      owned.use(
        startMetrics(config.metrics, config, { folder, live, application, certificate, every }),
      )
    }
    if (client !== undefined) await application.open()
  }

  const server: Server = {
    url: listener.url,
    folder: folder.path,
    databases: names.map((name) => ({ name, url: `${listener.url}/${name}` })),
    ...(client === undefined ? {} : { client }),
    ...(testing === undefined ? {} : { test: { token: testing.token } }),
    ...(administration === null ? {} : { linkAdmin: () => linkTo(administration) }),
    stop,
    reload: () => listener.reload(),
    [Symbol.asyncDispose]: stop,
  }
  try {
    ready?.(server)
    // In the same turn: no request is read between the ready line and these.
    listener.complete()
    await prepare()
  } catch (error) {
    await stop().catch((next: unknown) =>
      serverLog.error('A failed start could not be undone', { error: next }),
    )
    throw error
  }
  void folder.hosts.resumeAll(names, (name, error) => {
    unopened.set(name, error instanceof SatchelError ? error.message : 'see the log of the server')
    reportUnopened(name, error)
  })
  // Well after the first request. A server for tests may never need it.
  warmUp = config.test ? undefined : setTimeout(application.warmUp, WARM_UP_AFTER_MS)
  warmUp?.unref()
  return server
}

/** A link to the page with all rights, as `satchel admin` makes it. */
function linkTo({ sessions, url }: Administration): string {
  const { code } = sessions.invite({ database: null, isReadOnly: false, life: null })
  return `${url()}#${code}`
}

/** With a certificate of the settings, one that the server gets by itself, or none. */
async function listenAsSet(
  config: Config,
  application: Application,
  parts: Omit<CertifiedParts, 'names'>,
): Promise<Listener> {
  const { acme: names } = config
  if (names === null) return await listen(config, application)
  const { listenCertified } = await import('./certified')
  return await listenCertified(config, application, { ...parts, names })
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

/** The token is new at every start, or the one that a container was given. */
async function openTesting(config: Config, clock: Clock): Promise<Testing | undefined> {
  if (!config.test) return undefined
  const { createTesting } = await import('./testing/testing')
  const { testTokenFile: file } = config
  return createTesting(
    clock,
    file === null ? newSecret() : readTokenFile('--test-token-file', file),
  )
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
    routes: async () => (await import('./control/testing')).testRoutes(),
    async perform(name, input) {
      const [{ findOperation }, { perform }] = await Promise.all([
        import('./control/operations'),
        import('./control/perform'),
      ])
      const operation = findOperation(`test.${name}`)
      if (operation === undefined) throw new Error(`there is no operation test.${name}`)
      return await perform(folder, operation, operation.read(input), {})
    },
  })
}

/** Declares the schema and imports the seed that the settings name. */
async function fillDatabase(folder: DataFolder, name: string, config: Config): Promise<void> {
  if (config.schema === null && config.seed === null) return
  const { declareSchema, importSeed, readSources } = await import('./control/seed')
  const { schema, seed } = await readSources(config.schema, config.seed)
  const plant = async (database: OpenDatabase) => {
    if (seed !== null) await importSeed(folder, database, seed)
  }
  folder.testing?.seededBy(plant)
  const host = await folder.hosts.open(name)
  if (schema !== null) await declareSchema(host, schema)
  await plant(host)
}

/** Checks that the data can be read. */
async function requireReadable({ hosts }: DataFolder, name: string): Promise<void> {
  // A copied database is not served, and does not keep the others from it: `resumeAll` reports it.
  await hosts.open(name).catch((error: unknown) => {
    if (!(error instanceof SatchelError) || error.code !== 'COPIED_DATABASE') throw error
  })
}

function reportUnopened(database: string, error: unknown): void {
  serverLog.error('A database cannot be opened', { database, error })
}

/** Does not keep the process alive. */
function repeat(ms: number, work: () => void): Disposable {
  const timer = setInterval(work, ms)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

async function isDoneWithin(
  milliseconds: number,
  work: PromiseLike<unknown> = Promise.resolve(),
): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), milliseconds)
  try {
    return await Promise.race([work.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
