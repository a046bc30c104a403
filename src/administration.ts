import { type AdminSession, createAdminSessions } from './auth/admin/sessions'
import type { Clock } from './clock'
import type { Config } from './config/config'
import { isClientExpired } from './domain/database/client'
import { SatchelError } from './domain/value/error'
import { randomToken } from './domain/value/id'
import { isLoopbackHost } from './domain/value/web-address'
import type { DataFolder } from './host/data-folder'
import type { AdminAccess } from './host/serving'
import type { AdminParts } from './http/admin/parts'
import type { AnswerAdmin } from './http/routes/admin'
import { serverLog } from './log/log'
import { isLoopback } from './net/networks'

/** The page for administrators of a server (admin.md). */
export interface Administration extends AdminAccess {
  readonly url: () => string
  readonly answer: AnswerAdmin
}

interface AdministrationParts {
  readonly clock: Clock
  readonly every: (ms: number, work: () => void) => Disposable
  /** Where the server listens. */
  readonly served: () => string
}

/** Null where the settings turn the page off. */
export function createAdministration(
  folder: DataFolder,
  config: Config,
  { clock, every, served }: AdministrationParts,
): Administration | null {
  if (config.noAdmin || isShared(config)) return null
  const origin = config.adminUrl ?? ownOrigin(config)
  const sessions = createAdminSessions({
    clock,
    every,
    began: (session) => recordLogin(folder, session),
    findScopes: (database, client) => findScopes(folder, database, client),
  })
  const networks = config.adminNetworks ?? { contains: isLoopback }
  const parts: AdminParts = {
    rules: { served, origin, networks, proxies: config.trustProxy },
    clock,
    sessions,
    table: loadOnce(async () => (await import('./control/admin')).createAdminTable(folder)),
    assets: loadOnce(async () => (await import('./admin/assets')).adminAssets()),
  }
  const gate = loadOnce(async () => (await import('./http/routes/admin')).createAdminGate(parts))
  return {
    sessions,
    url: () => `${addressOf(config, origin, served())}/admin`,
    answer: async (http, call) => await (await gate())(http, call),
  }
}

/**
 * True where a public address with a path shares its origin with other applications, whose pages would pass every
 * check.
 */
function isShared({ adminUrl, publicUrl }: Config): boolean {
  return adminUrl === null && publicUrl !== null && new URL(publicUrl).pathname !== '/'
}

function ownOrigin({ publicUrl }: Config): string | null {
  return publicUrl === null ? null : new URL(publicUrl).origin
}

/** The address for links: the public one only where others than this machine may open it. */
function addressOf({ adminNetworks }: Config, origin: string | null, served: string): string {
  if (origin !== null && (adminNetworks !== null || isHere(origin))) return origin
  if (isHere(served)) return served
  throw new SatchelError(
    'NO_PUBLIC_ADDRESS',
    'The page for administrators answers at 127.0.0.1, and by https to --admin-networks: listen on 0.0.0.0, or set both --admin-url and --admin-networks',
  )
}

function isHere(address: string): boolean {
  return isLoopbackHost(new URL(address).hostname)
}

/** The scopes that a client has now; undefined when it is gone, has expired, or its database is gone. */
async function findScopes({ hosts }: DataFolder, database: string, id: string) {
  try {
    const { clock, database: opened } = await hosts.open(database)
    const client = await opened.read((tx) => tx.clients.find(id))
    return client === undefined || isClientExpired(client, clock.now()) ? undefined : client.scopes
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'UNKNOWN_DATABASE') return undefined
    throw error
  }
}

/** A login leaves a line as operations do. On a full disk there is none: the page may be the way to make room. */
function recordLogin({ audit, clock }: DataFolder, { id, client, address }: AdminSession): void {
  try {
    audit.put({
      id: randomToken(12),
      at: clock.now(),
      operation: 'session.begin',
      result: 'done',
      door: 'page',
      uid: null,
      client: client?.id ?? null,
      user: null,
      address,
      session: id,
    })
  } catch (error) {
    serverLog.error('A login to the page for administrators was not recorded', { error })
  }
}

/** Loads at the first use, and again after a failure. */
function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    }))
}
