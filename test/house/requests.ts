/** The server under measurement, and the tokens that its requests carry. */
export interface World {
  /** The address of the database `main`. */
  readonly main: string
  readonly client: { readonly clientId: string; readonly clientSecret: string }
  /** The token of the first client, with every scope. */
  readonly root: string
  /** The token of a user who has a realm and an object in it. */
  readonly alice: string
  readonly realmId: string
  /** The links of the invitations that were mailed so far. */
  invitations(): readonly string[]
}

export interface HouseRequest {
  readonly name: string
  /** Makes the request; `turn` is another number every time. Awaited work is not measured. */
  readonly prepare: (world: World, turn: number) => Request | Promise<Request>
}

export const KEY = 'measured'

/** The requests whose entered files are counted. */
export const REQUESTS: readonly HouseRequest[] = [
  {
    name: 'health',
    prepare: ({ main }) => new Request(new URL('/health', main).href),
  },
  {
    name: 'GET by key',
    prepare: ({ main, alice }) => send('GET', `${main}/my/items/${KEY}`, alice),
  },
  {
    name: 'list',
    prepare: ({ main, alice }) => send('GET', `${main}/my/items`, alice),
  },
  {
    name: 'POST one object',
    prepare: ({ main, alice }, turn) =>
      send('POST', `${main}/my/items`, alice, { id: `posted${turn}`, title: 'Bread' }),
  },
  {
    name: 'DELETE by key',
    async prepare({ main, alice }, turn) {
      await succeed(send('POST', `${main}/my/items`, alice, { id: `gone${turn}`, title: 'Salt' }))
      return send('DELETE', `${main}/my/items/gone${turn}`, alice)
    },
  },
  {
    name: 'OTP step one',
    prepare: ({ main }, turn) =>
      send('POST', `${main}/token`, undefined, {
        grant_type: 'otp',
        email: `carol${turn}@example.com`,
        scopes: ['ACCESS_DB'],
      }),
  },
  {
    name: 'client_credentials with claims',
    prepare: ({ main, client }) => tokenRequest(main, client, ['ACCESS_DB'], 'alice@example.com'),
  },
  {
    name: 'invitation by mail',
    prepare: (world, turn) => invitation(world, `dave${turn}@example.com`),
  },
  {
    name: 'invitation answer',
    async prepare(world, turn) {
      const before = world.invitations().length
      await succeed(invitation(world, `eve${turn}@example.com`))
      while (world.invitations().length === before) await Bun.sleep(10)
      return new Request(world.invitations().at(-1) ?? '', {
        method: 'POST',
        headers: { origin: 'null', 'sec-fetch-site': 'same-origin' },
        body: new URLSearchParams({ answer: 'accept' }),
        redirect: 'manual',
      })
    },
  },
  {
    name: 'blob in',
    prepare: ({ main, alice }, turn) =>
      new Request(`${main}/blob/blob${turn}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${alice}` },
        body: `bytes of ${turn}`,
      }),
  },
  {
    name: 'list of users',
    prepare: ({ main, root }) => send('GET', `${main}/users`, root),
  },
]

export function send(method: string, url: string, token?: string, body?: unknown): Request {
  return new Request(url, {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** A client asks for a token of its own, or for one of a user. */
export function tokenRequest(
  main: string,
  { clientId, clientSecret }: World['client'],
  scopes: readonly string[],
  user?: string,
): Request {
  return send('POST', `${main}/token`, undefined, {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scopes,
    ...(user === undefined ? {} : { claims: { sub: user, email: user, name: user } }),
  })
}

/**
 * Sends a request and resolves to its JSON; a redirect counts as success.
 * @throws Error when it is refused.
 */
export async function succeed<T>(request: Request): Promise<T | undefined> {
  const response = await fetch(request)
  const text = await response.text()
  if (response.status >= 400) {
    throw new Error(`${request.method} ${request.url}: ${response.status} ${text}`)
  }
  return /^[[{]/.test(text) ? (JSON.parse(text) as T) : undefined
}

function invitation({ main, alice, realmId }: World, email: string): Request {
  return send('POST', `${main}/my/members`, alice, { realmId, email, invite: true })
}
