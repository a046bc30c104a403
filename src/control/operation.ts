import { SatchelError } from '../domain/value/error'
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

/** Something that a command can ask of this process or of the process that serves the data folder. */
export interface Operation<Input, Output> {
  /** Checks the input as it came over the wire. Throws `INVALID_REQUEST`. */
  read(input: unknown): Input
  run(folder: DataFolder, input: Input, streams: Streams): Promise<Output>
}

/** An operation with these fields as its input; `Output` is plain JSON. */
export function onFolder<F extends Fields, Output>(
  fields: F,
  run: (folder: DataFolder, input: Values<F>, streams: Streams) => Promise<Output>,
): Operation<Values<F>, Output> {
  return { read: (input) => readFields(fields, input), run }
}

/** The context of an operation on one database, besides that database. */
export interface OperationContext extends Streams {
  readonly folder: DataFolder
  /** ms since the epoch, when the operation started. */
  readonly now: number
}

/**
 * An operation on the database named by the field `database`, which stays open until `run` ends.
 * Running it throws `UNKNOWN_DATABASE`.
 */
export function onDatabase<F extends Fields, Output>(
  fields: F,
  run: (host: Host, input: Values<F>, context: OperationContext) => Promise<Output>,
): Operation<Values<F> & { readonly database: string }, Output> {
  return {
    read: (input) => ({ ...readFields({ database: text }, input), ...readFields(fields, input) }),
    async run(folder, input, streams) {
      using held = await folder.hosts.hold(input.database)
      return await run(held.host, input, { ...streams, folder, now: held.host.clock.now() })
    },
  }
}

/** The upload as text, empty when there is none. */
export function readUpload({ upload }: Streams): Promise<string> {
  return new Response(upload ?? null).text()
}

/** Reads one field of the input, or throws `INVALID_REQUEST` with the name of the field. */
export type Field<T> = (value: unknown, name: string) => T

export type Fields = Readonly<Record<string, Field<unknown>>>

/** The values that a set of fields reads. */
export type Values<F extends Fields> = { readonly [Name in keyof F]: ReturnType<F[Name]> }

/** Throws `INVALID_REQUEST` when a field is missing or of another type. */
function readFields<F extends Fields>(fields: F, input: unknown): Values<F> {
  const given: Record<string, unknown> =
    typeof input === 'object' && input !== null ? { ...input } : {}
  const values: Record<string, unknown> = {}
  for (const [name, read] of Object.entries(fields)) values[name] = read(given[name], name)
  return values as Values<F>
}

export const text: Field<string> = (value, name) =>
  typeof value === 'string' ? value : refuse(name, 'a string')

export const number: Field<number> = (value, name) =>
  typeof value === 'number' ? value : refuse(name, 'a number')

export const flag: Field<boolean> = (value, name) =>
  typeof value === 'boolean' ? value : refuse(name, 'true or false')

export const texts: Field<readonly string[]> = (value, name) =>
  Array.isArray(value) ? value.map((item) => text(item, name)) : refuse(name, 'an array of strings')

export function oneOf<T extends string>(choices: readonly T[]): Field<T> {
  return (value, name) =>
    choices.find((choice) => choice === value) ?? refuse(name, `one of ${choices.join(', ')}`)
}

/** Absent and null are the same. */
export function optional<T>(field: Field<T>): Field<T | null> {
  return (value, name) => (value === undefined || value === null ? null : field(value, name))
}

function refuse(name: string, expected: string): never {
  throw new SatchelError('INVALID_REQUEST', `${name} must be ${expected}`)
}
