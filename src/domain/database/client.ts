import type { Clock } from '../../clock'
import { quoted, SatchelError, conflict } from '../value/error'
import { randomToken } from '../value/id'
import { hasAllScopes, type Scope, SCOPES } from '../value/scope'
import { hashSecret, newSecret, requireOverlap, sameSecret } from '../value/secret'
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
export function createClient(
  tx: WriteTx,
  clock: Clock,
  { scopes, name = null, email = null }: NewClient,
): ClientCredentials {
  // Begins with a letter: as a subject it must not look like a realm, as an argument not like a flag.
  const clientId = `c${randomToken(16)}`
  const clientSecret = newSecret()
  tx.clients.put({
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

/** A client without the hash of its secret. */
export interface ListedClient extends Omit<Client, 'secretHash'> {
  /** True until its owner has fetched the key with `connect`. */
  readonly isPending: boolean
}

/** All clients in the order they were created. */
export function listClients(tx: ReadTx): ListedClient[] {
  const clients = tx.clients.list().toSorted((a, b) => a.created - b.created)
  return clients.map((client) => {
    const { id, name, scopes, created, expires, email } = client
    return { id, name, scopes, created, expires, email, isPending: isPending(client) }
  })
}

/**
 * Lets the owner of an address fetch the key of a client with these scopes (protocol.md §9.3
 * `authorize`). Returns the id of the client, which has no key until then.
 */
export function authorizeClient(
  tx: WriteTx,
  clock: Clock,
  email: string,
  scopes: readonly Scope[],
): string {
  const { clientId } = createClient(tx, clock, { scopes, email })
  tx.clients.put({ ...getClient(tx, clientId), secretHash: PENDING })
  return clientId
}

/**
 * The key for the proven owner of an address (protocol.md §9.3 `connect`, `reconnect`): that of the
 * oldest client that waits for it, or else of a new one with the scopes that their other clients have,
 * whose secrets are not known any more. Throws `NOT_AUTHORIZED` when no client is theirs, and with
 * `requirePending` when none waits.
 */
export function connectClient(
  tx: WriteTx,
  clock: Clock,
  email: string,
  requirePending: boolean,
): ClientCredentials {
  const owned = requireClientsOf(tx, email)
  const pending = owned.find(isPending)
  if (pending !== undefined) {
    const clientSecret = newSecret()
    tx.clients.put({ ...pending, secretHash: hashSecret(clientSecret) })
    return { clientId: pending.id, clientSecret }
  }
  if (requirePending) throw notAuthorized('No new client waits for this address')
  const held = owned.flatMap(({ scopes }) => scopes)
  return createClient(tx, clock, { scopes: held, email })
}

/** The clients of this address, the oldest first. Throws `NOT_AUTHORIZED` when there is none. */
export function requireClientsOf(tx: ReadTx, email: string): Client[] {
  const clients = tx.clients.list()
  const owned = clients.filter((client) => client.email === foldEmail(email))
  if (owned.length === 0) throw notAuthorized('No client of this database belongs to this address')
  return owned.toSorted((a, b) => a.created - b.created)
}

/** The client of this address with the most scopes, the oldest of several, as long as its key works at `now`, ms. */
export function findClientOf(tx: ReadTx, email: string, now: number): Client | undefined {
  const owned = tx.clients.list().filter((client) => client.email === foldEmail(email))
  const [best] = owned
    .filter((client) => !isClientExpired(client, now))
    .toSorted((a, b) => b.scopes.length - a.scopes.length || a.created - b.created)
  return best
}

function notAuthorized(fact: string): SatchelError {
  return new SatchelError(
    'NOT_AUTHORIZED',
    `${fact}: ask an administrator of the database to run dexie-cloud authorize <your address>`,
  )
}

/** The hash of no secret: the key was not fetched yet. */
const PENDING = ''

function isPending({ secretHash }: Client): boolean {
  return secretHash.length === 0
}

/**
 * Removes the client and its refresh tokens; its access tokens end with this commit. Throws
 * `UNKNOWN_CLIENT`, and `CONFLICT` for the last one with all scopes (protocol.md §9.3).
 */
export function revokeClient(tx: WriteTx, id: string): void {
  const client = getClient(tx, id)
  if (isAdministrator(client)) {
    const others = tx.clients.list().filter((other) => other.id !== id)
    if (!others.some(isAdministrator)) {
      throw conflict(
        'This is the last client with all scopes: create another one before you revoke it',
      )
    }
  }
  tx.clients.remove(id)
  tx.refreshTokens.removeOf({ clientId: id })
}

/**
 * Revokes all clients of an address, and service accounts of this name (protocol.md §9.3). Returns how
 * many there were. Throws as `revokeClient`.
 */
export function revokeClientsOf(tx: WriteTx, email: string): number {
  const clients = tx.clients.list()
  const folded = foldEmail(email)
  const meant = clients.filter((client) => (client.email ?? client.name) === folded)
  for (const { id } of meant) revokeClient(tx, id)
  return meant.length
}

/**
 * A new client with the scopes and name of `id`, whose own key works for `days` more. Throws
 * `UNKNOWN_CLIENT`, `CLIENT_EXPIRED` and `UNPROCESSABLE` (protocol.md §9.3).
 */
export function rotateClient(tx: WriteTx, clock: Clock, id: string, days = 7): Rotation {
  requireOverlap(days, 'key')
  const now = clock.now()
  const client = getClient(tx, id)
  if (isClientExpired(client, now)) {
    throw new SatchelError('CLIENT_EXPIRED', `The key of client ${quoted(id)} has expired`)
  }
  if (isPending(client)) {
    throw conflict(`The client ${quoted(id)} has no key yet: revoke it instead`)
  }
  const expires = Math.min(client.expires ?? Infinity, Math.round(now + days * DAY))
  const created = createClient(tx, clock, client)
  tx.clients.put({ ...client, expires })
  return { ...created, oldClientId: id, oldClientExpiresAt: expires }
}

/** The client as it is since policy last changed: remembered, for every token names one. */
export function findClient(tx: ReadTx, id: string): Client | undefined {
  const clientsById = tx.remember('clients', () => {
    const clients = tx.clients.list()
    return new Map(clients.map((client) => [client.id, client]))
  })
  return clientsById.get(id)
}

/**
 * The client with this id and secret. An unknown id and a wrong secret are one answer, in the same
 * time; `CLIENT_EXPIRED` is told only to callers that know the secret.
 */
export function authenticateClient(
  tx: ReadTx,
  { clientId, clientSecret }: ClientCredentials,
  now: number,
): Client {
  const client = findClient(tx, clientId)
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

function getClient(tx: ReadTx, id: string): Client {
  const client = tx.clients.find(id)
  if (client === undefined) throw new SatchelError('UNKNOWN_CLIENT', `No client ${quoted(id)}`)
  return client
}

function isAdministrator(client: Client): boolean {
  return client.expires === null && hasAllScopes(client.scopes) && !isPending(client)
}

/** Compared when there is no such client, so that both refusals take the same time. */
const NOBODY = hashSecret('')
