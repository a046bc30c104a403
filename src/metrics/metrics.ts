import { statfs } from 'node:fs/promises'
import { hostname } from 'node:os'
import { version } from '../../package.json'
import type { Config } from '../config/config'
import type { Endpoint } from '../config/parsers'
import { readTokenFile } from '../config/token-file'
import { Histogram } from '../domain/value/histogram'
import type { DataFolder } from '../host/data-folder'
import type { AccountFigures } from '../limits/ledger'
import { type AccessEntry, serverLog } from '../log/log'
import type { CertificateStatus } from '../net/certificate'
import { type Listener, openListener } from './listener'
import { exposition, type Family } from './exposition'
import { createTraffic } from './traffic'

/** The parts of a server that metrics are taken from. */
export interface MetricsSources {
  readonly folder: DataFolder
  /** The live connections. */
  readonly live: { readonly count: number }
  readonly application: {
    observe(watcher: (entry: AccessEntry) => void): void
    figures(): {
      readonly accounts: readonly AccountFigures[]
      readonly syncs: { readonly pulls: number; readonly pushes: number }
    }
  }
  readonly certificate: () => CertificateStatus | null
  readonly every: (ms: number, work: () => void) => Disposable
}

type MetricsSettings = Pick<Config, 'metricsTokenFile' | 'metricsNames' | 'publicUrl'>

const LAG_EVERY_MS = 100
/** The most databases that are named. */
const MAX_DATABASES = 50
/** More mails are not counted. */
const MAX_MAILS = 1_000

/**
 * Answers scrapes until it is disposed. Throws `CONFLICT` for an address that cannot be used, and `UsageError` for a
 * file without a token.
 */
export function startMetrics(
  { host, port }: Endpoint,
  { metricsTokenFile, metricsNames, publicUrl }: MetricsSettings,
  sources: MetricsSources,
): AsyncDisposable {
  using undo = new DisposableStack()
  const token =
    metricsTokenFile === null ? null : readTokenFile('--metrics-token-file', metricsTokenFile)
  const traffic = createTraffic()
  const lag = new Histogram([0.005, 0.02, 0.1, 0.5, 1, 5, 30])
  let due = performance.now() + LAG_EVERY_MS
  undo.use(
    sources.every(LAG_EVERY_MS, () => {
      const now = performance.now()
      lag.observe(Math.max(0, now - due) / 1000)
      due = now + LAG_EVERY_MS
    }),
  )
  const listener: Listener = openListener({
    host,
    port,
    token,
    names: [hostname(), ...(publicUrl === null ? [] : [new URL(publicUrl).hostname])],
    render: async (format) =>
      exposition(
        [...traffic.families(), ...process(lag), ...(await familiesOf(sources, metricsNames))],
        format,
      ),
    failed: (error) => serverLog.error('A scrape failed', { error }),
  })
  sources.application.observe((entry) => traffic.count(entry))
  serverLog.info('Metrics are served', { url: listener.url })
  const owned = undo.move()
  return {
    async [Symbol.asyncDispose]() {
      owned.dispose()
      await listener[Symbol.asyncDispose]()
    },
  }
}

function process(lag: Histogram): readonly Family[] {
  return [
    {
      name: 'satchel_build_info',
      type: 'gauge',
      help: 'The version that runs.',
      samples: [{ labels: { version }, value: 1 }],
    },
    {
      name: 'satchel_event_loop_lag_seconds',
      type: 'histogram',
      help: 'How late a timer of 100 ms was.',
      samples: [{ value: lag }],
    },
  ]
}

/** The state of the server. Nothing is counted by reading all rows of a table. */
async function familiesOf(
  { folder, live, application, certificate }: MetricsSources,
  hasNames: boolean,
): Promise<readonly Family[]> {
  const { meter, databases } = folder.figures()
  const { accounts, syncs } = application.figures()
  const surveyed = await folder.hosts.survey((tx, name) => ({
    name,
    jobs: tx.jobs.list().map(({ failure }) => failure),
    mails: tx.mails.due(Number.MAX_SAFE_INTEGER, MAX_MAILS).length,
    ...tx.blobs.usage(null),
  }))
  const jobs = surveyed.flatMap((each) => each.jobs)
  const disk = await statfs(folder.path)
  const { schedule } = folder.backups
  const expiresAt = certificate()?.expiresAt
  const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0)
  return [
    gauge('writer_waiting', 'Units that wait to be written.', sum(databases.map((d) => d.waiting))),
    ...(meter === undefined ? [] : meterOf(meter)),
    gauge('log_bytes', 'The write-ahead logs of open databases.', sum(databases.map((d) => d.log))),
    gauge('databases_open', 'Databases that are open.', databases.length),
    gauge('objects', 'Objects of open databases.', sum(databases.map((d) => d.objects))),
    gauge('users', 'Users of open databases.', sum(databases.map((d) => d.users))),
    gauge('blobs', 'Blobs of open databases.', sum(surveyed.map((each) => each.blobs))),
    gauge('blob_bytes', 'The bytes of these.', sum(surveyed.map((each) => each.bytes))),
    gauge('databases_bytes', 'The files of open databases.', sum(databases.map((d) => d.bytes))),
    gauge('sockets', 'Live connections.', live.count),
    counter('sync_pulls', 'Requests of the add-on.', syncs.pulls),
    counter('sync_pushes', 'Those of them with changes.', syncs.pushes),
    byAccount('memory_reserved_bytes', 'gauge', 'Memory in use, by account.', (a) => a.reserved),
    byAccount('memory_limit_bytes', 'gauge', 'The limit of an account.', (a) => a.most),
    byAccount('memory_refused', 'counter', 'Requests refused for lack of it.', (a) => a.refused),
    byAccount('memory_cut', 'counter', 'Requests ended in favour of others.', (a) => a.cut),
    gauge('jobs', 'Jobs of open databases.', jobs.filter((failure) => failure === null).length),
    gauge('jobs_failed', 'Jobs that stopped.', jobs.filter((failure) => failure !== null).length),
    gauge('mails_waiting', 'Mails that wait to be sent.', sum(surveyed.map((each) => each.mails))),
    gauge(
      'backup_last_success_timestamp_seconds',
      'When the last good backup was made.',
      schedule?.last && Date.parse(schedule.last.at) / 1000,
    ),
    gauge(
      'backup_failures',
      'Attempts since then that failed.',
      schedule && (schedule.failure?.attempts ?? 0),
    ),
    gauge(
      'certificate_expiry_timestamp_seconds',
      'When the certificate in use expires.',
      expiresAt && expiresAt / 1000,
    ),
    gauge('disk_free_bytes', 'Free disk below the data folder.', disk.bavail * disk.bsize),
    gauge('disk_size_bytes', 'The size of that disk.', disk.blocks * disk.bsize),
    ...(hasNames ? namedFamilies() : []),
  ]

  function byAccount(
    name: string,
    type: 'counter' | 'gauge',
    help: string,
    of: (figures: AccountFigures) => number,
  ): Family {
    const samples = accounts.map((figures) => ({
      labels: { account: figures.name },
      value: of(figures),
    }))
    return { name: `satchel_${name}`, type, help, samples }
  }

  function namedFamilies(): Family[] {
    const largest = databases.toSorted((a, b) => b.bytes - a.bytes).slice(0, MAX_DATABASES)
    const shown = new Set(largest.map(({ name }) => name))
    const blobs = surveyed.filter(({ name }) => shown.has(name))
    return [
      byDatabase('database_bytes', 'The file of a database.', largest, (each) => each.bytes),
      byDatabase('database_objects', 'Objects of a database.', largest, (each) => each.objects),
      byDatabase('database_users', 'Users of a database.', largest, (each) => each.users),
      byDatabase('database_blobs', 'Blobs of a database.', blobs, (each) => each.blobs),
      byDatabase('database_blob_bytes', 'The bytes of these.', blobs, (each) => each.bytes),
    ]
  }
}

function byDatabase<T extends { readonly name: string }>(
  name: string,
  help: string,
  databases: readonly T[],
  of: (database: T) => number,
): Family {
  const samples = databases.map((each) => ({ labels: { database: each.name }, value: of(each) }))
  return { name: `satchel_${name}`, type: 'gauge', help, samples }
}

function meterOf({
  waits,
  commits,
  checkpoints,
}: NonNullable<ReturnType<DataFolder['figures']>['meter']>): Family[] {
  return [
    {
      name: 'satchel_writer_wait_seconds',
      type: 'histogram',
      help: 'How long units have waited to be written.',
      samples: [{ value: waits }],
    },
    counter('commits', 'Transactions that were committed.', commits),
    counter('checkpoints', 'Copies of a log into its file.', checkpoints),
  ]
}

function counter(name: string, help: string, value: number): Family {
  return { name: `satchel_${name}`, type: 'counter', help, samples: [{ value }] }
}

/** A value that is not known is left out. */
function gauge(name: string, help: string, value: number | null | undefined | ''): Family {
  const samples = typeof value === 'number' ? [{ value }] : []
  return { name: `satchel_${name}`, type: 'gauge', help, samples }
}
