import { type AnyElysia, Elysia } from 'elysia'
import type { Actor } from '../../domain/access/actor'
import { DOORS, requireDoor } from '../../domain/access/door'
import { SatchelError } from '../../domain/value/error'
import { knowsBlobRefs } from '../../domain/sync/request'
import type { OpenDatabase } from '../../host/host'
import type { SocketClient } from '../../sync/socket'
import { answer } from '../answer'
import { actorOf, inDatabase } from '../caller'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import { pageOf } from '../cors'
import { networkOf } from '../../net/networks'

/** The live connection of a client (protocol.md §5). */
export function changesRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'changes' }).get(
    '/:database/changes',
    ...inDatabase(http, 'listen', async ({ call, opened }) => {
      const query = new URLSearchParams(call.query)
      const actor = await findActor(http, call, opened, query.get('token'))
      call.subject = actor?.subject ?? null
      // A new token would not help: the client whose upgrade is refused waits for its user.
      if (actor !== undefined) requireDoor(actor, DOORS.listen)
      const session = http.live.connect(
        opened,
        readClient(http, call, query),
        actor,
        networkOf(call.address),
      )
      if (!call.upgrade(session)) {
        if (call.sent.headers.has('sec-websocket-key')) http.signs.strippedUpgrades += 1
        throw new SatchelError(
          'INVALID_REQUEST',
          'This address is for WebSockets: connect with wss://, or ws:// without TLS',
        )
      }
      return answer(call, null)
    }),
  )
}

/**
 * The caller with the token in the address, where browsers have to put it, or in the header. Undefined
 * when the token in the address is not valid any more: the client is told once it is connected, because
 * a client whose upgrade is refused waits for its user (protocol.md Appendix C.11). Throws
 * `TOO_MANY_REQUESTS` after too many of them from one network.
 */
async function findActor(
  http: HttpContext,
  call: Call,
  opened: OpenDatabase,
  token: string | null,
): Promise<Actor | undefined> {
  if (token === null) return await actorOf(http, call, opened)
  try {
    return await opened.authority.verify(token)
  } catch (error) {
    const shown = http.limits.failure(call, error)
    if (shown instanceof SatchelError && shown.code === 'INVALID_TOKEN') return undefined
    throw shown
  }
}

/** The client names itself, so that its sockets and its requests know of each other. */
function readClient(
  { origins }: HttpContext,
  { sent }: Call,
  query: URLSearchParams,
): SocketClient {
  const identity = query.get('clientId') ?? ''
  const isNew = knowsBlobRefs(Number(query.get('v') ?? '3'))
  const page = pageOf(sent.headers.get('origin'), origins)
  if (identity.length <= MAX_IDENTITY_CHARACTERS) return { identity, knowsBlobRefs: isNew, page }
  throw new SatchelError(
    'INVALID_REQUEST',
    `"clientId" has at most ${MAX_IDENTITY_CHARACTERS} characters`,
  )
}

const MAX_IDENTITY_CHARACTERS = 100
