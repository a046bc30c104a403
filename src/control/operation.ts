import type { Actor } from '../domain/access/actor'
import type { WriteTx } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import type { Scope } from '../domain/value/scope'
import type { DataFolder } from '../host/data-folder'
import type { Host } from '../host/host'

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
export interface Operation<Input, Output> extends Omit<Declaration<Fields>, 'asks'> {
  asks?(input: Input): boolean
  /** Checks the input as it came over the wire. Throws `INVALID_REQUEST`. */
  read(input: unknown): Input
  run(folder: DataFolder, input: Input, order: Order): Promise<Output>
}

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
): Operation<Values<F>, Output> {
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
): Operation<Values<F> & { readonly database: string }, Output> {
  const input = { database: text, ...declaration.input }
  return {
    ...declaration,
    input,
    read: (given) => readFields(input, given) as Values<F> & { readonly database: string },
    async run(folder, given, { record, ...order }) {
      using held = await folder.hosts.hold(given.database)
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

/** The upload as text, empty when there is none. */
export function readUpload({ upload }: Streams): Promise<string> {
  return new Response(upload ?? null).text()
}

/** One property of an input. */
export interface Field<T> {
  /** Throws `INVALID_REQUEST` with the name of the field. */
  read(value: unknown, name: string): T
  /** The values that it accepts, as JSON Schema. */
  readonly schema: Schema
}

/** JSON Schema 2020-12. */
export type Schema = Readonly<Record<string, unknown>>

export type Fields = Readonly<Record<string, Field<unknown>>>

/** The values that a set of fields reads. */
export type Values<F extends Fields> = { readonly [Name in keyof F]: ReturnType<F[Name]['read']> }

/** Throws `INVALID_REQUEST` when a field is missing or of another type. */
function readFields<F extends Fields>(fields: F, input: unknown): Values<F> {
  const given: Record<string, unknown> =
    typeof input === 'object' && input !== null ? { ...input } : {}
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(fields)) values[name] = field.read(given[name], name)
  return values as Values<F>
}

export const text: Field<string> = {
  schema: { type: 'string' },
  read: (value, name) => (typeof value === 'string' ? value : refuse(name, 'a string')),
}

export const number: Field<number> = {
  schema: { type: 'number' },
  read: (value, name) => (typeof value === 'number' ? value : refuse(name, 'a number')),
}

export const flag: Field<boolean> = {
  schema: { type: 'boolean' },
  read: (value, name) => (typeof value === 'boolean' ? value : refuse(name, 'true or false')),
}

export const texts: Field<readonly string[]> = {
  schema: { type: 'array', items: text.schema },
  read: (value, name) =>
    Array.isArray(value)
      ? value.map((item) => text.read(item, name))
      : refuse(name, 'an array of strings'),
}

export function oneOf<T extends string>(choices: readonly T[]): Field<T> {
  return {
    schema: { enum: choices },
    read: (value, name) =>
      choices.find((choice) => choice === value) ?? refuse(name, `one of ${choices.join(', ')}`),
  }
}

/** One of these words, or a number. */
export function numberOr<T extends string>(...words: readonly T[]): Field<number | T> {
  return {
    schema: { anyOf: [number.schema, { enum: words }] },
    read: (value, name) => words.find((word) => word === value) ?? number.read(value, name),
  }
}

/** Absent and null are the same. */
export function optional<T>(field: Field<T>): Field<T | null> {
  return {
    schema: { anyOf: [field.schema, { type: 'null' }] },
    read: (value, name) => (value === undefined || value === null ? null : field.read(value, name)),
  }
}

function refuse(name: string, expected: string): never {
  throw new SatchelError('INVALID_REQUEST', `${name} must be ${expected}`)
}
