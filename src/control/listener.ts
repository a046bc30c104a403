import { lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SatchelError } from '../domain/value/error'
import { sameSecret } from '../domain/value/secret'
import { serverLog } from '../log/log'
import type { DataFolder } from '../host/data-folder'
import { operator } from './caller'
import { UID_HEADER, createPieceWriter, nameAt, readHead } from './frames'
import { answerPerforming, refusal } from './perform'

export interface ControlListener {
  /** The path of its socket. */
  readonly address: string
  /** Resolves when the running commands have ended; `force` ends them. */
  stop(force?: boolean): Promise<void>
}

/**
 * Lets commands work on a data folder that this process holds: `POST /_control/2/<operation>` with the token
 * from `holder.json` and a body that begins with a line of JSON (`Head`), answered by a stream of events (design.md §2).
 * The socket is in a folder that only this user may enter, so that no other user of the machine can connect.
 */
export function listenForCommands(folder: DataFolder, token: string): ControlListener {
  using undo = new DisposableStack()
  const { server, address } = listenAt(socketPaths(folder.path, undo), (unix) =>
    Bun.serve({
      unix,
      ...WITHOUT_IDLE_LIMIT,
      development: false,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: answer,
      error(error) {
        serverLog.error('A command failed', { error })
        return refusal(500, error)
      },
    }),
  )
  const owned = undo.move()

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (!sameSecret(request.headers.get('authorization') ?? '', `Bearer ${token}`)) {
      return refusal(
        401,
        new SatchelError('INVALID_TOKEN', 'The token in holder.json is missing or wrong'),
      )
    }
    // Not imported at the top, to keep the start of a server fast.
    const { findOperation } = await import('./operations')
    const operation = findOperation(nameAt(pathname) ?? '')
    if (operation === undefined || request.method !== 'POST') return refusal(404, otherVersion())
    try {
      const { input, hasRows, hasUpload, rest } = await readHead(request.body)
      return answerPerforming(folder, operation, operation.read(input), {
        body: hasUpload ? rest : null,
        signal: request.signal,
        frame: createPieceWriter(),
        hasNoRows: !hasRows,
        caller: operator(readUid(request.headers.get(UID_HEADER))),
      })
    } catch (error) {
      if (error instanceof SatchelError) return refusal(400, error)
      throw error
    }
  }

  return {
    address,
    async stop(force) {
      await server.stop(force)
      owned.dispose()
    },
  }
}

/** An import may take hours. Its own limit of 10 s applies to sockets with a path too, though its types do not know. */
const WITHOUT_IDLE_LIMIT: object = { idleTimeout: 0 }

/** In the data folder, or where its file system has no sockets, in a folder among the temporary files. */
function* socketPaths(folder: string, undo: DisposableStack): Generator<string> {
  const path = join(folder, SOCKET)
  // A process that was killed has left it, and the folder is locked.
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) rmSync(path)
  yield path
  const apart = mkdtempSync(join(tmpdir(), 'satchel-control-'))
  undo.defer(() => rmSync(apart, { recursive: true, force: true }))
  yield join(apart, SOCKET)
}

const SOCKET = 'control.sock'

/** Serves at the first path where it can. */
function listenAt<T>(paths: Iterable<string>, serve: (path: string) => T) {
  let failure: unknown
  for (const address of paths) {
    try {
      return { server: serve(address), address }
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

/** The user that a command says it runs as: only the user of the server and root can read the token. */
function readUid(header: string | null): number | null {
  return header !== null && /^\d{1,10}$/.test(header) ? Number(header) : null
}

function otherVersion(): SatchelError {
  return new SatchelError(
    'UNKNOWN_ROUTE',
    'This command has another version than the server that holds the data folder: restart the server with the version of the command, or run the command of its version',
  )
}
