import { type ErrorCode, SatchelError } from '../domain/error'

/** A line of an answer of the control listener. The last one is a result or an error. */
export type Event =
  | { readonly progress: { readonly done: number; readonly total: number | null } }
  | { readonly text: string }
  | { readonly result: unknown }
  | { readonly error: WireError }

interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly reason?: string
}

export function writeEvent(event: Event): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`)
}

/** The events of an answer as they arrive. The other side is the same program with the same token. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Event> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as Event
  }
}

/** What may leave the process about an error: an unexpected one says nothing of its own. */
export function toWire(error: unknown): WireError {
  if (!(error instanceof SatchelError)) {
    return { code: 'INTERNAL', message: 'The server failed; its log says more' }
  }
  const { code, message, reason } = error
  return { code, message, ...(reason === undefined ? {} : { reason }) }
}

export function fromWire({ code, message, reason }: WireError): SatchelError {
  return new SatchelError(code, message, reason === undefined ? {} : { reason })
}
