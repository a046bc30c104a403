import type { Actor } from '../../../src/domain/access/actor'
import type { WriteLimits } from '../../../src/domain/object/limits'
import { removeObject } from '../../../src/domain/object/remove'
import { upsertObjects } from '../../../src/domain/object/upsert'
import type { RulesByTable } from '../../../src/domain/object/writing'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { type Pushed, pushTransactions } from '../../../src/domain/sync/push'
import { SCOPES } from '../../../src/domain/value/scope'
import { setupStore } from '../../auth/setup'
import { declareIn, NOW } from '../../contract/fixture'
import { readRequest, UNLIMITED } from './read-request'

export function person(subject: string): Actor & { readonly subject: string } {
  const email = `${subject}@example.com`
  return { subject, email, name: subject, scopes: new Set(['ACCESS_DB']) }
}

/** Writes anywhere, as REST callers with all scopes do. */
const ADMIN: Actor = { subject: 'admin', email: null, name: null, scopes: new Set(SCOPES) }

/** An operation as it is on the wire; `table` is that of its entry. */
export interface WireOperation {
  readonly table?: string
  readonly type: string
  readonly keys: readonly string[]
  readonly [name: string]: unknown
}

/**
 * A database with tables `cards` and `lists`, and the realm `rlm-team` of Alice with Bob in it; without
 * `isIndexed` no index of them is ready.
 */
export async function setupPush(
  stores = '@id, title, list, *tags, [list+title]',
  isIndexed = false,
) {
  const base = await setupStore()
  const database = await base.store.create('main')
  const cards = await declareIn(database, 'cards', stores)
  if (isIndexed) {
    await database.write((tx) => {
      for (const { number } of cards.indexes) tx.tables.setIndexState(number, 'ready')
    })
  }
  await declareIn(database, 'lists', '@id')
  const team = { realmId: 'rlm-team' }
  await put(database, 'realms', [{ ...team, owner: 'alice' }])
  await put(database, 'members', [{ id: 'mmb-bob', ...team, userId: 'bob', permissions: FULL }])
  const { store, clock } = base
  return { ...database, store, clock, [Symbol.asyncDispose]: () => base[Symbol.asyncDispose]() }
}

const FULL = { manage: '*' }

/** What REST callers with all scopes write. */
export async function put(
  database: Database,
  table: string,
  objects: readonly object[],
  now = NOW,
): Promise<void> {
  await upsertObjects(database, {
    actor: ADMIN,
    view: 'all',
    table,
    objects,
    isArray: true,
    now,
    rulesByTable: ROW_RULES,
  })
}

export function removeAs(database: Database, table: string, key: string, now = NOW): Promise<void> {
  return removeObject(database, {
    actor: ADMIN,
    view: 'all',
    table,
    key,
    now,
    rulesByTable: ROW_RULES,
  })
}

/** The object with this key; undefined when there is none. */
export async function read(
  database: Database,
  table: string,
  key: string,
): Promise<Record<string, unknown> | undefined> {
  return database.read((tx) => {
    const declared = tx.tables.find(table)
    const found = declared && tx.objects.find(declared, key)
    return found && (JSON.parse(found.value) as Record<string, unknown>)
  })
}

export async function revisionOf(database: Database): Promise<number> {
  return database.read((tx) => tx.revision())
}

export interface TestClient {
  /**
   * Sends transactions, each a list of operations, based on the revision of the latest answer unless
   * the second parameter gives one. The answer's revision becomes the base of the next ones.
   */
  send(transactions: readonly WireTransaction[], options?: SendOptions): Promise<Pushed>
  /** One transaction. */
  push(...operations: readonly WireOperation[]): Promise<Pushed>
  /** Takes all changes of others. */
  pull(): Promise<void>
}

export type WireTransaction = readonly WireOperation[] & { readonly txid?: string }

export interface SendOptions {
  readonly base?: number | undefined
  readonly now?: number
  readonly rulesByTable?: RulesByTable
  readonly limits?: WriteLimits
  readonly isUpload?: boolean
  /** Of the transactions, in order; new ones without it. */
  readonly txids?: readonly string[]
  /** The client has had no answer yet. */
  readonly isFirst?: boolean
}

let made = 0

/** A client of a user that has seen everything until now. */
export async function connect(
  database: Database,
  subject: string,
  identity = `client-${(made += 1)}`,
): Promise<TestClient> {
  const actor = person(subject)
  await database.write((tx) => tx.syncClients.ensure(subject, identity, NOW))
  let seen = await revisionOf(database)

  async function send(
    transactions: readonly WireTransaction[],
    options: SendOptions = {},
  ): Promise<Pushed> {
    const { now = NOW, rulesByTable = ROW_RULES, isUpload = false, isFirst = false } = options
    const base = 'base' in options ? options.base : seen
    const changes = transactions.flatMap((operations, position) => {
      const prefix = isUpload ? 'upload-' : 'tx-'
      const txid = options.txids?.[position] ?? `${prefix}${(made += 1)}`
      return operations.map(({ table = 'cards', ...mut }) => ({
        table,
        muts: [{ txid, ...(isUpload ? {} : { ts: now, userId: subject }), ...mut }],
      }))
    })
    const request = readRequest({
      v: 3,
      clientIdentity: identity,
      schema: {},
      baseRevs: [],
      changes: structuredClone(changes),
    })
    const client = await database.read((tx) => tx.syncClients.find(subject, identity))
    const pushed = await pushTransactions(database, {
      actor,
      client: client!,
      isFirst,
      transactions: request.transactions,
      baseOf: () => base,
      now,
      rulesByTable,
      limits: options.limits ?? UNLIMITED,
    })
    seen = await revisionOf(database)
    return pushed
  }

  return {
    send,
    push: (...operations) => send([operations]),
    async pull() {
      seen = await revisionOf(database)
    },
  }
}

/** An object in the private realm of a user, or in another one. */
export function card(id: string, changes: object = {}, owner = 'alice', realmId = owner) {
  return { id, realmId, owner, ...changes }
}

export function insert(...values: readonly { readonly id: string }[]): WireOperation {
  return { type: 'insert', keys: values.map(({ id }) => id), values }
}

export function upsert(...values: readonly { readonly id: string }[]): WireOperation {
  return { type: 'upsert', keys: values.map(({ id }) => id), values }
}

export function change(key: string, spec: object, more: object = {}): WireOperation {
  return { type: 'update', keys: [key], changeSpecs: [spec], ...more }
}

export function drop(...keys: readonly string[]): WireOperation {
  return { type: 'delete', keys, criteria: { $t: 'undefined' } }
}

/** The range of one value. */
export function only(value: unknown) {
  return { type: 1, lower: value, upper: value }
}

export function inTable(table: string, operation: WireOperation): WireOperation {
  return { ...operation, table }
}

export function isRejected(pushed: Pushed, key: string, table = 'cards'): boolean | undefined {
  return pushed.named.get(table)?.get(key)?.isRejected
}

/** Later than the set-up. */
export const T = NOW + 1_000
/** The owner and the realm of a shared card. */
export const TEAM = ['alice', 'rlm-team'] as const

/** What a push says of a key that it names. */
export function said(pushed: Pushed, key: string, table = 'cards') {
  const named = pushed.named.get(table)?.get(key)
  return named && { isAsSent: named.isAsSent, isRejected: named.isRejected }
}

export const AS_SENT = { isAsSent: true, isRejected: false }
export const DIFFERENT = { isAsSent: false, isRejected: false }
