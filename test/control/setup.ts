import { readConfig } from '../../src/config/config'
import { type DataFolder, takeDataFolder } from '../../src/host/data-folder'
import { type Caller, operator } from '../../src/control/caller'
import type { Streams } from '../../src/control/operation'
import {
  getOperation,
  type InputOf,
  type OperationName,
  type OutputOf,
} from '../../src/control/operations'
import { perform } from '../../src/control/perform'
import { ANONYMOUS } from '../../src/domain/access/actor'
import type { Scope } from '../../src/domain/value/scope'
import type { openFolderEngine } from '../../src/host/folder-engine'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

/** A data folder of this process without a server, removed when it is disposed unless `path` is given. */
export async function setupDataFolder(
  path?: string,
  openEngine?: typeof openFolderEngine,
  clock = createTestClock(),
): Promise<DataFolder> {
  await using stack = new AsyncDisposableStack()
  const data = path ?? stack.use(temporaryFolder()).path
  const config = readConfig({ environment: {}, flags: { data } })
  const folder = await takeDataFolder(config, clock, undefined, undefined, openEngine)
  if (folder === undefined) throw new Error(`${data} is locked`)
  stack.use(folder)
  const owned = stack.move()
  return { ...folder, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** A data folder with the database `main`, and the way to run operations on it. */
export interface Operations extends AsyncDisposable {
  readonly folder: DataFolder
  /** The database `main` is part of the input. */
  run<Name extends OperationName>(
    name: Name,
    input?: Omit<InputOf<Name>, 'database'>,
    caller?: Caller,
    streams?: Streams,
  ): Promise<OutputOf<Name>>
  /** The lines about operations in `main`: `object.put done`. */
  audited(): Promise<readonly string[]>
}

/** `stores` as in a schema file: `{"todoItems": "@id, done"}`. */
export async function setupOperations(
  stores: Readonly<Record<string, string>> = {},
  clock = createTestClock(),
) {
  const folder = await setupDataFolder(undefined, undefined, clock)
  const operations: Operations = {
    folder,
    run(name, input, caller, streams = {}) {
      const operation = getOperation(name)
      const values = operation.read({ database: 'main', ...input })
      return perform<typeof operation.input, OutputOf<typeof name>>(
        folder,
        operation,
        values,
        streams,
        caller,
      )
    },
    async audited() {
      const { database } = await folder.hosts.open('main')
      const lines = await database.read((tx) => tx.audit.list({ at: 0, seq: 0 }, 1_000))
      return lines.map(({ operation, result }) => `${operation} ${result}`)
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
  await folder.hosts.create('main')
  const upload = new Blob([JSON.stringify(stores)]).stream()
  if (Object.keys(stores).length > 0) {
    await operations.run('schema.push', { wait: true }, undefined, { upload })
  }
  return operations
}

/** A caller over HTTP with these scopes. */
export function callerWith(...scopes: readonly Scope[]): Caller {
  const actor = { ...ANONYMOUS, subject: 'alice', scopes: new Set(scopes) }
  return { ...operator(null), actor, isOperator: false }
}
