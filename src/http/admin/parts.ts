import type { AdminSessions, LiveSession } from '../../auth/admin/sessions'
import type { Clock } from '../../clock'
import type { ErrorCode } from '../../domain/value/error'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import type { AdminAssets } from './answers'
import type { AdminRules } from './origin'

/** The parts of the page for administrators that other rooms have. */
export interface AdminParts {
  readonly rules: AdminRules
  readonly clock: Clock
  readonly sessions: AdminSessions
  /** The operations; loaded at the first use. */
  readonly table: () => Promise<AdminTable>
  /** The files of the page; loaded at the first use. */
  readonly assets: () => Promise<AdminAssets>
}

/** The operations for the page, as `control/admin` has them. */
export interface AdminTable {
  list(session: LiveSession): readonly object[]
  admit(session: LiveSession, name: string, address: string): AdmittedOperation
}

export interface AdmittedOperation {
  /** True when it may change something. */
  readonly isChange: boolean
  /** True when it goes on until its caller leaves. */
  readonly follows: boolean
  /** Of the input as JSON; undefined: as large as that of an object. */
  readonly maxInputBytes: number | undefined
  order(input: unknown): AdminOrder
}

export interface AdminOrder {
  /** Answers at once; `ended` aborts the answer, with its reason as the error. */
  events(streams: {
    readonly upload: ReadableStream<Uint8Array> | null
    readonly signal: AbortSignal
    readonly ended: AbortSignal
    readonly finished: () => void
    readonly statusOf: (code: ErrorCode) => number
  }): Response
  run(download: (bytes: Uint8Array) => Promise<void>, signal: AbortSignal): Promise<unknown>
}

/** A request below `/admin` that came to the right place. */
export interface Visit {
  readonly http: HttpContext
  readonly call: Call
  /** As the browser sees it. */
  readonly origin: string
  /** The last segment of its path; empty where there is none. */
  readonly name: string
}
