import {
  authorizeClient,
  createClient,
  isClientExpired,
  listClients,
  revokeClient,
  revokeClientsOf,
  rotateClient,
} from '../domain/database/client'
import type { Actor } from '../domain/access/actor'
import { DOORS, MANAGE } from '../domain/access/door'
import type { Client } from '../domain/store/records'
import type { ReadTx } from '../domain/store/store'
import { foldEmail, isEmail, requireEmail } from '../domain/value/email'
import { requireUserId } from '../domain/value/user-id'
import { quoted, SatchelError } from '../domain/value/error'
import { grantScopes, type Scope, SCOPES } from '../domain/value/scope'
import {
  described,
  filled,
  flag,
  number,
  ok,
  optional,
  schemaOf,
  schemaRef,
  text,
  texts,
  unprocessable,
  whole,
} from './fields'
import { onDatabase } from './operation'

const KEY = { clientId: 'c2vR8XkFZ0m7yTn4bLw1sA', clientSecret: 'its-secret-is-shown-once' }

/** Clients, the tokens that are issued in their name and the keys that sign them. */
export const clientOperations = {
  'client.create': onDatabase(
    {
      scopes: MANAGE,
      effect: 'secret',
      summary: 'Create a client',
      input: { scopes: texts, name: optional(text), email: optional(text) },
    },
    async ({ clock }, { name, ...input }, { actor, write }) => {
      const scopes = grantScopes(input.scopes, [...actor.scopes])
      const email = input.email === null ? null : requireEmail(input.email)
      const client = await write((tx) => createClient(tx, clock, { scopes, name, email }))
      return { ...client, scopes, name, email }
    },
  ),

  'client.list': onDatabase(
    {
      scopes: MANAGE,
      effect: 'read',
      summary: 'List the API clients',
      input: {},
      rest: {
        operationId: 'listClients',
        address: 'GET /clients',
        description: 'The oldest first. Secrets are not known any more.',
        answer: {
          description: 'The clients.',
          schema: { type: 'array', items: schemaRef('ManagedClient') },
          example: [
            'One client',
            [{ id: KEY.clientId, email: 'alice@example.com', emailVerified: true, scopes: SCOPES }],
          ],
        },
        show: (clients: ReturnType<typeof listClients>) =>
          clients.map(({ id, email, name, isPending, scopes }) => {
            return { id, email: email ?? name ?? '', emailVerified: !isPending, scopes }
          }),
      },
    },
    (_host, _input, { read }) => read(listClients),
  ),

  'client.revoke': onDatabase(
    {
      scopes: MANAGE,
      effect: 'destroy',
      summary: 'Revoke a client and its tokens',
      input: { id: text },
    },
    async (_host, { id }, { write }) => {
      await write((tx) => revokeClient(tx, id))
      return { id }
    },
  ),

  /** `days`: how long the old client stays valid. */
  'client.rotate': onDatabase(
    {
      scopes: MANAGE,
      effect: 'secret',
      summary: 'Replace a client with a new one',
      input: { id: optional(text), days: optional(number) },
    },
    ({ clock }, { id, days }, { actor, now, write }) =>
      write((tx) => {
        const chosen = id ?? onlyClient(tx, now)
        requireNoMore(tx, actor, chosen)
        return rotateClient(tx, clock, chosen, days ?? undefined)
      }),
  ),

  /** As `dexie-cloud authorize`, which names the scopes of the client, asks for it. */
  'client.add': onDatabase(
    {
      scopes: DOORS.addClient,
      effect: 'secret',
      summary: 'Authorise a person, or create a service account',
      input: {
        email: filled,
        scopes: texts,
        serviceAccount: described(optional(flag), undefined, { default: false }),
      },
      rest: {
        operationId: 'addClient',
        address: 'POST /clients/add',
        description:
          'The person fetches the key of their client with `dexie-cloud connect`; a service account gets it at once. The client has at most the scopes of this token: all six mean these.',
        curl: '{"email": "bob@example.com", "scopes": ["MANAGE_DB"]}',
        examples: {
          'A service account': {
            email: 'ci@example.com',
            scopes: ['MANAGE_DB'],
            serviceAccount: true,
          },
        },
        answer: {
          description: 'Done. Only a service account comes with its key.',
          schema: schemaOf({ ok, clientId: optional(text), clientSecret: optional(text) }),
          example: ['A service account', { ok: true, ...KEY }],
        },
        refusals: ['INVALID_SCOPE'],
      },
    },
    async ({ clock }, { serviceAccount, ...input }, { actor, write }) => {
      const scopes = grantScopes(input.scopes, [...actor.scopes])
      const email = serviceAccount
        ? requireName(input.email)
        : requireEmail(input.email, 'UNPROCESSABLE', 'email')
      return await write((tx) => {
        if (serviceAccount) return { ok: true, ...createClient(tx, clock, { scopes, name: email }) }
        authorizeClient(tx, clock, email, scopes)
        return { ok: true }
      })
    },
  ),

  /** One client, or all of a person. */
  'client.remove': onDatabase(
    {
      scopes: DOORS.deleteClients,
      effect: 'destroy',
      summary: 'Revoke clients',
      input: { client_id: optional(filled), email: optional(filled) },
      rest: {
        operationId: 'deleteClients',
        address: 'POST /clients/delete',
        description:
          'Revokes one client by `client_id`, or all clients of an `email`. Their tokens end. The last client with all scopes cannot be revoked.',
        curl: '{"email": "bob@example.com"}',
        examples: { 'The clients of a person': { email: 'bob@example.com' } },
        answer: {
          description: 'Done.',
          schema: schemaOf({ ok, numClients: whole }),
          example: ['There was one', { ok: true, numClients: 1 }],
        },
        refusals: ['CONFLICT'],
      },
    },
    async (_host, { client_id: id, email }, { write }) => {
      const numClients = await write((tx) => {
        if (id === null) return revokeClientsOf(tx, email ?? requireNamed())
        if (tx.clients.find(id) === undefined) return 0
        revokeClient(tx, id)
        return 1
      })
      return { ok: true, numClients }
    },
  ),

  /** The client of the token, or another one that can do no more than the token. */
  'client.replace': onDatabase(
    {
      scopes: DOORS.rotateClient,
      effect: 'secret',
      summary: 'Replace the key of a client',
      input: {
        oldClientExpiryDays: described(optional(number), undefined, { minimum: 0, maximum: 365 }),
        clientId: optional(filled),
      },
      rest: {
        operationId: 'rotateClient',
        address: 'POST /clients/rotate',
        description:
          'Makes a new client with the same scopes and owner; the old key works for seven more days, or `oldClientExpiryDays`. Without `clientId` it is the client of the token. Another client may have no scope that the token lacks.',
        examples: { 'Within a day': { oldClientExpiryDays: 1 } },
        answer: {
          description: 'The new key, and when the old one ends.',
          schema: schemaOf({
            clientId: text,
            clientSecret: text,
            oldClientId: text,
            oldClientExpiresAt: described(text, undefined, { format: 'date-time' }),
          }),
          example: [
            'A new key',
            { ...KEY, oldClientId: 'cOldOne', oldClientExpiresAt: '2030-01-08T12:00:00.000Z' },
          ],
        },
        refusals: ['UNKNOWN_CLIENT', 'CLIENT_EXPIRED', 'CONFLICT'],
      },
    },
    async ({ clock }, { oldClientExpiryDays: days, clientId }, { actor, write }) => {
      const id = clientId ?? clientOf(actor) ?? ''
      const rotation = await write((tx) => {
        requireNoMore(tx, actor, id)
        return rotateClient(tx, clock, id, days ?? undefined)
      })
      const oldClientExpiresAt = new Date(rotation.oldClientExpiresAt).toISOString()
      return { ...rotation, oldClientExpiresAt }
    },
  ),

  /** `expiresIn` is in seconds. */
  'token.issue': onDatabase(
    {
      scopes: ['IMPERSONATE'],
      effect: 'secret',
      summary: 'Issue an access token of a user',
      input: { subject: text, scopes: texts, expiresIn: optional(number) },
    },
    async ({ database, authority }, { subject, expiresIn, ...input }, { actor, now, note }) => {
      const scopes = grantScopes(input.scopes, [...actor.scopes])
      const clients = await database.read((tx) => tx.clients.list())
      const claims = personOf(subject)
      const order = {
        // The token of a client ends with that client.
        clientId: clientOf(actor) ?? chooseClient(clients, scopes, now).id,
        claims,
        scopes,
        expiresIn: expiresIn === null ? undefined : expiresIn * 1000,
      }
      await note()
      const { accessToken, accessTokenExpiration } = await authority
        .issue(order)
        .catch((error: unknown) => {
          throw isUnknown(error) ? unknownSubject(claims.id) : error
        })
      return { accessToken, accessTokenExpiration, userId: claims.id, scopes }
    },
  ),

  'key.rotate': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Sign new tokens with a new key', input: {} },
    async ({ authority }, _input, { write }) => ({ keyId: await authority.rotateKeys(write) }),
  ),
}

/** The client that a caller acts for; undefined for a command. */
function clientOf({ credential }: Actor): string | undefined {
  return credential?.facts.clientId
}

/** Throws `NOT_AUTHORIZED` when the secret of this client, if it is another one, would allow more than the caller may. */
function requireNoMore(tx: ReadTx, actor: Actor, id: string): void {
  if (id === clientOf(actor)) return
  const beyond = tx.clients.find(id)?.scopes.find((scope) => !actor.scopes.has(scope))
  if (beyond === undefined) return
  throw new SatchelError('NOT_AUTHORIZED', 'Not authorized', { reason: `scope ${beyond}` })
}

/** The name of a service account, which is usually the address of its administrator. */
function requireName(text: string): string {
  const name = foldEmail(text)
  if (name !== '' && name.length <= 254 && !/\p{Cc}/u.test(name)) return name
  throw unprocessable('email', 'a name of at most 254 characters')
}

function requireNamed(): never {
  throw unprocessable('email', filled.expected)
}

/** The client that is meant when none is named. Throws `CONFLICT` when that is ambiguous. */
function onlyClient(tx: ReadTx, now: number): string {
  const clients = tx.clients.list()
  const lasting = clients.filter((client) => client.expires === null)
  const candidates = lasting.length > 0 ? lasting : clients.filter((c) => !isClientExpired(c, now))
  const [client] = candidates
  if (client !== undefined && candidates.length === 1) return client.id
  throw new SatchelError(
    'CONFLICT',
    `There are ${candidates.length} clients: name the one to rotate (satchel client list shows them)`,
  )
}

function personOf(subject: string) {
  const id = requireUserId(subject)
  return { id, email: isEmail(id) ? id : null, name: subject.trim(), extra: {} }
}

function isUnknown(error: unknown): boolean {
  return error instanceof SatchelError && error.code === 'USER_NOT_REGISTERED'
}

function unknownSubject(id: string): SatchelError {
  return new SatchelError(
    'USER_NOT_REGISTERED',
    `There is no user ${quoted(id)}, and the policy rejects new users: create one with satchel user add`,
  )
}

/** A token expires with its client, so it is issued in the name of a client that could request it. */
function chooseClient(clients: readonly Client[], scopes: readonly Scope[], now: number): Client {
  const needed = ['IMPERSONATE' as const, ...scopes]
  const able = clients.filter(
    (client) =>
      !isClientExpired(client, now) && needed.every((scope) => client.scopes.includes(scope)),
  )
  const client = able.find(({ expires }) => expires === null) ?? able[0]
  if (client !== undefined) return client
  const list = [...new Set(needed)].join(',')
  throw new SatchelError(
    'UNAUTHORIZED_CLIENT',
    `No client has the scopes to issue this token: create one with satchel client create --scopes ${list}`,
  )
}
