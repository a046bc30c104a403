/** The refusal of the gate or of an operation, or a failure of the way there. */
export class Refusal extends Error {
  constructor(
    /** 0 when no answer came. */
    readonly status: number,
    readonly code: string,
    message: string,
    /** Further properties of the error, as the stored value of a stale edit. */
    readonly more: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
  }
}

export const UNREACHABLE = 'UNREACHABLE'
export const SESSION_ENDED = 'SESSION_ENDED'
export const CONFIRMATION_NEEDED = 'CONFIRMATION_NEEDED'

/** Reads an error from JSON of the server. */
export function readRefusal(status: number, error: unknown): Refusal {
  const { code, message, ...more } = (error ?? {}) as Record<string, unknown>
  return new Refusal(
    typeof more['status'] === 'number' ? more['status'] : status,
    typeof code === 'string' ? code : 'INTERNAL',
    typeof message === 'string' ? message : `The server answered ${status}`,
    more,
  )
}

export function unreachable(): Refusal {
  return new Refusal(0, UNREACHABLE, 'The server does not answer')
}

/** True for an error that ends by itself: no answer, a server that starts or stops, too many callers. */
export function isPassing(error: unknown): boolean {
  return error instanceof Refusal && (error.status === 0 || PASSING.has(error.status))
}

const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** The sentence of an error for people. */
export function sentenceOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError'
}
