import { version } from '../package.json'
import type { Clock } from './clock'
import type { Config } from './config/config'
import { createCreation } from './control/creation'
import type { DataFolder } from './host/data-folder'
import { noSigns, type Signs } from './host/serving'
import type { RecentFigures } from './host/recent-figures'
import type { Fault } from './host/test-mode'
import type { AnswerAdmin } from './http/routes/admin'
import type { AnswerTest } from './http/routes/testing'
import { SatchelError } from './domain/value/error'
import { codeAndLinkOf } from './domain/store/mailer'
import type { App } from './http/app'
import type { HttpContext, PrintedMail, RejectedRequest } from './http/context'
import type { Refused, RefusedRows } from './domain/sync/refused'
import type { Rejection, Rejections } from './host/live-event'
import type { Call } from './http/call'
import { createBodies } from './http/body/body'
import { createUnsent } from './http/body/unsent'
import { createUploads } from './http/body/uploads'
import { createLimiter } from './http/rate-limits'
import type { Live } from './sync/live'
import type { Application } from './listen'
import { type AccessEntry, httpLog, type Logs, serverLog } from './log/log'
import type { Message } from './mail/message'
import { type AccountFigures, createLedger } from './limits/ledger'
import { RATE_LIMITS } from './limits/rate-limits'

/** The lowest average rate at which a client may send a blob, bytes per second. */
const MIN_BYTES_PER_SECOND = 1024

/** The HTTP application of this server. */
export interface ServedApplication extends Application {
  /** Called once the server listens: pages of this origin may call it. */
  servedAt(url: string): void
  /** Loads what answers requests; those that came before have waited for it. */
  open(): Promise<void>
  /** Loads the router before a request needs it. */
  readonly warmUp: () => void
  /** Calls `watcher` with each request from now on. */
  observe(watcher: (entry: AccessEntry) => void): void
  /** The state of its parts, for metrics. */
  figures(): {
    readonly accounts: readonly AccountFigures[]
    readonly syncs: HttpContext['syncs']
  }
  /** What its requests have shown, for administrators. */
  readonly signs: Readonly<Signs>
  /**
   * From now on requests are refused, to be repeated a second later; those of the published add-on wait for the end of
   * the process, which cuts them (promises.md 45).
   */
  retire(): void
  /** How many of these requests have no answer yet. */
  readonly late: number
}

interface ApplicationParts {
  readonly clock: Clock
  readonly logs: Logs
  readonly figures: Pick<RecentFigures, 'count'>
  readonly mode: Mode
  readonly printer: Printer
  readonly answerTest: AnswerTest | undefined
  readonly answerAdmin: AnswerAdmin | undefined
}

/** Answers every request of the server from `folder`; `answerTest` is present in test mode. */
export function createApplication(
  folder: DataFolder,
  live: Live,
  config: Config,
  { mode, printer, clock, logs, figures, answerTest, answerAdmin }: ApplicationParts,
): ServedApplication {
  const { maxBody: bytes, maxDepth: depth, maxValues: values, maxProperties: properties } = config
  const own = new Set(config.publicUrl === null ? [] : [new URL(config.publicUrl).origin])
  let isReady = true
  let watch: ((entry: AccessEntry) => void) | undefined
  const hosts = folder.hostsAt('rest')
  const clockOf = ({ segments }: Call) => hosts.findOpen(segments[1] ?? '')?.clock ?? clock
  const isLimited = () => config.rateLimits !== null || !mode.isDevelopment()
  const ledger = createLedger()
  const signs = noSigns()
  const warnOfProxy = createProxyWarning()
  const http: HttpContext = {
    // Not imported at the top, to keep the start of a server fast.
    operations: async () => (await import('./control/rest')).restOperations(folder),
    hosts,
    ledger,
    bodies: createBodies({ bytes, depth, values, properties }, { ledger }),
    uploads: createUploads(ledger),
    unsent: createUnsent({ ledger }),
    limits: createLimiter(config.rateLimits ?? RATE_LIMITS, clockOf, isLimited),
    async record({ operation, database, caller, address }, run) {
      const [{ recordInDatabase }, { ofCaller, ofPerson }] = await Promise.all([
        import('./control/record'),
        import('./control/caller'),
      ])
      const of = typeof caller === 'string' ? ofPerson(caller, address) : ofCaller(caller, address)
      return await recordInDatabase({ folder, operation, caller: of }, database, run)
    },
    creation: createCreation(folder, config, () => mode.isDevelopment()),
    live,
    importLimits: folder.importLimits,
    writeLimits: config,
    blobs: {
      limits: folder.blobLimits,
      offload: folder.offloadRule,
      timeout: { silence: config.maxSilence * 1000, rate: MIN_BYTES_PER_SECOND },
    },
    origins: { own, isDevelopment: () => mode.isDevelopment() },
    printedMails: () => printer.last(),
    proxies: config.trustProxy,
    unknownProxy(address) {
      signs.unknownProxy = address
      warnOfProxy(address)
    },
    signs,
    syncs: { pulls: 0, pushes: 0 },
    version,
    isReady: () => isReady,
    access(entry) {
      logs.access(entry)
      watch?.(entry)
      figures.count(entry.path, entry.status, entry.duration)
      if (entry.code === 'DAMAGED' || entry.code === 'BLOB_DAMAGED') signs.damagedAnswers += 1
    },
    rejected(request, rows) {
      logRejected(request, rows)
      live.rejected(request.database, () => rejectionsOf(request, rows))
    },
    failure(requestId, error) {
      // An answer that broke off because others have the memory is no fault of the server.
      const isBusy = error instanceof SatchelError && error.code === 'BUSY'
      httpLog[isBusy ? 'warning' : 'error']('A request failed', { requestId, error })
    },
    answerTest: (call) => answerTest?.(http, call),
    answerAdmin: answerAdmin && ((call) => answerAdmin(http, call)),
  }
  let app: App | undefined
  const opened = Promise.withResolvers<void>()

  const answer: Application['fetch'] = (request, server, segments) => {
    if (app === undefined) return isStopping()
    const made = app
    mode.look(request)
    const fault = folder.testing?.faultFor(request)
    if (fault === undefined) return made.fetch(request, server, segments)
    return fail(fault, request, () => made.fetch(request, server, segments))
  }

  return {
    fetch(request, server, segments) {
      if (app === undefined) return opened.promise.then(() => answer(request, server, segments))
      return isReady ? answer(request, server, segments) : app.fetchLate(request, server, segments)
    },
    get late() {
      return app?.late ?? 0
    },
    async open() {
      const { createApp } = await import('./http/app')
      app = createApp(http, config.domain)
      opened.resolve()
    },
    signs,
    warmUp: () => void app?.warmUp(),
    observe: (watcher) => void (watch = watcher),
    figures: () => ({ accounts: ledger.figures(), syncs: http.syncs }),
    servedAt: (url) => own.add(url),
    retire() {
      isReady = false
      opened.resolve()
    },
  }
}

/** A line for each row: a published client undoes a rejected transaction without telling its user. */
const logRejected: HttpContext['rejected'] = (request, { first, count }) => {
  for (const { table, key, code, rule, txid } of first) {
    httpLog.info('A change was rejected', { ...request, table, key, code, rule, txid })
  }
  const more = count - first.length
  if (more > 0) httpLog.info('More changes were rejected', { ...request, changes: more })
}

function rejectionsOf(
  { subject, device }: RejectedRequest,
  { first, count }: RefusedRows,
): Rejections {
  const writer = { subject, device, door: 'sync' } as const
  const rowOf = ({ key, rule, ...row }: Refused): Rejection => {
    return { ...writer, ...row, key: key ?? null, rule: rule ?? null }
  }
  return { first: first.map(rowOf), count }
}

/** For a request that has waited for a start that failed. */
function isStopping(): Response {
  return Response.json(
    { code: 'BUSY', message: 'The server is stopping: repeat the request' },
    { status: 503, headers: { 'retry-after': '1' } },
  )
}

/** Loads the faults of test mode when one is asked for. */
async function fail(
  fault: Fault,
  request: Request,
  proceed: () => Response | Promise<Response>,
): Promise<Response> {
  const { underFault } = await import('./testing/fault')
  return await underFault(fault, request, proceed)
}

const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-forwarded-proto']

/** Development mode allows what is convenient on this machine and unsafe anywhere else. */
export interface Mode {
  isDevelopment(): boolean
  /** A request through an unknown proxy ends development mode: its caller may be anywhere (design.md §2). */
  look(request: Request): void
}

function isForwarded(headers: Headers): boolean {
  for (const name of FORWARDED) if (headers.has(name)) return true
  return false
}

/** Begins as the settings say. */
export function createMode(config: Config): Mode {
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
export interface Printer {
  isDevelopment(): boolean
  print(message: Message): void
  /** The last ones, newest first; none outside development. */
  last(): readonly PrintedMail[]
}

/** Writes mails to the log, and keeps the last ten. */
export function createPrinter(logs: Logs, mode: Mode): Printer {
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
