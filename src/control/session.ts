import { SatchelError } from '../domain/value/error'
import { type Holder, nameHolder, readHolder } from '../host/holder'
import { getOperation, type InputOf, type OperationName, type OutputOf } from './operations'
import type { Streams } from './operation'
import { callHolder, isAnswering } from './remote'
import type { Workspace } from '../host/workspace'

/** A data folder a command works on. The command does not know by whose hands. */
export interface Session extends AsyncDisposable {
  run<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    streams?: Streams,
  ): Promise<OutputOf<Name>>
}

const PATIENCE = 50
const PAUSE_MS = 100

/**
 * Works on the folder directly when `take` gets it, else through the process that holds it
 * (design.md §2). A holder that answers no commands is another command, or a server that starts or
 * stops: it is tried again, `patience` times in all. Throws `DATA_FOLDER_IN_USE`.
 */
export async function openSession(
  folder: string,
  take: () => (Workspace & AsyncDisposable) | undefined,
  patience = PATIENCE,
): Promise<Session> {
  for (let tries = 1; ; tries++) {
    const workspace = take()
    if (workspace !== undefined) return workDirectly(workspace)
    const holder = readHolder(folder)
    if (holder !== undefined && (await isAnswering(holder))) return workThrough(holder)
    if (tries >= patience) throw unreachable(folder, holder)
    await Bun.sleep(PAUSE_MS)
  }
}

function workDirectly(workspace: Workspace & AsyncDisposable): Session {
  return {
    run: (name, input, streams = {}) => getOperation(name).run(workspace, input, streams),
    [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
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
    `The data folder ${folder} is in use by ${nameHolder(holder)}, which takes no commands from here: run this where it runs, or stop it`,
  )
}
