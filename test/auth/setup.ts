import { createPrivateKey, type KeyObject } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Authority, createAuthority } from '../../src/auth/authority'
import type { TokenLimits } from '../../src/auth/limits'
import { unseal } from '../../src/auth/key/seal'
import { openSecretKey } from '../../src/auth/key/secret-key'
import type { TokenAnswer } from '../../src/auth/grant/issuer'
import type { Clock } from '../../src/clock'
import { type Actor, requireStanding } from '../../src/domain/access/actor'
import { type ClientCredentials, createClient } from '../../src/domain/database/client'
import { type ErrorCode, SatchelError } from '../../src/domain/value/error'
import type { SigningKey } from '../../src/domain/store/records'
import { SCOPES, type Scope } from '../../src/domain/value/scope'
import type { Database, Store } from '../../src/domain/store/store'
import { createSqliteStore } from '../../src/sqlite/store'
import { underTest } from '../missing'

export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The private key that a thief of the folder of a database would have. */
export function stealPrivateKey(
  secretKey: Uint8Array,
  { id, sealedPrivateKey }: Pick<SigningKey, 'id' | 'sealedPrivateKey'>,
): KeyObject {
  const jwk = unseal(secretKey, sealedPrivateKey, `signing key ${id}`)
  return createPrivateKey({ key: JSON.parse(jwk), format: 'jwk' })
}

export interface TestClock extends Clock {
  /** ms; negative to jump back. */
  advance(by: number): void
}

export function createTestClock(start = Date.UTC(2030, 0, 1, 12)): TestClock {
  let now = start
  return {
    now: () => now,
    advance(by) {
      now += by
    },
  }
}

export interface TestStore extends AsyncDisposable {
  readonly folder: string
  readonly clock: TestClock
  readonly store: Store
}

/** The folders of the databases that `setupStore` made, by id. */
const folders = new Map<string, string>()

/** The folder of a database that was created in the store of `setupStore`. */
export function folderOf({ id }: Database): string {
  const folder = folders.get(id)
  if (folder === undefined) throw new Error('not a database of setupStore')
  return folder
}

/** A store in a folder of its own that is gone afterwards. */
export async function setupStore(clock = createTestClock()): Promise<TestStore> {
  const folder = await mkdtemp(join(tmpdir(), 'satchel-test-'))
  const store = underTest(createSqliteStore(folder, { clock, durability: 'relaxed' }))
  return {
    folder,
    clock,
    store: {
      ...store,
      async create(name) {
        const database = await store.create(name)
        folders.set(database.id, join(folder, 'databases', name))
        return database
      },
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

export interface TestAuthority extends TestStore {
  readonly database: Database
  readonly authority: Authority
  readonly secretKey: Uint8Array
  /** The default client, with all scopes. */
  readonly client: ClientCredentials
  /** `client_credentials` of the default client with these parameters besides. */
  ask(parameters: Readonly<Record<string, unknown>>): Promise<TokenAnswer>
  addClient(...scopes: Scope[]): Promise<ClientCredentials>
  /** The actor of a token, as a request for data identifies its caller. */
  verify(token: string): Promise<Actor>
}

/** A database with its keys and its default client. */
export async function setupAuthority(
  limits: Partial<TokenLimits> = {},
  clock = createTestClock(),
): Promise<TestAuthority> {
  const base = await setupStore(clock)
  const database = await base.store.create('main')
  const secretKey = await openSecretKey(database, folderOf(database), null)
  const authority = await createAuthority(database, clock, secretKey, limits)
  const addClient = (...scopes: Scope[]) =>
    database.write((tx) => createClient(tx, clock, { scopes }))
  const client = await addClient(...SCOPES)
  return {
    ...base,
    database,
    authority,
    secretKey,
    client,
    addClient,
    verify: (token) => verifyStanding(authority, database, token),
    ask: (parameters) => grantTokens(authority, { ...asClient(client), ...parameters }),
    async [Symbol.asyncDispose]() {
      await authority[Symbol.asyncDispose]()
      await base[Symbol.asyncDispose]()
    },
  }
}

/** The actor of a token, as a request for data identifies its caller. */
export async function verifyStanding(
  authority: Authority,
  database: Database,
  token: string,
): Promise<Actor> {
  const actor = await authority.verify(token)
  await database.read((tx) => requireStanding(tx, actor))
  return actor
}

/** The answer of `POST /token` to these parameters, which must be tokens. */
export async function grantTokens(
  authority: Authority,
  parameters: Readonly<Record<string, unknown>>,
  authorization: string | null = null,
): Promise<TokenAnswer> {
  const answer = await authority.grant({ parameters, authorization })
  if (answer.type === 'tokens') return answer
  throw new Error(`no tokens: ${answer.type}`)
}

/** The parameters with which a client proves itself, and no scopes. */
export function asClient({ clientId, clientSecret }: ClientCredentials) {
  return {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scopes: [] as readonly string[],
  }
}

/** The refusal that `work` ends with; fails when there is none. */
export async function refusalOf(work: () => unknown): Promise<SatchelError> {
  try {
    await work()
  } catch (error) {
    if (error instanceof SatchelError) return error
    throw error
  }
  throw new Error('this was not refused')
}

export async function codeOf(work: () => unknown): Promise<ErrorCode> {
  return (await refusalOf(work)).code
}
