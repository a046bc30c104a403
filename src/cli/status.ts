import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { DAY, HOUR, MINUTE } from '../domain/value/time'
import { viewFolder } from '../host/folder-view'
import { type Holder, nameHolder, readHolder } from '../host/holder'
import type { CertificateStatus } from '../net/certificate'
import { isFolderLocked } from '../sqlite/lock'
import { type Cli, Ending, example, findFolder, withFolder } from './command'
import { counted, isoTime, minute, print, size } from './output'
import { table } from './table'

/** The exit code when no server answers, as of `systemctl status`. */
const NOT_RUNNING = 3

/** `satchel status`. */
export function addStatusCommand(program: Command, cli: Cli): void {
  withFolder(program.command('status'))
    .description('show whether a server runs, with its databases, backups, certificate and disk')
    .addHelpText(
      'after',
      '\nThe exit code is 0 when a server answers, and 3 when none does. satchel doctor looks for mistakes and damage.',
    )
    .addHelpText('after', example('satchel status --data /var/lib/satchel'))
    .action(async (options) => {
      const { data } = findFolder(cli, options)
      const status = await readStatus(data)
      const now = cli.clock.now()
      const { terminal } = cli
      await print(cli, options, shown(status, now), describe(status, now, terminal.outputWidth))
      if (status.state !== 'running') throw new Ending(NOT_RUNNING)
    })
}

/** `busy`: a process has the folder and answers no commands, such as a server that starts or stops. */
type Status =
  | ({ readonly state: 'running' } & Running)
  | ({ readonly state: 'stopped' | 'busy'; readonly holder: Holder | undefined } & Stopped)

type Running = OutputOf<'status'>
type RunningDatabase = Running['databases'][number]

/** What the files of a folder tell. */
interface Stopped extends Pick<Running, 'folder' | 'disk'> {
  readonly databases: readonly Pick<RunningDatabase, 'name' | 'bytes' | 'logBytes'>[]
  readonly backups: Pick<Running['backups'], 'last'>
}

async function readStatus(folder: string): Promise<Status> {
  const holder = readHolder(folder)
  if (holder !== undefined) {
    const { callHolder, isAnswering } = await import('../control/session')
    if (await isAnswering(holder)) {
      const found = await callHolder<Running>(holder, 'status', {}, {})
      return { state: 'running', ...found }
    }
  }
  const { databases, disk, lastBackup } = await viewFolder(folder)
  const state = isFolderLocked(folder) ? 'busy' : 'stopped'
  return { state, holder, folder, databases, disk, backups: { last: lastBackup } }
}

/** For programs; null is everything that only a server which answers could tell. */
function shown(status: Status, now: number): object {
  const { state, folder, databases, backups, disk } = status
  const server = state === 'running' ? status : undefined
  return {
    state,
    version: server?.version ?? null,
    pid: server?.pid ?? null,
    url: server?.url ?? null,
    since: isoTime(server?.since ?? null),
    folder,
    databases,
    sockets: server?.sockets ?? null,
    jobs: server?.jobs ?? null,
    lastBackup: isoTime(backups.last),
    backups: server?.backups.schedule ?? null,
    certificate: server?.certificate ? certificateOf(server.certificate, now) : null,
    disk,
  }
}

function certificateOf({ names, expiresAt, failure }: CertificateStatus, now: number) {
  return {
    names,
    expires: isoTime(expiresAt),
    days: expiresAt === null ? null : daysUntil(expiresAt, now),
    failure: failure && { ...failure, at: isoTime(failure.at) },
  }
}

function describe(status: Status, now: number, width?: number): string {
  const { databases, backups, folder, disk } = status
  const { last } = backups
  const space = `${size(disk.freeBytes)} of ${size(disk.sizeBytes)} are free`
  const lines: readonly (readonly [string, string])[] = [
    ['Server', describeServer(status, now)],
    ...(status.state === 'running' ? describeRunning(status, now) : []),
    ['Last backup', last === null ? 'none is known' : `${timeText(last)}, ${ago(last, now)}`],
    ['Data', `${folder}: ${space}`],
  ]
  const rows = databases.map(({ name, bytes, logBytes, ...known }) => [
    name,
    size(bytes),
    size(logBytes),
    blobsText(known),
  ])
  const headings = ['database', 'size', 'log', 'blobs']
  return [
    ...lines.map(([name, text]) => `${name.padEnd(16)}${text}`),
    ...(rows.length === 0 ? ['There are no databases'] : ['', table(headings, rows, width)]),
  ].join('\n')
}

/** Empty when they are not known. */
function blobsText({
  blobs = null,
  blobBytes = null,
}: Partial<Pick<RunningDatabase, 'blobs' | 'blobBytes'>>): string {
  return blobs === null || blobBytes === null
    ? ''
    : `${blobs.toLocaleString('en')} (${size(blobBytes)})`
}

function describeServer(status: Status, now: number): string {
  if (status.state === 'running') {
    const { version, pid, since } = status
    const start = since === null ? '' : ` since ${timeText(since)} (${spanText(now - since)})`
    return `running${start}, version ${version}, process ${pid}`
  }
  if (status.state === 'stopped') return 'stopped'
  return `${nameHolder(status.holder)} has the data folder and answers no commands: it starts or stops, or is another command`
}

function describeRunning(
  { url, sockets, jobs, certificate, backups: { schedule } }: Running,
  now: number,
): (readonly [string, string])[] {
  const stopped = jobs.stopped === 0 ? '' : `, ${jobs.stopped} stopped (satchel job list)`
  return [
    ['Address', url ?? 'unknown'],
    ['Sockets', String(sockets)],
    ['Jobs', `${jobs.running} under way${stopped}`],
    ...(certificate === null ? [] : [['Certificate', certificateText(certificate, now)] as const]),
    ...(schedule === null
      ? []
      : [['Next backup', `${minute(schedule.next)} UTC to ${schedule.target}`] as const]),
    ...(schedule?.failure ? [['Failed backup', schedule.failure.reason] as const] : []),
  ]
}

function certificateText({ names, expiresAt, failure }: CertificateStatus, now: number): string {
  const days = expiresAt === null ? 'none yet' : daysText(daysUntil(expiresAt, now))
  const reason = failure === null ? '' : `; the next one was not issued: ${failure.reason}`
  return `${names.join(', ')}: ${days}${reason}`
}

function daysText(days: number): string {
  return days < 0 ? 'expired' : `${counted(days, 'day')} left`
}

function daysUntil(time: number, now: number): number {
  return Math.floor((time - now) / DAY)
}

/** `2030-01-31 12:00 UTC` */
function timeText(time: number): string {
  return `${minute(isoTime(time))} UTC`
}

function ago(time: number, now: number): string {
  return `${spanText(now - time)} ago`
}

/** `3 days`, `1 hour`. */
function spanText(ms: number): string {
  if (ms >= DAY) return counted(Math.floor(ms / DAY), 'day')
  if (ms >= HOUR) return counted(Math.floor(ms / HOUR), 'hour')
  return counted(Math.max(0, Math.floor(ms / MINUTE)), 'minute')
}
