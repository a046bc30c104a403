import type { Actor } from '../domain/access/actor'
import type { WriteTx } from '../domain/store/store'
import type { Scope } from '../domain/value/scope'
import type { DataFolder } from '../host/data-folder'
import type { Host } from '../host/host'
import { type Fields, readFields, text, type Values } from './fields'

/** The streams of an operation, besides its input and output. */
export interface Streams {
  /** The bytes of a file that the command sends. */
  readonly upload?: ReadableStream<Uint8Array> | undefined
  /** Called while long work goes on, in the unit of the operation; `total` is null when unknown. */
  readonly progress?: ((done: number, total: number | null, phase?: string) => void) | undefined
  /** Takes the bytes of a file that the command asked for; waits while its reader is slow. */
  readonly download?: ((bytes: Uint8Array) => Promise<void>) | undefined
  /** Aborted when the command was interrupted. */
  readonly signal?: AbortSignal | undefined
}

/** The effect of an operation; only `read` changes nothing. */
export type Effect =
  | 'read'
  | 'write'
  /** Shows a secret, which it may have made. */
  | 'secret'
  /** Removes what cannot be brought back. */
  | 'destroy'

/** What every door needs to know of an operation. */
export interface Declaration<F extends Fields> {
  /** The scopes that callers need in the database; `operator`: the owner of the data folder alone. */
  readonly scopes: readonly Scope[] | 'operator'
  /** The strongest effect that it may have. */
  readonly effect: Effect
  /** What it does, as a command: "List the origins". */
  readonly summary: string
  readonly input: F
  /** True for an input that only asks, where others change something. */
  asks?(input: Values<F>): boolean
}

/** Something that can be asked of this process or of the process that serves the data folder. */
export interface Operation<F extends Fields, Output> extends Declaration<F> {
  /** Checks the input as it came over the wire. Throws `INVALID_REQUEST`. */
  read(input: unknown): Values<F>
  run(folder: DataFolder, input: Values<F>, order: Order): Promise<Output>
}

/** An operation without its types. */
export type AnyOperation = Operation<Fields, unknown>

/** The streams of an operation that is carried out, and its caller. */
export interface Order extends Streams {
  /** The caller, whose scopes the operation does not go beyond. */
  readonly actor: Actor
  /** Called in the unit that changes the database, to keep what is to be known of the change. */
  readonly record?: (tx: WriteTx) => void
}

/** An operation on the data folder; `Output` is plain JSON. */
export function onFolder<F extends Fields, Output>(
  declaration: Declaration<F>,
  run: (folder: DataFolder, input: Values<F>, order: Order) => Promise<Output>,
): Operation<F, Output> {
  return { ...declaration, read: (input) => readFields(declaration.input, input), run }
}

/** The context of an operation on one database, besides that database. */
export interface OperationContext extends Streams {
  readonly folder: DataFolder
  readonly actor: Actor
  /** ms since the epoch, when the operation started. */
  readonly now: number
  /** Changes the database, in the unit in which the change is recorded. */
  readonly write: <T>(work: (tx: WriteTx) => T) => Promise<T>
}

/**
 * An operation on the database named by the field `database`, which stays open until `run` ends.
 * Running it throws `UNKNOWN_DATABASE`.
 */
export function onDatabase<F extends Fields, Output>(
  declaration: Declaration<F>,
  run: (host: Host, input: Values<F>, context: OperationContext) => Promise<Output>,
): Operation<F & Database, Output> {
  const input = { ...DATABASE, ...declaration.input }
  return {
    ...declaration,
    input,
    read: (given) => readFields(input, given),
    async run(folder, given, { record, ...order }) {
      const { database } = given as Values<Database>
      using held = await folder.hosts.hold(database)
      const { host } = held
      return await run(host, given, {
        ...order,
        folder,
        now: host.clock.now(),
        write: (work) =>
          host.database.write((tx) => {
            const result = work(tx)
            record?.(tx)
            return result
          }),
      })
    },
  }
}

const DATABASE = { database: text }
type Database = typeof DATABASE

/** The upload as text, empty when there is none. */
export function readUpload({ upload }: Streams): Promise<string> {
  return new Response(upload ?? null).text()
}
