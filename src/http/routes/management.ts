import { type AnyElysia, Elysia } from 'elysia'
import { type Actor, requireStanding, requireWriter } from '../../domain/access/actor'
import {
  authorizeClient,
  connectClient,
  createClient,
  listClients,
  revokeClient,
  revokeClientsOf,
  rotateClient,
} from '../../domain/database/client'
import { addOrigin, listOrigins, removeOrigin } from '../../domain/database/origin'
import type { WriteTx } from '../../domain/store/store'
import { clearRealm, clearTable } from '../../domain/transfer/clear'
import { foldEmail, requireEmail } from '../../domain/value/email'
import { quoted, SatchelError } from '../../domain/value/error'
import { grantScopes } from '../../domain/value/scope'
import type { Host } from '../../host/host'
import { answer } from '../answer'
import { answerFields } from '../answer-fields'
import { bearer, database } from '../bearer'
import { bearerToken } from '../caller'
import {
  expected,
  type Fields,
  isSet,
  MOST_BYTES,
  requireFields,
  requireText,
  requireTexts,
} from '../body/fields'
import type { HttpContext } from '../context'
import { templateRoutes } from './templates'

/** The routes of the public command line client, `dexie-cloud` (protocol.md §9). */
export function managementRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'management' })
    .use(clientRoutes(http))
    .use(templateRoutes(http))
    .use(
      new Elysia({ name: 'databases' })
        .use(bearer(http))
        .post(
          '/:database/whitelist',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, (body) => changeOrigins(host, actor, body)),
          { door: 'changeOrigins', parse: 'none', detail: { operationId: 'changeOrigins' } },
        )
        .post(
          '/:database/clear-table',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, async (body) => {
              const table = requireText(body, 'table')
              using held = await http.hosts.hold(host.name)
              call.setIdleTimeout(0)
              const deletedCount = await clearTable(held.host.database, table, host.clock.now())
              return { message: `The table ${quoted(table)} is empty`, deletedCount }
            }),
          { door: 'clearTable', parse: 'none', detail: { operationId: 'clearTable' } },
        )
        .post(
          '/:database/clear-realm',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, async (body) => {
              const realm = requireText(body, 'realmId')
              using held = await http.hosts.hold(host.name)
              call.setIdleTimeout(0)
              const deletedCount = await clearRealm(held.host.database, realm, host.clock.now())
              return { message: `The realm ${quoted(realm)} is empty`, deletedCount }
            }),
          { door: 'clearRealm', parse: 'none', detail: { operationId: 'clearRealm' } },
        )
        .post(
          '/:database/delete-db',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, async ({ hard }) => {
              if (hard === true || hard === 'true') {
                await http.hosts.remove(host.name)
                return { message: `The database ${host.name} is deleted` }
              }
              const due = await http.deletions.mark(host)
              const date = new Date(due).toISOString().slice(0, 10)
              return {
                message: `The database ${host.name} is marked for deletion. Until ${date} it is served with a warning, and dexie-cloud undelete restores it; then it is removed`,
              }
            }),
          { door: 'deleteDatabase', parse: 'none', detail: { operationId: 'deleteDatabase' } },
        )
        .post(
          '/:database/undelete-db',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, async () => {
              const wasMarked = await http.deletions.unmark(host)
              return {
                message: wasMarked
                  ? `The database ${host.name} is not deleted any more`
                  : `The database ${host.name} was not deleted`,
              }
            }),
          { door: 'undeleteDatabase', parse: 'none', detail: { operationId: 'undeleteDatabase' } },
        ),
    )
}

/** The API clients of a database, and the keys that people fetch for theirs. */
function clientRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'clients' })
    .use(
      new Elysia({ name: 'managed clients' })
        .use(bearer(http))
        .get(
          '/:database/clients',
          async ({ call, host, actor }) => {
            const clients = await host.database.read((tx) => {
              requireStanding(tx, actor)
              return listClients(tx)
            })
            const listed = clients.map(({ id, email, name, isPending, scopes }) => {
              return { id, email: email ?? name ?? '', emailVerified: !isPending, scopes }
            })
            return answer(call, JSON.stringify(listed))
          },
          { door: 'listClients', parse: 'none', detail: { operationId: 'listClients' } },
        )
        .post(
          '/:database/clients/add',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, (body) => addClient(host, actor, body)),
          { door: 'addClient', parse: 'none', detail: { operationId: 'addClient' } },
        )
        .post(
          '/:database/clients/delete',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, (body) => deleteClients(host, actor, body)),
          { door: 'deleteClients', parse: 'none', detail: { operationId: 'deleteClients' } },
        )
        .post(
          '/:database/clients/rotate',
          ({ call, host, actor }) =>
            answerFields(http, { call, host, actor }, (body) => rotate(host, actor, body)),
          { door: 'rotateClient', parse: 'none', detail: { operationId: 'rotateClient' } },
        ),
    )
    .use(
      new Elysia({ name: 'fetched clients' }).use(database(http)).post(
        '/:database/clients/connect',
        async ({ call, host }) => {
          http.limits.request(call, host, null)
          const token = bearerToken(call.sent.headers.get('authorization'))
          const source = { scratch: host.scratch, maxBytes: MOST_BYTES }
          try {
            const client = await host.authority.proofs.spend(token, (email) =>
              http.bodies.json(call, source, (given) => {
                const requirePending = requireFields(given)['requireUnverified'] === true
                return host.database.write((tx) =>
                  connectClient(tx, host.clock, email, requirePending),
                )
              }),
            )
            return answer(call, JSON.stringify(client), { headers: NO_STORE })
          } catch (error) {
            throw http.limits.failure(call, error)
          }
        },
        { parse: 'none', detail: { operationId: 'connectClient' } },
      ),
    )
}

const NO_STORE = { 'Cache-Control': 'no-store' }

/** `{}` lists, `{origin}` adds, `{origin, delete}` removes; flags are true or `"true"`. */
async function changeOrigins(host: Host, actor: Actor, body: Fields) {
  if (body['origin'] === undefined) {
    return await host.database.read((tx) => {
      requireStanding(tx, actor)
      return listOrigins(tx)
    })
  }
  const origin = requireText(body, 'origin')
  return await managed(host, actor, (tx) => {
    if (isSet(body['delete'])) return removeOrigin(tx, origin) ? 1 : 0
    const before = tx.origins.list().length
    addOrigin(tx, host.clock, origin, { force: isSet(body['force']) })
    return tx.origins.list().length - before
  })
}

/**
 * Authorises an address, or makes a service account at once. The client gets at most the scopes of the
 * caller's token.
 */
async function addClient(host: Host, actor: Actor, body: Fields) {
  const scopes = grantScopes(requireTexts(body, 'scopes'), [...actor.scopes])
  const isService = body['serviceAccount'] === true
  const email = isService
    ? requireName(requireText(body, 'email'))
    : requireEmail(body['email'], 'UNPROCESSABLE', 'email')
  return await managed(host, actor, (tx) => {
    if (isService) {
      return { ok: true, ...createClient(tx, host.clock, { scopes, name: email }) }
    }
    authorizeClient(tx, host.clock, email, scopes)
    return { ok: true }
  })
}

async function deleteClients(host: Host, actor: Actor, body: Fields) {
  const isOne = body['client_id'] !== undefined
  const named = requireText(body, isOne ? 'client_id' : 'email')
  const numClients = await managed(host, actor, (tx) => {
    if (!isOne) return revokeClientsOf(tx, named)
    if (tx.clients.find(named) === undefined) return 0
    revokeClient(tx, named)
    return 1
  })
  return { ok: true, numClients }
}

/** The client of the token, or another one that can do no more than the token. */
async function rotate(host: Host, actor: Actor, body: Fields) {
  const days = body['oldClientExpiryDays'] ?? undefined
  if (days !== undefined && typeof days !== 'number')
    throw expected('oldClientExpiryDays', 'a number')
  const own = actor.credential?.facts.clientId ?? ''
  const id = body['clientId'] === undefined ? own : requireText(body, 'clientId')
  const rotation = await managed(host, actor, (tx) => {
    const client = tx.clients.find(id)
    const beyond = client?.scopes.find((scope) => id !== own && !actor.scopes.has(scope))
    if (beyond !== undefined) {
      throw new SatchelError('NOT_AUTHORIZED', 'Not authorized', { reason: `scope ${beyond}` })
    }
    return rotateClient(tx, host.clock, id, days)
  })
  const oldClientExpiresAt = new Date(rotation.oldClientExpiresAt).toISOString()
  return { ...rotation, oldClientExpiresAt }
}

/** One unit for a caller who may still write. */
function managed<T>({ database, clock }: Host, actor: Actor, work: (tx: WriteTx) => T): Promise<T> {
  return database.write((tx) => {
    requireWriter(tx, actor, clock.now())
    return work(tx)
  })
}

/** The name of a service account, which is usually the address of its administrator. */
function requireName(text: string): string {
  const name = foldEmail(text)
  if (name !== '' && name.length <= 254 && !/\p{Cc}/u.test(name)) return name
  throw expected('email', 'a name of at most 254 characters')
}
