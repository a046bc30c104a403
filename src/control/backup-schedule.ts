import type { MadeBackup } from '../backups/make'
import { openTarget, type TargetSettings } from '../backups/open'
import { prune } from '../backups/prune'
import { type Target, timeOfBackup } from '../backups/target'
import type { Clock } from '../clock'
import type { Retention } from '../domain/backup/retention'
import { lastTime, nextTime, type TimeOfDay } from '../domain/backup/schedule'
import { SatchelError } from '../domain/value/error'
import { MINUTE } from '../domain/value/time'
import type { Backups } from '../host/backups'
import { holdTarget } from '../host/backup-target'
import type { DataFolder } from '../host/data-folder'
import { serverLog } from '../log/log'
import { backupOperations } from './backups'
import { operator, ownUid } from './caller'
import { makeBackupIn } from './kept-backups'
import { perform } from './perform'

/** The backups that a server makes by itself. */
export interface BackupSchedule extends AsyncDisposable {
  /** Makes a backup if it is time; resolves when it has ended. */
  look(): Promise<void>
}

export interface ScheduleParts {
  readonly clock: Clock
  /** Calls `work` again and again, until it is disposed. */
  readonly every: (ms: number, work: () => void) => Disposable
  readonly at: TimeOfDay
  readonly keep: Retention
  readonly target: Target
  /** Keeps the state of the schedule, for `backup.status`. */
  readonly backups: Pick<Backups, 'schedule'>
  /** Makes a backup and reads it again; the signal ends it. */
  readonly make: (signal: AbortSignal) => Promise<MadeBackup>
  /** Removes what an earlier process has left unfinished. Throws `CONFLICT` while another one writes. */
  readonly clean: () => Promise<void>
}

/** The settings of scheduled backups. */
export interface ScheduleSettings extends TargetSettings {
  readonly backupAt: TimeOfDay
  readonly backupKeep: Retention
}

/** Makes the backups of a data folder to this address. Throws `UNPROCESSABLE` when something is missing that it needs. */
export function startBackupSchedule(
  folder: DataFolder,
  address: string,
  settings: ScheduleSettings,
  { clock, every }: Pick<ScheduleParts, 'clock' | 'every'>,
): BackupSchedule {
  const target = openTarget(address, settings, { isBeside: true })
  const backup = { ...backupOperations.backup, name: 'backup' }
  const { backupAt: at, backupKeep: keep } = settings
  const { backups } = folder
  backups.place = target
  async function make(signal: AbortSignal): Promise<MadeBackup> {
    const caller = { ...operator(ownUid()), door: 'job' } as const
    const made = await makeBackupIn(
      folder,
      target,
      (streams) => perform(folder, backup, { database: null }, { ...streams, signal }, caller),
      signal,
    )
    for (const warning of target.warnings) serverLog.warning(warning)
    return made
  }
  async function clean(): Promise<void> {
    await using _ = await holdTarget(target)
    await target.clean(clock.now())
  }
  return createBackupSchedule({ clock, every, at, keep, target, backups, make, clean })
}

/** How often to look at the clock, which may be moved. */
const LOOK_EVERY_MS = MINUTE
/** The pause after the first failure of a night; it doubles with each. */
const FIRST_PAUSE_MS = 5 * MINUTE
const LONGEST_PAUSE_MS = 6 * 60 * MINUTE

/**
 * Makes a backup each day at a time, and removes old ones. One that failed is tried again; so is one that was missed
 * because no server ran.
 */
export function createBackupSchedule(parts: ScheduleParts): BackupSchedule {
  const { clock, every, at, keep, target, backups, make, clean } = parts
  const stop = new AbortController()
  let next: number | undefined
  let attempts = 0
  let working: Promise<void> | undefined

  async function work(): Promise<void> {
    try {
      next ??= await firstTime()
      report({})
      if (clock.now() < next) return
      const { name, bytes, databases } = await make(stop.signal)
      next = nextTime(clock.now(), at)
      attempts = 0
      report({ last: { name, at: isoOf(clock.now()), bytes }, failure: null })
      serverLog.info('A backup was made and verified', { backup: name, target: target.name, bytes })
      for (const { name: database, blobs } of databases) {
        if (blobs.damaged.length === 0) continue
        serverLog.error('Damaged blobs are missing from the backup', { database, ...blobs })
      }
      await removeOld()
    } catch (error) {
      if (!stop.signal.aborted) fail(error)
    }
  }

  /** A failure is tried again with the next backup: another one now would take room, too. */
  async function removeOld(): Promise<void> {
    try {
      const { removed } = await prune(target, keep)
      if (removed.length > 0) serverLog.info('Old backups were removed', { removed })
    } catch (error) {
      const reason = `Old backups cannot be removed: ${reasonOf(error)}`
      report({ failure: { at: isoOf(clock.now()), attempts: 1, reason } })
      serverLog.error('Old backups could not be removed', { target: target.name, error })
    }
  }

  /** Now, when the backup of the latest night is missing. */
  async function firstTime(): Promise<number> {
    const now = clock.now()
    await clean().catch((error: unknown) => {
      if (!(error instanceof SatchelError) || error.code !== 'CONFLICT') throw error
    })
    const name = (await target.list()).at(-1)
    const time = name === undefined ? undefined : timeOfBackup(name)
    // None is complete before it was verified.
    if (name !== undefined && time !== undefined) {
      report({ last: { name, at: isoOf(time), bytes: null } })
    }
    return time !== undefined && time >= lastTime(now, at) ? nextTime(now, at) : now
  }

  function fail(error: unknown): void {
    attempts += 1
    const now = clock.now()
    next = now + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1))
    report({ failure: { at: isoOf(now), attempts, reason: reasonOf(error) } })
    serverLog.error('A backup failed and will be tried again', {
      target: target.name,
      attempts,
      next: isoOf(next),
      error,
    })
  }

  function report(change: Partial<NonNullable<Backups['schedule']>>): void {
    const known = backups.schedule ?? { target: target.name, next: '', last: null, failure: null }
    backups.schedule = { ...known, ...change, next: isoOf(next ?? clock.now()) }
  }

  function look(): Promise<void> {
    return (working ??= work().finally(() => (working = undefined)))
  }

  const timer = every(LOOK_EVERY_MS, () => void look())
  return {
    look,
    async [Symbol.asyncDispose]() {
      timer[Symbol.dispose]()
      stop.abort()
      await working
    },
  }
}

function reasonOf(error: unknown): string {
  return error instanceof SatchelError ? error.message : 'See the log of the server'
}

function isoOf(time: number): string {
  return new Date(time).toISOString()
}
