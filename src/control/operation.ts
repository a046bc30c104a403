import { type Actor, requireStanding, requireWriter } from '../domain/access/actor'
import type { DoorName } from '../domain/access/door'
import type { ReadTx, Write, WriteTx } from '../domain/store/store'
import { type ErrorCode, SatchelError } from '../domain/value/error'
import type { Scope } from '../domain/value/scope'
import type { DataFolder } from '../host/data-folder'
import type { OpenDatabase } from '../host/host'
import type { Recorder } from './record'
import { type Fields, readFields, type Refuse, type Schema, text, type Values } from './fields'

/** The streams of an operation, besides its input and output. */
export interface Streams {
  /** The bytes of a file that the command sends. */
  readonly upload?: ReadableStream<Uint8Array> | undefined
  /** Called while long work goes on, in the unit of the operation; `total` is null when unknown. */
  readonly progress?: ((done: number, total: number | null, phase?: string) => void) | undefined
  /** Takes a row of an answer before its result; waits while its reader is slow. */
  readonly emit?: ((item: unknown) => Promise<void>) | undefined
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
export interface Declaration<F extends Fields, Output> {
  /** The scopes that callers need in the database; `operator`: the owner of the data folder alone. */
  readonly scopes: readonly Scope[] | 'operator'
  /** The strongest effect that it may have. */
  readonly effect: Effect
  /** What it does, as a command: "List the origins". */
  readonly summary: string
  readonly input: F
  /** True for an input that only asks, where others change something. */
  asks?(input: Values<F>): boolean
  /** True for a `read` that is recorded all the same. */
  readonly isRecorded?: true
  /** True for an operation that emits what happens from now on, until its caller leaves. */
  readonly follows?: true
  /** The largest input from the page as JSON, in bytes; absent: that of an object. */
  readonly maxInputBytes?: number
  /** True for an operation that is carried out to send a file: without a reader of the file there is no use in it. */
  readonly sendsFile?: true
  /** The address over HTTP, if there is one. */
  readonly rest?: Rest<Output>
}

export type Method = 'GET' | 'POST' | 'DELETE'

/** The address of an operation over HTTP, and what the document of the interface says of it. */
export interface Rest<Output> {
  /** The name in the document, and of the door, whose scopes are those of the operation. */
  readonly operationId: DoorName
  /** The method, and the path below that of the database, whose parameters are fields: `GET /users/:user`. */
  readonly address: `${Method} /${string}`
  /** The part of the document; absent: `management`. */
  readonly tag?: 'users'
  /** Markdown. A paragraph is one line. */
  readonly description: string
  /** For the example: the body of a POST; of other methods the address, when it has parameters. */
  readonly curl?: string
  /** The parameters of a query that the operation reads as text, in its field `query`. */
  readonly query?: Fields
  /** The field that a body is the value of as a whole; absent: the body has the fields as properties. */
  readonly body?: string
  /** Examples of the body with their titles. */
  readonly examples?: Readonly<Record<string, unknown>>
  /** True for a body as large as those of objects. */
  readonly isLarge?: true
  /** True for work that takes longer than a connection may be idle. */
  readonly isLong?: true
  readonly answer: Answer
  /** The JSON of an answer; undefined: an answer without a body. Absent: the output. */
  show?(output: Output): unknown
  /** The error codes besides those of all such operations. */
  readonly refusals?: readonly ErrorCode[]
}

/** The description of an answer, and of its JSON if it has a body. */
export interface Answer {
  readonly description: string
  readonly schema?: Schema
  /** A title and a value. */
  readonly example?: readonly [string, unknown]
}

/** Something that can be asked of this process or of the process that serves the data folder. */
export interface Operation<F extends Fields, Output> extends Declaration<F, Output> {
  /** Checks the input as it came over the wire. Throws `INVALID_REQUEST`, or what `refuse` makes. */
  read(input: unknown, refuse?: Refuse): Values<F>
  run(folder: DataFolder, input: Values<F>, order: Order): Promise<Output>
  /** Where its changes are recorded: in the database that it changes, or for the server. Null: nowhere, in test mode. */
  readonly recordedIn: 'database' | 'server' | null
}

/** An operation without its types. */
export type AnyOperation = Operation<Fields, unknown>

/** An operation with its name in the table. */
export type Named<T> = T & { readonly name: string }

/** The streams of an operation that is carried out, and its caller. */
export interface Order extends Streams {
  /** The caller, whose scopes the operation does not go beyond. */
  readonly actor: Actor
  /** True for a caller to whom no secrets are shown. */
  readonly isReadOnly?: boolean
  /** Called in the unit that changes the database, to keep what is to be known of the change. */
  readonly record?: Recorder | undefined
}

/** An operation on the data folder; `Output` is plain JSON. */
export function onFolder<F extends Fields, Output>(
  declaration: Declaration<F, Output>,
  run: (folder: DataFolder, input: Values<F>, order: Order) => Promise<Output>,
): Operation<F, Output> {
  return {
    ...declaration,
    read: (input, refuse) => readFields(declaration.input, input, refuse),
    recordedIn: 'server',
    run,
  }
}

/** The context of an operation on one database, besides that database. */
export interface OperationContext extends Streams {
  readonly folder: DataFolder
  readonly actor: Actor
  /** True for a caller to whom no secrets are shown. */
  readonly isReadOnly?: boolean
  /** ms since the epoch, when the operation started. */
  readonly now: number
  /** Reads the database for a caller who may still read. */
  readonly read: <T>(work: (tx: ReadTx) => T) => Promise<T>
  /** Changes the database for a caller who may still write, in the unit in which the change is recorded. */
  readonly write: Write
  /** Records a change in the unit that makes it, where that is not by `write`. */
  readonly record: (tx: WriteTx) => void
  /** Records, in a unit of its own, work that takes many units, or none; its line has the result at the end. */
  readonly note: () => Promise<void>
}

/**
 * An operation on the database named by the field `database`, which stays open until `run` ends.
 * Running it throws `UNKNOWN_DATABASE`.
 */
export function onDatabase<F extends Fields, Output>(
  declaration: Declaration<F, Output>,
  run: (opened: OpenDatabase, input: Values<F>, context: OperationContext) => Promise<Output>,
): Operation<F & Database, Output> {
  const input = { ...DATABASE, ...declaration.input }
  return {
    ...declaration,
    input,
    read: (given, refuse) => readFields(input, given, refuse),
    recordedIn: 'database',
    async run(folder, given, order) {
      const { database } = given as Values<Database>
      using held = await folder.hosts.hold(database)
      const { opened } = held
      const { actor, record } = order
      const write = writeFor(opened, order)
      return await run(opened, given, {
        ...order,
        folder,
        now: opened.clock.now(),
        read: (work) =>
          opened.database.read((tx) => {
            requireStanding(tx, actor)
            return work(tx)
          }),
        write,
        record: (tx) => record?.(tx),
        async note() {
          if (record === undefined) return
          await writeFor(opened, { actor, record: (tx) => record(tx, 'begun') })(() => undefined)
        },
      })
    },
  }
}

/** Writes for a caller who may still write, and records the change in its unit. */
export function writeFor({ database, clock }: OpenDatabase, { actor, record }: Order): Write {
  return (work) =>
    database.write(
      (tx) => {
        requireWriter(tx, actor, clock.now())
        // First, because the work may erase the caller, of whom nothing is to be left.
        record?.(tx)
        return work(tx)
      },
      { subject: actor.subject },
    )
}

const DATABASE = { database: text }
type Database = typeof DATABASE

/** The largest upload that is read as a whole, in bytes. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024

/** The upload as text, empty when there is none. Throws `PAYLOAD_TOO_LARGE`. */
export async function readUpload({ upload }: Streams): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of upload ?? []) {
    bytes += piece.length
    if (bytes > MAX_TEXT_BYTES) {
      throw new SatchelError('PAYLOAD_TOO_LARGE', 'The file is larger than 64 MiB')
    }
    pieces.push(piece)
  }
  return new TextDecoder().decode(Buffer.concat(pieces))
}
