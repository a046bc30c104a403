import { type Actor, requireScopes } from '../domain/access/actor'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import { serverLog } from '../log/log'
import { type Caller, operator, ownUid } from './caller'
import { type Event, type StatusOf, toWire, writeEvent } from './event'
import type { Fields, Values } from './fields'
import type { AnyOperation, Named, Operation, Streams } from './operation'
import { type Recorder, recordInDatabase, recordInServer } from './record'

/**
 * Runs an operation. All doors come through here: commands, directly or by the control channel, and the addresses
 * for tests. Throws `NOT_AUTHORIZED`, and what the operation throws.
 */
export async function perform<F extends Fields, Output>(
  folder: DataFolder,
  operation: Named<Operation<F, Output>>,
  input: Values<F>,
  streams: Streams,
  caller: Caller = operator(ownUid()),
): Promise<Output> {
  const { actor, isOperator, isReadOnly = false } = caller
  if (!isOperator) requireCaller(actor, operation)
  const isRecorded = operation.effect !== 'read' || operation.isRecorded === true
  const isChange = isRecorded && operation.asks?.(input) !== true
  const run = (record?: Recorder) =>
    operation.run(folder, input, { ...streams, actor, isReadOnly, record })
  if (!isChange || operation.recordedIn === null) return await run()
  const change = { folder, operation: operation.name, caller }
  return operation.recordedIn === 'server'
    ? await recordInServer(change, run)
    : await recordInDatabase(change, String(input['database']), run)
}

function requireCaller(actor: Actor, { scopes }: Pick<AnyOperation, 'scopes'>) {
  if (scopes === 'operator') {
    throw new SatchelError('NOT_AUTHORIZED', 'Not authorized', { reason: 'operator' })
  }
  requireScopes(actor, scopes)
}

/** The parts of a request that asks for an operation. */
export interface Asking {
  readonly body: ReadableStream<Uint8Array> | null
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal
  /** Aborted when the caller may not hear more, with the error that ends the answer. */
  readonly ended?: AbortSignal
  /** Called when the operation is over. */
  readonly finished?: () => void
  /** The status of an error over HTTP. */
  readonly statusOf?: StatusOf
  /** A piece of a file among the events; absent where callers get JSON only. */
  readonly frame?: (bytes: Uint8Array) => Uint8Array
  /** True for a caller who takes the result alone. */
  readonly hasNoRows?: boolean
  readonly caller?: Caller
}

/** Answers at once and runs the operation; its events follow. */
export function answerPerforming(
  folder: DataFolder,
  operation: Named<AnyOperation>,
  input: Values<Fields>,
  { body, signal, ended, finished, statusOf, frame, hasNoRows, caller }: Asking,
): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  let isReporting = false

  /** Skipped while the last report is still being written: it would be out of date. */
  function progress(done: number, total: number | null, phase?: string): void {
    if (isReporting) return
    isReporting = true
    writer.write(writeEvent({ progress: { done, total, phase } })).then(
      () => (isReporting = false),
      () => undefined,
    )
  }

  async function run(): Promise<void> {
    const streams: Streams = {
      upload: body === null ? undefined : untilEnded(body, ended),
      progress,
      ...(hasNoRows === true ? {} : { emit: together((rows) => writer.write(rows)) }),
      ...(frame === undefined ? {} : { download: (bytes) => writer.write(frame(bytes)) }),
      signal: ended === undefined ? signal : AbortSignal.any([signal, ended]),
    }
    try {
      const result = await perform(folder, operation, input, streams, caller)
      await writer.write(writeEvent({ result }))
    } catch (error) {
      if (!(error instanceof SatchelError) && !streams.signal?.aborted)
        serverLog.error('A command failed', { error })
      await writer.write(writeEvent({ error: toWire(error, statusOf) }))
    } finally {
      // The rest of a file that was refused: its sender and its timers wait.
      streams.upload?.cancel().catch(() => undefined)
    }
    await writer.close()
  }

  // A write fails when the caller has disconnected.
  run()
    .catch(() => undefined)
    .finally(() => finished?.())
  return eventResponse(readByPart(readable, ended, statusOf))
}

/** The bytes of an upload until its caller may send no more; the reason is the error then. */
function untilEnded(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  if (signal === undefined) return body
  return body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal })
}

/** Rows that are emitted at the same time are one write, which takes several times as long as making a row. */
function together(write: (bytes: Uint8Array) => Promise<void>): NonNullable<Streams['emit']> {
  let rows: Uint8Array[] = []
  let writing: Promise<void> | undefined
  return (item) => {
    rows.push(writeEvent({ item }))
    writing ??= Promise.resolve().then(() => {
      const all = Buffer.concat(rows)
      rows = []
      writing = undefined
      return write(all)
    })
    return writing
  }
}

/** The events as the reader takes them; the reason of `ended` is the last one. */
function readByPart(
  events: ReadableStream<Uint8Array>,
  ended: AbortSignal | undefined,
  statusOf: StatusOf | undefined,
): ReadableStream<Uint8Array> {
  const reader = events.getReader()
  // This wakes an operation that waits for a slow reader; to abort the writer would wait for that reader too.
  const leave = () => void reader.cancel().catch(() => undefined)
  if (ended?.aborted === true) leave()
  ended?.addEventListener('abort', leave, { once: true })
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        if (ended?.aborted === true) {
          controller.enqueue(writeEvent({ error: toWire(ended.reason, statusOf) }))
        }
        controller.close()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** The answer to a request that no operation runs for. */
export function refusal(status: number, error: unknown): Response {
  return eventResponse(writeEvent({ error: toWire(error) } satisfies Event), status)
}

function eventResponse(body: ReadableStream<Uint8Array> | Uint8Array, status = 200): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/x-ndjson' } })
}
