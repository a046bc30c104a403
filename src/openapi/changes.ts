import { inQuery, type Operations, type Parameter } from './specification'

const PARAMETERS: readonly Parameter[] = [
  inQuery(
    'token',
    'An access token, here because browsers send no headers with a WebSocket; absent for anonymous clients. With one that is not valid the connection is accepted, and `token-expired` sent.',
  ),
  {
    name: 'clientId',
    in: 'query',
    description: 'The `clientIdentity` of the requests to `POST /{database}/sync`.',
    schema: { type: 'string', maxLength: 100 },
    example: 'UebGj3YD7M35H75CKtI6xQ==',
  },
]

/** The live connection of a client (protocol.md §5). */
export const CHANGES_OPERATIONS: Operations = {
  listen: {
    tag: 'sync',
    summary: 'Hear of changes at once',
    description:
      'A WebSocket. The client sends `{"type":"ready","rev":…,"realmSetHash":…}` with the `serverRevision` that it has and a hash of its realms (SHA-1 in Base64 of `[{"realmId":…,"accepted":true|false},…]`, sorted by `realmId`), and gets one message when something changed for it:\n\n- `changes` brings the changes after `baseRev` up to `newRev`. The client applies it only if `baseRev` is the revision that it has.\n- `realm-added`, `realm-accepted` and `realm-removed` name a realm, and `realms-changed` none: the client then pulls with `POST /{database}/sync`. So does one that lacks more than 1 MB.\n\nThe next message follows after the next `ready`. `token-expired` asks for a connection with a new token: until then the socket gets nothing else. `error` says why there is nothing more to come: the database no longer exists. `{"type":"ping"}` is answered by `{"type":"pong"}`; the server pings as well, and closes a socket that is silent for two minutes. A page of another origin may connect if the database lists that origin. Further parameters of clients (`v`, `rev`, `yrev`, `realmsHash`, `dxcv`) are accepted and not used.',
    parameters: PARAMETERS,
    responses: { '101': { description: 'The connection is a WebSocket now.' } },
    refusals: ['INVALID_REQUEST', 'TOO_MANY_REQUESTS'],
  },
}
