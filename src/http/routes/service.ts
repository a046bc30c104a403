import { type AnyElysia, Elysia } from 'elysia'
import { SatchelError } from '../../domain/value/error'
import { answer, errorAnswer, publicError } from '../answer'
import { bearerToken, route } from '../caller'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import { answerToken } from './tokens'

/** Routes of the server itself (protocol.md §12). */
export function serviceRoutes(http: HttpContext): AnyElysia {
  // The command line client is given an address with or without `/service`; the SDK adds it.
  const logIn = (call: Call) => answerToken(http, call)
  const create = (call: Call) => createDatabase(http, call)
  return new Elysia({ name: 'service' })
    .get('/health', ...route('checkHealth', (call) => answer(call, '{"status":"healthy"}')))
    .get(
      '/ready',
      ...route('checkReadiness', async (call) => {
        if (!http.isReady()) {
          throw new SatchelError('BUSY', 'The server is stopping', { retryAfter: 5 })
        }
        await http.hosts.check()
        return answer(call, '{"status":"ready"}')
      }),
    )
    .post('/token', ...route('requestServiceToken', logIn))
    .post('/create-db', ...route('createDatabase', create))
    .post('/service/token', ...route('requestServiceTokenOfSdk', logIn))
    .post('/service/create-db', ...route('createDatabaseOfSdk', create))
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
