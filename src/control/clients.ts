import {
  createClient,
  isClientExpired,
  listClients,
  revokeClient,
  rotateClient,
} from '../domain/database/client'
import { MANAGE } from '../domain/access/door'
import type { Client } from '../domain/store/records'
import type { ReadTx } from '../domain/store/store'
import { isEmail, requireEmail } from '../domain/value/email'
import { requireUserId } from '../domain/value/user-id'
import { quoted, SatchelError } from '../domain/value/error'
import { grantScopes, type Scope } from '../domain/value/scope'
import { number, optional, text, texts } from './fields'
import { onDatabase } from './operation'

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
    { scopes: MANAGE, effect: 'read', summary: 'List the clients', input: {} },
    ({ database }) => database.read(listClients),
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
    ({ clock }, { id, days }, { now, write }) =>
      write((tx) => {
        const chosen = id ?? onlyClient(tx, now)
        return rotateClient(tx, clock, chosen, days ?? undefined)
      }),
  ),

  /** `expiresIn` is in seconds. */
  'token.issue': onDatabase(
    {
      scopes: ['IMPERSONATE'],
      effect: 'secret',
      summary: 'Issue an access token of a user',
      input: { subject: text, scopes: texts, expiresIn: optional(number) },
    },
    async ({ database, authority }, { subject, expiresIn, ...input }, { actor, now }) => {
      const scopes = grantScopes(input.scopes, [...actor.scopes])
      const clients = await database.read((tx) => tx.clients.list())
      const claims = personOf(subject)
      const order = {
        clientId: chooseClient(clients, scopes, now).id,
        claims,
        scopes,
        expiresIn: expiresIn === null ? undefined : expiresIn * 1000,
      }
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
    async ({ authority }) => ({ keyId: await authority.rotateKeys() }),
  ),
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
