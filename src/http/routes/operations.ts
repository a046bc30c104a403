import { type AnyElysia, Elysia } from 'elysia'
import { requireStanding, requireWriter } from '../../domain/access/actor'
import { SatchelError } from '../../domain/value/error'
import { isRecord } from '../../domain/value/value'
import { answer } from '../answer'
import { keepOpen, segment } from '../call'
import { type Authorised, behind } from '../caller'
import type { HttpContext, RestOperation } from '../context'

/** The routes of the operations in the table that have an address (spec.md §4, protocol.md §9). */
export function operationRoutes(
  http: HttpContext,
  operations: readonly RestOperation[],
): AnyElysia {
  const routes = new Elysia({ name: 'operations' })
  for (const operation of operations) {
    const { operationId, method, path } = operation
    const respond = (request: Authorised) => answerOperation(http, operation, request)
    routes.route(method, `/:database${path}`, ...behind(http, operationId, respond))
  }
  return routes
}

/**
 * Answers with the output of an operation. The stored state of the caller is checked before a body is read:
 * a body needs a caller who may write. The operation checks again where it reads or writes.
 */
async function answerOperation(
  http: HttpContext,
  operation: RestOperation,
  { call, opened, actor }: Authorised,
): Promise<Response> {
  const { method, body: whole, isLarge, isLong } = operation
  const { database, clock, scratch } = opened
  const path: Record<string, string> = { database: opened.name }
  for (const [index, part] of operation.path.split('/').entries()) {
    if (part.startsWith(':')) path[part.slice(1)] = segment(call, index)
  }
  async function run(body?: unknown): Promise<Response> {
    using stack = new DisposableStack()
    if (isLong === true) stack.use(keepOpen(call))
    const { address, query } = call
    const output = await operation.run({ actor, address, path, query, body })
    if (output === undefined) return answer(call, null, { status: 204, type: null })
    return answer(call, JSON.stringify(output))
  }
  if (method !== 'POST') {
    await database.read((tx) => requireStanding(tx, actor))
    return await run()
  }
  await database.read((tx) => requireWriter(tx, actor, clock.now()))
  const source = isLarge ? { scratch } : { scratch, maxBytes: MOST_BYTES }
  return await http.bodies.json(call, source, (body) =>
    run(whole === undefined ? requireFields(body) : body),
  )
}

/** The largest body of a command, in bytes. */
export const MOST_BYTES = 2 * 1024 * 1024

/** Throws `UNPROCESSABLE`. */
export function requireFields(body: unknown): Readonly<Record<string, unknown>> {
  if (isRecord(body)) return body
  throw new SatchelError('UNPROCESSABLE', 'The body must be a JSON object')
}
