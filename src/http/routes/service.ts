import { Elysia } from 'elysia'
import { SatchelError } from '../../domain/value/error'
import { answer } from '../answer'
import { callOf } from '../call'
import type { HttpContext } from '../context'

/** Routes of the server itself (protocol.md §12). */
export function serviceRoutes(http: HttpContext) {
  return new Elysia({ name: 'service' })
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
}
