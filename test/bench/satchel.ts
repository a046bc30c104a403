import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { RATE_LIMIT_NAMES } from '../../src/limits/rate-limits'
import { members } from './rows'
import { startServer, type ServerProcess } from './server-process'

export interface Client {
  readonly clientId: string
  readonly clientSecret: string
}

/** The subject of a token: a member of realms, or the client itself. */
export type Actor = keyof typeof members | 'client'

export interface Satchel extends ServerProcess {
  /** The database's base address. */
  readonly url: string
  readonly data: string
  readonly client: Client
  issueToken(actor: Actor): Promise<string>
  /** A token of the user with this id, which is an address. */
  issueTokenFor(userId: string): Promise<string>
  /** Sends a request to the database with the client's token and expects a 2xx. */
  send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: string | Uint8Array<ArrayBuffer>,
  ): Promise<void>
}

export interface SatchelSettings {
  readonly executable: string
  /** The data folder, made when absent. */
  readonly data: string
  /** The client of an earlier start on this folder. */
  readonly client?: Client
  /** Put before the command, to look at the process from outside. */
  readonly wrapper?: readonly string[]
  readonly signal: AbortSignal
  /** `development` unless told. */
  readonly mode?: Mode
}

/**
 * In production a server has a public address: it counts every request against limits, which are too
 * high to reach here, and reports them in every answer (design.md §2).
 */
export type Mode = 'development' | 'production'

const PRODUCTION = [
  '--public-url',
  'https://bench.test',
  '--rate-limits',
  RATE_LIMIT_NAMES.map((name) => `${name}=999999999/24h`).join(','),
]

/** Serves a data folder with the executable under test on a port of its choice. */
export async function openSatchel(settings: SatchelSettings): Promise<Satchel> {
  const mode = settings.mode === 'production' ? PRODUCTION : []
  const serve = ['serve', '--data', settings.data, '--port', '0', '--json', ...mode]
  const server = await startServer({
    command: [...(settings.wrapper ?? []), settings.executable, ...serve],
    log: `${settings.data}.log`,
    signal: settings.signal,
  })
  const client = settings.client ?? server.ready.client
  const [database] = server.ready.databases
  const url = database && `${server.ready.url}/${database.name}`
  if (client === undefined || url === undefined) {
    await server[Symbol.asyncDispose]()
    throw new Error('Satchel named no client or no database when it was ready')
  }
  const requestToken = (actor: Actor) => sendTokenRequest(tokenRequest(client, actor))
  const sendTokenRequest = async (body: object) => {
    const response = await fetch(`${url}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await requireOk(response, 'POST /token')
    return ((await response.json()) as { accessToken: string }).accessToken
  }
  let ownToken: Promise<string> | undefined

  return {
    ...server,
    url,
    data: settings.data,
    client,
    issueToken: requestToken,
    issueTokenFor: (userId) => sendTokenRequest(tokenRequestOf(client, userId, userId)),
    async send(method, path, body) {
      ownToken ??= requestToken('client')
      const response = await fetch(url + path, {
        method,
        headers: {
          authorization: `Bearer ${await ownToken}`,
          'content-type': 'application/json',
          prefer: 'return=minimal',
        },
        ...(body === undefined ? {} : { body }),
      })
      await requireOk(response, `${method} ${path}`)
      await response.arrayBuffer()
    },
  }
}

/** The body that asks for an actor's token (spec.md §2.1). */
export function tokenRequest(client: Client, actor: Actor): object {
  const credentials = {
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.clientSecret,
  }
  if (actor === 'client') {
    return { ...credentials, scopes: ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'] }
  }
  return tokenRequestOf(client, members[actor].userId, actor)
}

function tokenRequestOf({ clientId, clientSecret }: Client, userId: string, name: string): object {
  return {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scopes: ['ACCESS_DB'],
    claims: { sub: userId, email: userId, name },
  }
}

/** Gives a fresh database its tables, and members of `rows.ts` their realms. */
export async function prepareSatchel(
  satchel: Satchel,
  settings: SatchelSettings,
  schema: Readonly<Record<string, string>>,
  names: readonly (keyof typeof members)[],
): Promise<void> {
  const file = `${satchel.data}.schema.json`
  await writeFile(file, JSON.stringify(schema))
  await runCommand(settings, ['schema', 'push', file, '--data', satchel.data])
  for (const table of Object.keys(schema)) await waitForTable(satchel, table)
  const memberships = names.flatMap((name) => {
    const { userId, realms } = members[name]
    return realms.map((realmId) => ({ realmId, userId }))
  })
  await satchel.send(
    'POST',
    '/all/realms',
    JSON.stringify(memberships.map(({ realmId }) => ({ realmId, name: realmId }))),
  )
  await satchel.send(
    'POST',
    '/all/members',
    JSON.stringify(
      memberships.map((membership) => ({ ...membership, permissions: { manage: '*' } })),
    ),
  )
}

/**
 * Runs a command of the executable under test to its end.
 * @throws Error with what it printed when it fails.
 */
export async function runCommand(
  settings: Pick<SatchelSettings, 'executable' | 'signal'>,
  args: readonly string[],
): Promise<void> {
  const child = Bun.spawn([settings.executable, ...args], {
    stdout: 'ignore',
    stderr: 'pipe',
    signal: settings.signal,
  })
  const complaint = await child.stderr.text()
  const code = await child.exited
  if (code !== 0) throw new Error(`satchel ${args.join(' ')} ended with ${code}: ${complaint}`)
}

/** A running server sees a command's effect within a second, not at once. */
async function waitForTable(satchel: Satchel, table: string): Promise<void> {
  const deadline = performance.now() + 2000
  for (;;) {
    try {
      await satchel.send('GET', `/all/${table}?$limit=1`)
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await Bun.sleep(10)
    }
  }
}

async function requireOk(response: Response, request: string): Promise<void> {
  if (!response.ok)
    throw new Error(`${request}: ${response.status} ${(await response.text()).slice(0, 300)}`)
}

export function databaseFile(data: string): string {
  return join(data, 'databases', 'main', 'database.sqlite')
}
