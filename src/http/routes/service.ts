import { type AnyElysia, Elysia } from 'elysia'
import { SatchelError } from '../../domain/value/error'
import { answer, errorAnswer, publicError } from '../answer'
import { bearerToken } from '../caller'
import { type Call, callOf } from '../call'
import type { HttpContext } from '../context'
import { answerToken } from './tokens'

/** Routes of the server itself (protocol.md §12). */
export function serviceRoutes(http: HttpContext): AnyElysia {
  const routes = new Elysia({ name: 'service' })
    .get('/health', ({ request }) => answer(callOf(request), '{"status":"healthy"}'), {
      detail: { operationId: 'checkHealth' },
    })
    .get(
      '/ready',
      async ({ request }) => {
        const call = callOf(request)
        if (!http.isReady()) {
          throw new SatchelError('BUSY', 'The server is stopping', { retryAfter: 5 })
        }
        await http.hosts.check()
        return answer(call, '{"status":"ready"}')
      },
      { detail: { operationId: 'checkReadiness' } },
    )
  // The command line client is given an address with or without `/service`; the SDK adds it.
  for (const prefix of ['', '/service']) {
    routes
      .post(`${prefix}/token`, ({ request }) => answerToken(http, callOf(request)), {
        parse: 'none',
        detail: { operationId: prefix === '' ? 'requestServiceToken' : 'requestServiceTokenOfSdk' },
      })
      .post(`${prefix}/create-db`, ({ request }) => createDatabase(http, callOf(request)), {
        parse: 'none',
        detail: { operationId: prefix === '' ? 'createDatabase' : 'createDatabaseOfSdk' },
      })
  }
  return routes
}

async function createDatabase(http: HttpContext, call: Call): Promise<Response> {
  http.limits.login(call)
  try {
    const token = bearerToken(call.sent.headers.get('authorization'))
    // The SDK sends its JSON without a content type, and nothing in it counts here.
    await http.bodies.text(call.sent, MOST_BYTES)
    const { creation } = http
    const created = await creation.service.proofs.spend(token, (email) =>
      creation.create(email, call.address),
    )
    return answer(call, JSON.stringify(created), { headers: { 'Cache-Control': 'no-store' } })
  } catch (cause) {
    const error = publicError(http, call, http.limits.failure(call, cause))
    // The command line client shows `error` of this code (protocol.md §9.3).
    return errorAnswer(
      call,
      error,
      {},
      error.code === 'DB_LIMIT_REACHED' ? { error: error.message } : {},
    )
  }
}

const MOST_BYTES = 16 * 1024
