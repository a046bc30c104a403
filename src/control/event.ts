import { type ErrorCode, SatchelError } from '../domain/value/error'

/** A part of the answer to an operation, a line of JSON. The last one is a result or an error. */
export type Event =
  | {
      readonly progress: {
        readonly done: number
        readonly total: number | null
        readonly phase?: string | undefined
      }
    }
  /** A row of an answer that has many, or that goes on until its caller leaves. */
  | { readonly item: unknown }
  | { readonly result: unknown }
  | { readonly error: WireError }

interface WireError {
  /** As over HTTP; absent for commands. */
  readonly status?: number
  readonly code: ErrorCode
  readonly message: string
  readonly reason?: string
}

export function writeEvent(event: Event): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`)
}

/** The status of an error over HTTP. */
export type StatusOf = (code: ErrorCode) => number

/** An error as the caller may see it: the message of an unexpected one stays in the log. */
export function toWire(error: unknown, statusOf?: StatusOf): WireError {
  const { code, message, reason } = error instanceof SatchelError ? error : FAILED
  return {
    ...(statusOf === undefined ? {} : { status: statusOf(code) }),
    code,
    message,
    ...(reason === undefined ? {} : { reason }),
  }
}

const FAILED = new SatchelError('INTERNAL', 'The server failed; its log says more')

export function fromWire({ code, message, reason }: WireError): SatchelError {
  return new SatchelError(code, message, reason === undefined ? {} : { reason })
}
