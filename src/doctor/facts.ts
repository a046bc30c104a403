import type { Signs } from '../host/serving'
import type { CertificateStatus } from '../net/certificate'

/**
 * Everything that the checks look at, as JSON: a server tells it of itself, a command of the folder of a stopped one.
 * None of it is secret or a value of a database.
 */
export interface Facts {
  /** ms since the epoch, as all times here. */
  readonly now: number
  readonly settings: SettingsFacts
  readonly folder: FolderFacts
  readonly databases: readonly DatabaseFacts[]
  /** Null without TLS. */
  readonly certificate: CertificateFacts | null
  readonly backups: BackupFacts
  /** Null when no server answers. */
  readonly server: ServerFacts | null
  /** The listener on the port of a server that does not run; null when it is free, and beside a server. */
  readonly port: PortFacts | null
  /** Why the mail server takes no mails; null when it does, or was not asked. */
  readonly mailFailure: string | null
}

/** The settings that matter here. */
export interface SettingsFacts {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | null
  readonly development: boolean
  readonly isProxyTrusted: boolean
  readonly areLimitsOff: boolean
  readonly hasTls: boolean
  readonly sendsMails: boolean
  readonly memory: boolean
}

export interface FolderFacts {
  readonly path: string
  /** The permissions, such as 0o700. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** True for a folder that this process may write. */
  readonly isWritable: boolean
  /** Files in it of other users than its own, below the path. */
  readonly foreign: readonly string[]
  /** The network file system that it is on; null for a local one. */
  readonly network: string | null
  readonly freeBytes: number
  readonly sizeBytes: number
  /** Null where the file system has no number of files. */
  readonly freeFiles: number | null
  /** What upgrades, removals and restores have left, with its size in bytes. */
  readonly leftovers: readonly { readonly path: string; readonly bytes: number }[]
  /** When the folder was first used. */
  readonly since: number
}

export interface DatabaseFacts {
  readonly name: string
  /** Why it cannot be opened. */
  readonly fault: string | null
  /** The latest time that is stored in it; null when it is not known. */
  readonly latestTime: number | null
  /** Jobs that have stopped; null when it is not known. */
  readonly stoppedJobs: number | null
}

export interface CertificateFacts extends CertificateStatus {
  /** Null when it is not known. */
  readonly fitsKey: boolean | null
  /** False when it is not for the host of the public address. */
  readonly fitsAddress: boolean
  /** Why the files cannot be read. */
  readonly fault: string | null
  /** True when the server gets it by itself. */
  readonly isManaged: boolean
}

export interface BackupFacts {
  /** When the latest backup that was sent began. */
  readonly last: number | null
  /** The folder or bucket of scheduled backups. */
  readonly target: string | null
  /** Why this process may not write to it. */
  readonly refusal: 'owner' | 'file system' | null
  /** Why the latest scheduled one failed. */
  readonly failure: string | null
  /** The newest one in the target; null when there is none, or it was not read. */
  readonly newest: NewestBackup | null
}

export interface NewestBackup {
  /** Null when the target cannot be read. */
  readonly name: string | null
  /** The first thing that is not as it was written. */
  readonly fault: string | null
}

export interface ServerFacts {
  /** The numbers of files and connections that are open and may be open; null where the system does not tell. */
  readonly descriptors: { readonly open: number; readonly limit: number } | null
  readonly signs: Signs
}

export interface PortFacts {
  /** `nginx (process 812)`; null when it is not known. */
  readonly holder: string | null
}
