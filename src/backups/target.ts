import { SatchelError } from '../domain/value/error'

/** Reads backups. All paths have slashes, and no dots. */
export interface BackupReader {
  /** All that is in a backup, in no order. */
  files(backup: string): AsyncIterable<TargetFile>
  /**
   * The bytes of a file; each piece is good until the next one is asked for. Throws `DAMAGED` when it is missing or
   * cannot be read.
   */
  read(backup: string, path: string): AsyncIterable<Uint8Array>
  /** Where the file is on this machine, if it is. */
  readonly fileOf?: (backup: string, path: string) => string
}

/** A place with backups: a folder, or a bucket. */
export interface Target extends BackupReader {
  /** As it is shown: a path, or an address without secrets. */
  readonly name: string
  /** Sentences about it for the operator. */
  readonly warnings: readonly string[]
  /** A backup may share files with an earlier one. */
  readonly canShare: boolean
  /** May `secret.key` be written to it. */
  readonly takesKeys: boolean
  /** Makes the place, if there is none. Throws `STORAGE_FULL`, `STORAGE_FAILED` and `READ_ONLY`. */
  prepare(): Promise<void>
  /** The names of the complete backups, the oldest first. */
  list(): Promise<string[]>
  /** Begins a backup, which is none until it is finished. */
  begin(backup: string): Promise<Draft>
  /** Removes a backup. */
  remove(backup: string): Promise<void>
  /** Removes what backups that were interrupted have left; `now` in ms. */
  clean(now: number): Promise<void>
}

export interface TargetFile {
  readonly path: string
  /** In bytes; null for a link or another thing that is no file. */
  readonly size: number | null
}

/**
 * A backup that is being written. Disposing it removes it, unless it is finished; what cannot be removed is left to
 * `clean`.
 */
export interface Draft extends AsyncDisposable {
  /** A new file, which will have about so many bytes. */
  create(path: string, bytes?: number): Promise<Sink>
  /** Makes the file of an earlier backup one of this; false where it must be written. */
  reuse(backup: string, path: string): Promise<boolean>
  /** Makes everything survive power loss, and leads to it before it is a backup. */
  sync(): Promise<BackupReader>
  /** Makes everything survive power loss with the manifest, then makes it a backup. */
  finish(manifest: string): Promise<void>
}

export interface Sink {
  write(bytes: Uint8Array): Promise<void>
  end(): Promise<void>
  /** Removes the file, which has ended. */
  discard(): Promise<void>
}

/** The beginning of a backup, which names it: in UTC, with a number when there are several of a second. */
const NAME = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})Z(?:-(\d{1,3}))?$/

export function backupName(now: number, taken: readonly string[]): string {
  const name = `${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}Z`
  for (let number = 1; ; number += 1) {
    const numbered = number === 1 ? name : `${name}-${number}`
    if (!taken.includes(numbered)) return numbered
  }
}

/** The time in a name, ms; undefined for the name of another thing. */
export function timeOfBackup(name: string): number | undefined {
  const [, date, hours, minutes, seconds] = NAME.exec(name) ?? []
  if (date === undefined) return undefined
  const time = Date.parse(`${date}T${hours}:${minutes}:${seconds}.000Z`)
  return Number.isNaN(time) ? undefined : time
}

/** The order in which backups were made. */
export function compareBackups(one: string, other: string): number {
  const numberOf = (name: string) => Number(NAME.exec(name)?.[5] ?? 1)
  const [first, second] = [timeOfBackup(one) ?? 0, timeOfBackup(other) ?? 0]
  return first - second || numberOf(one) - numberOf(other)
}

/** True for a path that leads nowhere but into the backup. */
export function isPath(path: string): boolean {
  return /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)*$/.test(path)
}

/** Throws `UNPROCESSABLE`. */
export function requireName(backup: string): string {
  if (timeOfBackup(backup) !== undefined) return backup
  throw new SatchelError('UNPROCESSABLE', `${JSON.stringify(backup)} is no name of a backup`)
}

/** Throws `DAMAGED`. */
export function requirePath(path: string): string {
  if (isPath(path)) return path
  throw new SatchelError(
    'DAMAGED',
    `The backup names a file outside of it, ${JSON.stringify(path)}`,
  )
}
