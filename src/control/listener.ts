import { SatchelError } from '../domain/value/error'
import { sameSecret } from '../domain/value/secret'
import { serverLog } from '../log/log'
import type { DataFolder } from '../host/data-folder'
import { toWire, writeEvent } from './event'
import type { Operation } from './operation'

export interface ControlListener {
  /** `http://127.0.0.1:PORT` */
  readonly address: string
  /** Resolves when the running commands have ended; `force` ends them. */
  stop(force?: boolean): Promise<void>
}

/**
 * Lets commands work on a data folder that this process holds: `POST /_control/<operation>?input=…`
 * with the token from `holder.json`, on loopback only, answered by a stream of events
 * (design.md §2).
 */
export function listenForCommands(folder: DataFolder, token: string): ControlListener {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    reusePort: false,
    development: false,
    // An import may take hours, and every caller has the token.
    idleTimeout: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: answer,
    error: (error) => refuse(500, error),
  })
  const host = `127.0.0.1:${server.port}`

  async function answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    if (request.headers.get('host') !== host || request.headers.has('origin')) {
      return refuse(
        403,
        new SatchelError(
          'ORIGIN_NOT_ALLOWED',
          'Only commands on this machine may call this address',
        ),
      )
    }
    if (!sameSecret(request.headers.get('authorization') ?? '', `Bearer ${token}`)) {
      return refuse(
        401,
        new SatchelError('INVALID_TOKEN', 'The token in holder.json is missing or wrong'),
      )
    }
    // Not imported at the top, to keep the start of a server fast.
    const { findOperation } = await import('./operations')
    const operation = findOperation(pathname.replace('/_control/', ''))
    if (operation === undefined || request.method !== 'POST') return refuse(404, otherVersion())
    const input: unknown = JSON.parse(searchParams.get('input') ?? '{}')
    return perform(folder, operation, input, request)
  }

  return {
    address: `http://${host}`,
    stop: (force) => server.stop(force),
  }
}

/** Answers at once and runs the operation; its events follow. */
function perform(
  folder: DataFolder,
  operation: Operation<unknown, unknown>,
  input: unknown,
  { body, signal }: Request,
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
    try {
      const result = await operation.run(folder, operation.read(input), {
        upload: body ?? undefined,
        progress,
        download: (bytes) => writer.write(writeEvent({ bytes })),
        signal,
      })
      await writer.write(writeEvent({ result }))
    } catch (error) {
      if (!(error instanceof SatchelError) && !signal.aborted)
        serverLog.error('A command failed', { error })
      await writer.write(writeEvent({ error: toWire(error) }))
    }
    await writer.close()
  }

  // A write fails when the command has disconnected.
  run().catch(() => undefined)
  return new Response(readable, { headers: { 'content-type': 'application/x-ndjson' } })
}

function otherVersion(): SatchelError {
  return new SatchelError(
    'UNKNOWN_ROUTE',
    'The server that holds the data folder has another version, which does not know this command: restart it',
  )
}

function refuse(status: number, error: unknown): Response {
  return Response.json({ error: toWire(error) }, { status })
}
