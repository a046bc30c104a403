import { SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { Actor } from '../domain/access/actor'
import { type Refuse, schemaOf, unprocessable } from './fields'
import type { AnyOperation, Named, Method, Rest } from './operation'
import { findOperation, operationNames } from './operations'
import { ofCaller } from './caller'
import { perform } from './perform'

/** The operations with an address of their own; what they write names the door `rest`. */
export function restOperations(folder: DataFolder) {
  const served = { ...folder, hosts: folder.hostsAt('rest') }
  return operationNames().flatMap((name) => {
    const operation = findOperation(name)
    return operation?.rest === undefined ? [] : [toRest(served, operation, operation.rest)]
  })
}

/** A request that was let in at the door of an operation. */
interface RestRequest extends Given {
  readonly actor: Actor
  /** The IP address of the caller. */
  readonly address: string
}

interface Given {
  /** The parameters of the path, `database` among them. */
  readonly path: Readonly<Record<string, string>>
  /** Without its question mark. */
  readonly query: string
  /** Undefined where there is none. */
  readonly body: unknown
}

function toRest(folder: DataFolder, operation: Named<AnyOperation>, rest: Rest<unknown>) {
  const { summary, effect, input } = operation
  const [method, path] = rest.address.split(' ') as [Method, string]
  const inPath = new Set(['database', ...Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name)])
  const fields = Object.entries(input).filter(([name]) => !inPath.has(name))
  const given = schemaOf(Object.fromEntries(fields))
  return {
    tag: 'management' as const,
    ...rest,
    method,
    path,
    summary,
    effect,
    parameters: rest.query === undefined ? given : { ...schemaOf(rest.query), required: [] },
    bodySchema: rest.body === undefined ? given : (input[rest.body]?.schema ?? {}),
    /** Runs it on the database, and resolves to the JSON of the answer. Throws what the operation throws. */
    async run({ actor, address, ...request }: RestRequest): Promise<unknown> {
      const values = operation.read(readGiven(method, rest, request), refusalOf(method, rest))
      const output = await perform(folder, operation, values, {}, ofCaller(actor, address))
      return rest.show === undefined ? output : rest.show(output)
    },
  }
}

/** The error about a property of a body; undefined: that of commands. */
function refusalOf(method: Method, { body: whole }: Rest<unknown>): Refuse | undefined {
  if (whole !== undefined) {
    return (_name, expected) => new SatchelError('UNPROCESSABLE', `The body must be ${expected}`)
  }
  return method === 'POST' ? unprocessable : undefined
}

function readGiven(
  method: Method,
  { body: whole, query: isText }: Rest<unknown>,
  { path, query, body }: Given,
): object {
  if (method !== 'POST') {
    const parameters = isText ? { query } : Object.fromEntries(new URLSearchParams(query))
    return { ...parameters, ...path }
  }
  return { ...(whole === undefined ? (body as object) : { [whole]: body }), ...path }
}
