import type { IncomingMessage } from 'node:http'
import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import { type Holder, nameHolder, readHolder } from '../host/holder'
import { ownUid } from './caller'
import { type Event, fromWire } from './event'
import { addressOf, type Piece, readFrames, UID_HEADER, writeHead } from './frames'
import type { Streams } from './operation'
import { getOperation, type InputOf, type OperationName, type OutputOf } from './operations'
import { perform } from './perform'

/** A data folder that a command works on, in this process or through the one that holds the folder. */
export interface Session extends AsyncDisposable {
  run<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    streams?: Streams,
  ): Promise<OutputOf<Name>>
}

const TRIES = 50
const PAUSE_MS = 100

/**
 * Works on the folder directly when `take` locks it, else through the process that holds it
 * (design.md §2). A holder that answers no commands is another command, or a server that is starting
 * or stopping: then both ways are tried again, `maxTries` times in all. Throws `DATA_FOLDER_IN_USE`.
 */
export async function openSession(
  folder: string,
  take: () => DataFolder | Promise<DataFolder | undefined> | undefined,
  maxTries = TRIES,
): Promise<Session> {
  for (let tries = 1; ; tries++) {
    const taken = await take()
    if (taken !== undefined) return workDirectly(taken)
    const holder = readHolder(folder)
    if (holder !== undefined && (await isAnswering(holder))) return workThrough(holder)
    if (tries >= maxTries) throw unreachable(folder, holder)
    await Bun.sleep(PAUSE_MS)
  }
}

function workDirectly(folder: DataFolder): Session {
  return {
    run<Name extends OperationName>(name: Name, input: InputOf<Name>, streams: Streams = {}) {
      const operation = getOperation(name)
      const values = operation.read(input)
      return perform<typeof operation.input, OutputOf<Name>>(folder, operation, values, streams)
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

function workThrough(holder: Holder): Session {
  return {
    run: (name, input, streams = {}) => callHolder(holder, name, input, streams),
    async [Symbol.asyncDispose]() {},
  }
}

function unreachable(folder: string, holder: Holder | undefined): SatchelError {
  return new SatchelError(
    'DATA_FOLDER_IN_USE',
    `The data folder ${folder} is in use by ${nameHolder(holder)}, which accepts no commands from here: run this command where that process runs, or stop it`,
  )
}

/** True when the holder accepts commands with this token. */
export async function isAnswering(holder: Holder): Promise<boolean> {
  if (holder.address === null) return false
  try {
    await callHolder(holder, 'hello', {}, {})
    return true
  } catch {
    return false
  }
}

/** Runs an operation in the process that holds the folder. Throws what the operation throws. */
export async function callHolder<Output>(
  holder: Holder,
  name: string,
  input: unknown,
  streams: Streams,
): Promise<Output> {
  const { emit, upload } = streams
  const head = writeHead({ input, hasRows: emit !== undefined, hasUpload: upload !== undefined })
  for await (const event of eventsOf(holder, name, head, streams)) {
    if ('bytes' in event) await streams.download?.(event.bytes)
    else if ('progress' in event) {
      const { done, total, phase } = event.progress
      streams.progress?.(done, total, phase)
    } else if ('item' in event) await streams.emit?.(event.item)
    else if ('error' in event) throw fromWire(event.error)
    else return event.result as Output
  }
  throw stopped(holder)
}

async function* eventsOf(
  holder: Holder,
  name: string,
  head: Uint8Array,
  streams: Streams,
): AsyncGenerator<Event | Piece> {
  try {
    yield* readFrames(await post(holder, name, head, streams))
  } catch (error) {
    throw stopped(holder, error)
  }
}

function stopped(holder: Holder, cause?: unknown): SatchelError {
  return new SatchelError(
    'INTERNAL',
    `The server (process ${holder.pid}) stopped before the command was done; its log says why. An import that had started continues when the server starts again`,
    { cause },
  )
}

/**
 * Uses `node:http`, because `fetch` would send the token to a proxy from the environment; imported
 * only when it is needed, to keep the start of a server fast.
 */
async function post(
  holder: Holder,
  name: string,
  head: Uint8Array,
  { upload, signal }: Streams,
): Promise<IncomingMessage> {
  const [{ request }, { Readable }, { pipeline }] = await Promise.all([
    import('node:http'),
    import('node:stream'),
    import('node:stream/promises'),
  ])
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = request({
    socketPath: holder.address ?? '',
    path: addressOf(name),
    method: 'POST',
    headers: { authorization: `Bearer ${holder.token}`, [UID_HEADER]: String(ownUid() ?? '') },
    ...(signal === undefined ? {} : { signal }),
  })
  outgoing.on('response', resolve)
  outgoing.on('error', reject)
  if (upload === undefined) outgoing.end(head)
  else {
    outgoing.write(head)
    // After a refusal the rest of the file is not read; the response says why.
    pipeline(Readable.fromWeb(upload), outgoing).catch(reject)
  }
  return await promise
}
