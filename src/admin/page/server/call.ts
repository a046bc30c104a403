import { inSlices } from '../parts/slices'
import { createLineSplitter } from './lines'
import { LONG, parseSteps } from './parse'
import { isReachable, post, refusalOf, request, sessionKey } from './request'
import { CONFIRMATION_NEEDED, isPassing, Refusal, SESSION_ENDED, unreachable } from './refusal'
import { confirm } from './confirmation'
import { operations, refreshSession, session } from './session'

export interface Progress {
  readonly done: number
  readonly total: number | null
  readonly phase?: string
}

export interface CallOptions {
  /** Ends the operation. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: (progress: Progress) => void
  /** A row of a long operation, or of one that follows something. */
  readonly onItem?: (item: unknown) => void
  /** All items come again, from the first one: those before do not count. */
  readonly onRestart?: () => void
  /** The bytes that the operation takes. */
  readonly upload?: Blob
  /** True for a call that only reads of an operation that can write too. */
  readonly isRead?: true
  /** A field of the input that is there as JSON: to read and write megabytes would hold the page. */
  readonly json?: Readonly<Record<string, string>>
}

type Event =
  | { readonly progress: Progress }
  | { readonly item: unknown }
  | { readonly result: unknown }

/**
 * Runs an operation of the table, and resolves to its output. One that needs a fresh login runs again after it, and one
 * that only reads waits for the next session when this one has ended: not after items, unless `onRestart` is given. Throws a
 * `Refusal`, and an `AbortError` when `signal` ended it.
 */
export async function call<Output>(
  operation: string,
  input: object,
  options: CallOptions = {},
): Promise<Output> {
  const { isRead = operations.peek().get(operation)?.effect === 'read' } = options
  if (isRead && session.peek() === null) await untilLoggedIn(options.signal)
  let hasItems = false
  const onItem = (item: unknown) => {
    hasItems = true
    options.onItem?.(item)
  }
  try {
    return await attempt<Output>(operation, input, { ...options, onItem })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (isRead && error.code === SESSION_ENDED && (!hasItems || options.onRestart !== undefined)) {
      if (hasItems) options.onRestart?.()
      return await call<Output>(operation, input, options)
    }
    if (error.code !== CONFIRMATION_NEEDED) throw error
    if (!(await confirm())) throw error
    return await attempt<Output>(operation, input, options)
  }
}

/** Throws what `signal` is aborted with. */
async function untilLoggedIn(signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const stop = session.subscribe((found) => {
    if (found) resolve()
  })
  const give = () => reject(signal?.reason)
  signal?.addEventListener('abort', give)
  try {
    await promise
  } finally {
    stop()
    signal?.removeEventListener('abort', give)
  }
}

async function attempt<Output>(
  operation: string,
  input: object,
  options: CallOptions,
): Promise<Output> {
  const key = sessionKey.peek()
  const answer = await send(operation, input, options)
  for await (const event of eventsOf(answer, key, options.signal)) {
    if ('progress' in event) options.onProgress?.(event.progress)
    else if ('item' in event) options.onItem?.(event.item)
    else return event.result as Output
  }
  isReachable.value = false
  throw unreachable()
}

function send(operation: string, input: object, { signal, upload, json = {} }: CallOptions) {
  if (upload === undefined) return post(`api/${operation}`, withJson(input, json), signal)
  const query = new URLSearchParams({ input: JSON.stringify(input) })
  return request(`upload/${operation}?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: upload,
    ...(signal === undefined ? {} : { signal }),
  })
}

/** An object as JSON, with more properties that are JSON already. */
function withJson(input: object, json: Readonly<Record<string, string>>): string {
  const parts = Object.entries(json).map(([name, text]) => `${JSON.stringify(name)}:${text}`)
  const first = JSON.stringify(input).slice(1, -1)
  return `{${[...(first === '' ? [] : [first]), ...parts].join(',')}}`
}

/**
 * The events of the answer to a request with this key of a session. Breaking off cancels the answer, and with it the
 * operation. Throws a `Refusal`, also one that is an event.
 */
async function* eventsOf(
  answer: Response,
  key: string | null,
  signal?: AbortSignal,
): AsyncGenerator<Event> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  const split = createLineSplitter()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      for (const line of split(value)) {
        const event = await readLine(line, signal)
        if ('error' in event) throw refusalOf(answer.status, event.error, key)
        yield event
      }
    }
  } catch (error) {
    if (signal?.aborted === true || error instanceof Refusal || error instanceof SyntaxError) {
      throw error
    }
    isReachable.value = false
    throw unreachable()
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

type Line = Event | { readonly error: unknown }

async function readLine(line: string, signal: AbortSignal | undefined): Promise<Line> {
  return (line.length > LONG ? await inSlices(parseSteps(line), signal) : JSON.parse(line)) as Line
}

/** Of an answer that has begun: the scopes of the client were changed. */
const NOT_AUTHORIZED = 'NOT_AUTHORIZED'
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000

export type FollowState = 'connecting' | 'following' | 'cut'

/**
 * Runs an operation that goes on until its caller ends it, and starts it again when the way to the server is cut, after
 * the next login when the session has ended, and with the rights that the session has when those were changed. Resolves
 * when `signal` ends it. Throws the refusals of the operation.
 */
export async function follow(
  operation: string,
  input: object,
  options: {
    readonly signal: AbortSignal
    readonly onItem: (item: unknown) => void
    readonly onState: (state: FollowState) => void
  },
): Promise<void> {
  const { signal, onItem, onState } = options
  let pause = FIRST_PAUSE_MS
  onState('connecting')
  while (!signal.aborted) {
    let hasBegun = false
    try {
      if (session.peek() === null) await untilLoggedIn(signal)
      const key = sessionKey.peek()
      const answer = await post(`api/${operation}`, input, signal)
      hasBegun = true
      onState('following')
      pause = FIRST_PAUSE_MS
      for await (const event of eventsOf(answer, key, signal)) {
        if ('item' in event && !signal.aborted) onItem(event.item)
      }
    } catch (error) {
      if (signal.aborted) return
      const code = error instanceof Refusal && !isPassing(error) ? error.code : null
      if (code === SESSION_ENDED) {
        onState('connecting')
        continue
      }
      if (hasBegun && code === NOT_AUTHORIZED) await refreshSession().catch(() => undefined)
      else if (code !== null) throw error
    }
    onState('cut')
    await wait(pause, signal)
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS)
  }
}

/** Resolves after this time, when the way to the server is there again, or when `signal` is aborted. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const wasReachable = isReachable.peek()
  const stop = isReachable.subscribe((now) => {
    if (now && !wasReachable) resolve()
  })
  const ended = new AbortController()
  const options = { signal: ended.signal }
  addEventListener('online', () => resolve(), options)
  signal.addEventListener('abort', () => resolve(), options)
  return promise.finally(() => {
    clearTimeout(timer)
    stop()
    ended.abort()
  })
}
