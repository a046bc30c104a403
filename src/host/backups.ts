import type { Target } from '../backups/target'
import { SatchelError } from '../domain/value/error'

/** The backups of a data folder: one at a time. */
export interface Backups {
  /** Begins one, until it is disposed. Throws `CONFLICT` while another is under way, and for data in memory. */
  begin(): Disposable
  isUnderWay(): boolean
  /** Begins a restore of a database, until it is disposed. Throws `CONFLICT` while another is under way. */
  beginRestore(): Disposable
  /** Where the server keeps its backups; null without `--backup`. */
  place: Target | null
  /** The scheduled backups, which the schedule itself keeps up to date; null without a schedule. */
  schedule: ScheduleStatus | null
}

/** The state of the scheduled backups. Times are ISO 8601. */
export interface ScheduleStatus {
  /** Where they are written. */
  readonly target: string
  /** When the next one begins. */
  readonly next: string
  /** The latest one that was verified; of one from before the start, its size is not known. */
  readonly last: {
    readonly name: string
    readonly at: string
    readonly bytes: number | null
  } | null
  /** Why the latest attempts have failed; null after one that has not. */
  readonly failure: {
    readonly at: string
    readonly attempts: number
    readonly reason: string
  } | null
}

export function createBackups(isMemory: boolean): Backups {
  let isUnderWay = false
  let isRestoring = false
  return {
    schedule: null,
    place: null,
    isUnderWay: () => isUnderWay,
    begin() {
      if (isMemory) {
        throw new SatchelError(
          'CONFLICT',
          'This server keeps its data in memory and discards it at exit (--memory), so there is nothing to back up: export it with satchel export',
        )
      }
      if (isUnderWay) {
        throw new SatchelError(
          'CONFLICT',
          'A backup of this data folder is under way: repeat the command when it has ended',
        )
      }
      isUnderWay = true
      return { [Symbol.dispose]: () => void (isUnderWay = false) }
    },
    beginRestore() {
      if (isRestoring) {
        throw new SatchelError(
          'CONFLICT',
          'Another database is being restored: repeat this when it has ended',
        )
      }
      isRestoring = true
      return { [Symbol.dispose]: () => void (isRestoring = false) }
    },
  }
}
