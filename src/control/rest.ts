import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { Actor } from '../domain/access/actor'
import { type Refuse, type Schema, schemaOf } from './fields'
import type { AnyOperation, Named, Effect, Method, Rest } from './operation'
import { findOperation, operationNames } from './operations'
import { ofCaller } from './caller'
import { perform } from './perform'

/** An operation with an address of its own, for the rooms that serve and describe it. */
export interface RestOperation extends Omit<Rest<unknown>, 'tag'> {
  readonly method: Method
  /** Below that of the database: `/users/:user`. */
  readonly path: string
  readonly tag: 'users' | 'management'
  readonly summary: string
  readonly effect: Effect
  /** The parameters of the query of a GET, by name. */
  readonly parameters: ObjectSchema
  /** The body of a POST. */
  readonly bodySchema: Schema
  /** Runs it on the database, and resolves to the JSON of the answer. Throws what the operation throws. */
  run(request: RestRequest): Promise<unknown>
}

/** A request that was let in at the door of an operation. */
export interface RestRequest {
  readonly actor: Actor
  /** The IP address of the caller. */
  readonly address: string
  /** The parameters of the path, `database` among them. */
  readonly path: Readonly<Record<string, string>>
  /** Without its question mark. */
  readonly query: string
  /** Undefined where there is none. */
  readonly body: unknown
  /** The error about a property of a body; absent: that of commands. */
  readonly refuse?: Refuse | undefined
}

interface ObjectSchema {
  readonly required: readonly string[]
  readonly properties: Readonly<Record<string, Schema>>
}

/** The operations with an address of their own; what they write names the door `rest`. */
export function restOperations(folder: DataFolder): readonly RestOperation[] {
  const served = { ...folder, hosts: folder.hostsAt('rest') }
  return operationNames().flatMap((name) => {
    const operation = findOperation(name)
    return operation?.rest === undefined ? [] : [toRest(served, operation, operation.rest)]
  })
}

function toRest(
  folder: DataFolder,
  operation: Named<AnyOperation>,
  rest: Rest<unknown>,
): RestOperation {
  const { summary, effect, input } = operation
  const [method, path] = rest.address.split(' ') as [Method, string]
  const inPath = new Set(['database', ...Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name)])
  const fields = Object.entries(input).filter(([name]) => !inPath.has(name))
  const given = schemaOf(Object.fromEntries(fields))
  return {
    tag: 'management',
    ...rest,
    method,
    path,
    summary,
    effect,
    parameters: rest.query === undefined ? given : { ...schemaOf(rest.query), required: [] },
    bodySchema: rest.body === undefined ? given : (input[rest.body]?.schema ?? {}),
    async run({ actor, address, refuse, ...request }) {
      const values = operation.read(
        givenBy(method, rest, request),
        rest.body === undefined ? refuse : refuseBody,
      )
      const output = await perform(folder, operation, values, {}, ofCaller(actor, address))
      return rest.show === undefined ? output : rest.show(output)
    },
  }
}

const refuseBody: Refuse = (_name, expected) =>
  new SatchelError('UNPROCESSABLE', `The body must be ${expected}`)

function givenBy(
  method: Method,
  { body: whole, query: isText }: Rest<unknown>,
  { path, query, body }: Pick<RestRequest, 'path' | 'query' | 'body'>,
): object {
  if (method !== 'POST') {
    const parameters = isText ? { query } : Object.fromEntries(new URLSearchParams(query))
    return { ...parameters, ...path }
  }
  return { ...(whole === undefined ? (body as object) : { [whole]: body }), ...path }
}
