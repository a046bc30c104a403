import { isClientExpired } from '../domain/database/client'
import { quoted, SatchelError } from '../domain/value/error'
import { grantScopes, type Scope, SCOPES } from '../domain/value/scope'
import { requireUserId } from '../domain/value/user-id'
import { number, optional, text, texts } from './fields'
import { operation } from './operation'
import type { Client } from '../domain/store/records'
import { isEmail } from '../domain/value/email'

export const tokenOperations = {
  /** `expiresIn` is in seconds. */
  'token.issue': operation(
    { database: text, subject: text, scopes: texts, expiresIn: optional(number) },
    async (workspace, { subject, expiresIn, ...input }) => {
      const { database, authority } = await workspace.open(input.database)
      const scopes = grantScopes(input.scopes, SCOPES)
      const clients = await database.read((tx) => tx.clients.list())
      const claims = personOf(subject)
      const order = {
        clientId: chooseClient(clients, scopes, workspace.clock.now()).id,
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

  'key.rotate': operation({ database: text }, async (workspace, input) => {
    const { authority } = await workspace.open(input.database)
    return { keyId: await authority.rotateKeys() }
  }),
}

function personOf(subject: string) {
  const id = requireUserId(subject)
  return { id, email: isEmail(id) ? id : null, name: subject.trim(), extra: {} }
}

function isUnknown(error: unknown): boolean {
  return error instanceof SatchelError && error.code === 'USER_NOT_REGISTERED'
}

/** Whom the person would be told to ask is who runs the command. */
function unknownSubject(id: string): SatchelError {
  return new SatchelError(
    'USER_NOT_REGISTERED',
    `There is no user ${quoted(id)}, and by the policy they become none: satchel user add makes one`,
  )
}

/** A token ends with its client, so it is given in the name of one that could have asked for it. */
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
    `No client may issue such a token: make one with satchel client create --scopes ${list}`,
  )
}
