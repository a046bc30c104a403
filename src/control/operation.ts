import { type Fields, readFields, type Values } from './fields'
import type { Workspace } from '../host/workspace'

/** What flows besides the input and the output of an operation. */
export interface Streams {
  /** The bytes of a file that the command sends. */
  readonly upload?: ReadableStream<Uint8Array> | undefined
  /** Told how far long work is, in the measure of the operation; `total` is null when unknown. */
  readonly progress?: ((done: number, total: number | null) => void) | undefined
  /** Takes the bytes of a file that the command asked for; waits while its reader is slow. */
  readonly download?: ((bytes: Uint8Array) => Promise<void>) | undefined
}

/** Something a command can have done, by this process or by the one that serves the data folder. */
export interface Operation<Input, Output> {
  /** The input as it came over the wire, checked. Throws `INVALID_REQUEST`. */
  read(input: unknown): Input
  run(workspace: Workspace, input: Input, streams: Streams): Promise<Output>
}

/** An operation with these fields as its input; `Output` is plain JSON. */
export function operation<F extends Fields, Output>(
  fields: F,
  run: (workspace: Workspace, input: Values<F>, streams: Streams) => Promise<Output>,
): Operation<Values<F>, Output> {
  return { read: (input) => readFields(fields, input), run }
}
