import type { IncomingMessage } from 'node:http'
import { SatchelError } from '../domain/value/error'
import { type Event, fromWire, readEvents } from './event'
import type { Holder } from '../host/holder'
import type { Streams } from './operation'

/** True when the holder takes commands, and is the one that wrote this token. */
export async function isAnswering(holder: Holder): Promise<boolean> {
  if (holder.address === null) return false
  try {
    await callHolder(holder, 'hello', {}, {})
    return true
  } catch {
    return false
  }
}

/** Has an operation done by the process that holds the folder. Throws what it throws. */
export async function callHolder<Output>(
  holder: Holder,
  name: string,
  input: unknown,
  streams: Streams,
): Promise<Output> {
  for await (const event of eventsOf(holder, name, input, streams.upload)) {
    if ('bytes' in event) await streams.download?.(event.bytes)
    else if ('progress' in event) streams.progress?.(event.progress.done, event.progress.total)
    else if ('error' in event) throw fromWire(event.error)
    else return event.result as Output
  }
  throw wentAway(holder)
}

async function* eventsOf(
  holder: Holder,
  name: string,
  input: unknown,
  upload: ReadableStream<Uint8Array> | undefined,
): AsyncGenerator<Event> {
  try {
    yield* readEvents(await post(holder, name, input, upload))
  } catch (error) {
    throw wentAway(holder, error)
  }
}

function wentAway(holder: Holder, cause?: unknown): SatchelError {
  return new SatchelError(
    'INTERNAL',
    `The server (process ${holder.pid}) went away before it was done, its log says why; an import that it had begun goes on when it starts again`,
    { cause },
  )
}

/**
 * With `node:http`, because `fetch` would hand the token to whatever proxy the environment names;
 * loaded when it is needed, because a server that starts needs it not.
 */
async function post(
  holder: Holder,
  name: string,
  input: unknown,
  upload: ReadableStream<Uint8Array> | undefined,
): Promise<IncomingMessage> {
  const [{ request }, { Readable }, { pipeline }] = await Promise.all([
    import('node:http'),
    import('node:stream'),
    import('node:stream/promises'),
  ])
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const query = encodeURIComponent(JSON.stringify(input))
  const outgoing = request(`${holder.address}/_control/${name}?input=${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${holder.token}` },
  })
  outgoing.on('response', resolve)
  outgoing.on('error', reject)
  if (upload === undefined) outgoing.end()
  // After a refusal the rest of the file is not wanted; the answer says why.
  else pipeline(Readable.fromWeb(upload), outgoing).catch(reject)
  return await promise
}
