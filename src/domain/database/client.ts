import type { Clock } from '../../clock'
import { quoted, SatchelError } from '../value/error'
import { randomToken } from '../value/id'
import { hasAllScopes, type Scope, SCOPES } from '../value/scope'
import { hashSecret, newSecret, sameSecret } from '../value/secret'
import type { ReadTx, WriteTx } from '../store/store'
import type { Client } from '../store/records'
import { foldEmail } from '../value/email'
import { DAY } from '../value/time'

/** The credentials of a client. The secret is returned once and not stored. */
export interface ClientCredentials {
  readonly clientId: string
  readonly clientSecret: string
}

export interface Rotation extends ClientCredentials {
  readonly oldClientId: string
  /** ms since the epoch. */
  readonly oldClientExpiresAt: number
}

export interface NewClient {
  readonly scopes: readonly Scope[]
  readonly name?: string | null
  readonly email?: string | null
}

/** A client with a new id and secret. Without scopes its tokens permit nothing. */
export async function createClient(
  tx: WriteTx,
  clock: Clock,
  { scopes, name = null, email = null }: NewClient,
): Promise<ClientCredentials> {
  const clientId = newClientId()
  const clientSecret = newSecret()
  await tx.clients.put({
    id: clientId,
    secretHash: hashSecret(clientSecret),
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    name,
    created: clock.now(),
    expires: null,
    email: email === null ? null : foldEmail(email),
  })
  return { clientId, clientSecret }
}

/** All clients in the order they were created, without the hashes of their secrets. */
export async function listClients(tx: ReadTx): Promise<Omit<Client, 'secretHash'>[]> {
  const clients = (await tx.clients.list()).toSorted((a, b) => a.created - b.created)
  return clients.map(({ id, name, scopes, created, expires, email }) => {
    return { id, name, scopes, created, expires, email }
  })
}

/**
 * Removes the client and its refresh tokens; its access tokens end with this commit. Throws
 * `UNKNOWN_CLIENT`, and `CONFLICT` for the last one with all scopes (protocol.md §9.3).
 */
export async function revokeClient(tx: WriteTx, id: string): Promise<void> {
  const client = await getClient(tx, id)
  if (isAdministrator(client)) {
    const others = (await tx.clients.list()).filter((other) => other.id !== id)
    if (!others.some(isAdministrator)) {
      throw new SatchelError(
        'CONFLICT',
        'This is the last client with all scopes: create another one before you revoke it',
      )
    }
  }
  await tx.clients.remove(id)
  await tx.refreshTokens.removeOfClient(id)
}

/**
 * A new client with the scopes and name of `id`, whose own key works for `days` more. Throws
 * `UNKNOWN_CLIENT`, `CLIENT_EXPIRED` and `UNPROCESSABLE` (protocol.md §9.3).
 */
export async function rotateClient(
  tx: WriteTx,
  clock: Clock,
  id: string,
  days = 7,
): Promise<Rotation> {
  if (!(days >= 0 && days <= MAX_OVERLAP_DAYS)) {
    throw new SatchelError(
      'UNPROCESSABLE',
      `The old key can stay valid for 0 to ${MAX_OVERLAP_DAYS} days`,
    )
  }
  const now = clock.now()
  const client = await getClient(tx, id)
  if (isClientExpired(client, now)) {
    throw new SatchelError('CLIENT_EXPIRED', `The key of client ${quoted(id)} has expired`)
  }
  const expires = Math.min(client.expires ?? Infinity, Math.round(now + days * DAY))
  const created = await createClient(tx, clock, client)
  await tx.clients.put({ ...client, expires })
  return { ...created, oldClientId: id, oldClientExpiresAt: expires }
}

/** The client as it is since policy last changed: remembered, for every token names one. */
export async function findClient(tx: ReadTx, id: string): Promise<Client | undefined> {
  const clientsById = await tx.remember('clients', async () => {
    const clients = await tx.clients.list()
    return new Map(clients.map((client) => [client.id, client]))
  })
  return clientsById.get(id)
}

/**
 * The client with this id and secret. An unknown id and a wrong secret are one answer, in the same
 * time; `CLIENT_EXPIRED` is told only to callers that know the secret.
 */
export async function authenticateClient(
  tx: ReadTx,
  { clientId, clientSecret }: ClientCredentials,
  now: number,
): Promise<Client> {
  const client = await findClient(tx, clientId)
  const isRight = sameSecret(hashSecret(clientSecret), client?.secretHash ?? NOBODY)
  if (client === undefined || !isRight) {
    throw new SatchelError('INVALID_CLIENT', 'Unknown client or wrong client secret')
  }
  if (isClientExpired(client, now)) {
    throw new SatchelError(
      'CLIENT_EXPIRED',
      'The key of this client has expired: use the one that replaced it',
    )
  }
  return client
}

export function isClientExpired(client: Client, now: number): boolean {
  return client.expires !== null && client.expires <= now
}

/**
 * Begins with a letter: as a subject it must not look like a realm, as an argument not like a flag.
 */
function newClientId(): string {
  return `c${randomToken(16)}`
}

async function getClient(tx: ReadTx, id: string): Promise<Client> {
  const client = await tx.clients.find(id)
  if (client === undefined) throw new SatchelError('UNKNOWN_CLIENT', `No client ${quoted(id)}`)
  return client
}

/** True for a client with all scopes whose key does not expire. */
function isAdministrator(client: Client): boolean {
  return client.expires === null && hasAllScopes(client.scopes)
}

const MAX_OVERLAP_DAYS = 365
/** Compared when there is no such client, so that both refusals take the same time. */
const NOBODY = hashSecret('')
