// A request of sync: its changes are stored, and then it is answered. The files of this folder in the order in
// which a request enters them:
//
// | files                                      | work                                                            |
// | ------------------------------------------ | --------------------------------------------------------------- |
// | request                                    | the nouns of a request                                          |
// | read-request, read-operation, wire-field,  |                                                                 |
// | change, criteria, declared                 | read the request                                                |
// | sync, schema, client, revision             | learn its tables, note its client, find the bases of operations |
// | clock, push, reach, unit                   | order its transactions, and choose the way of each              |
// | prepare, steps, row-steps, anonymous-rows  | the ways of large transactions                                  |
// | execute, operations, merge                 | apply the operations to their rows in memory (overlay)          |
// | candidates, kept, replay                   | operations with criteria: the rows they reach, now and later    |
// | commit, judge, refused                     | judge these rows and write them                                 |
// | named-keys                                 | what the answer must know of each key that was named            |
// | answer-plan, pull, answer-rows, visible    | decide what the answer holds, and read it in parts              |
// | message, text, inline                      | write it                                                        |

import { accessOf } from '../access/access'
import type { Actor } from '../access/actor'
import type { WriteLimits } from '../object/limits'
import type { RulesByTable } from '../object/writing'
import type { BlobStore } from '../store/blob-store'
import type { Database, ReadTx } from '../store/store'
import { SatchelError, conflict } from '../value/error'
import { findSyncClient, isNoted, noteClient } from './client'
import type { Pull } from './answer-plan'
import { type Pushed, pushTransactions } from './push'
import { createRefusedRows, type RefusedRows } from './refused'
import type { Operation, SyncRequest } from './request'
import { numberOfRevision } from './revision'
import { hasSchemaNews, learnSchema } from './schema'

export interface Sync {
  readonly actor: Actor
  readonly request: SyncRequest
  /** ms since the epoch. */
  readonly now: number
  readonly rulesByTable: RulesByTable
  /** Of each object. */
  readonly limits: WriteLimits
  /** The bytes of blobs, for clients that do not know BlobRefs; without it they get these too. */
  readonly contents?: BlobStore
  /** Called with the rows of the transactions that were rejected, once each; not for a repeated request. */
  readonly refused?: (rows: RefusedRows) => void
  /** Called with the first damaged row that the answer leaves out. */
  readonly report?: (damage: SatchelError) => void
  /** Ends the sync while its changes are not stored: its caller is gone. */
  readonly signal?: AbortSignal
  /** Called after each unit of a large request, which frees its objects: a good time to collect garbage. */
  readonly relieve?: () => void
}

/**
 * Stores the changes of a request of sync (protocol.md §4, Appendix B). When it resolves all that the
 * request changed is durable, and only the answer is missing. Throws `CONFLICT` for a client of another
 * database, `INVALID_TOKEN` for changes of an anonymous caller, and as `learnSchema` and
 * `pushTransactions`.
 */
export async function storeRequest(database: Database, given: Sync): Promise<Pull> {
  const { actor, request, report = () => undefined } = given
  requireSameDatabase(database, request)
  const isAnonymous = actor.subject === null
  if (isAnonymous && request.transactions.length > 0) {
    throw new SatchelError('INVALID_TOKEN', 'Changes need an access token: log in')
  }
  const pushed = isAnonymous ? NOTHING : await store(database, given, actor.subject)
  if (pushed.refused.count > 0) given.refused?.(pushed.refused)
  // The changes are stored: a long answer need not hold them.
  const contents = request.knowsBlobRefs ? undefined : given.contents
  return { actor, request: { ...request, transactions: [] }, ...pushed, report, contents }
}

/**
 * True for a request that clients do not repeat when it fails (protocol.md Appendix C.1): the first
 * one, and the first one of a user who was anonymous before.
 */
export function isFirstSync({ lastPull }: SyncRequest, subject: string | null): boolean {
  return lastPull === undefined || (subject !== null && !lastPull.realms.has(subject))
}

const NOTHING: Pushed = {
  named: new Map(),
  rejections: [],
  refused: createRefusedRows(),
  ownRevisions: new Set(),
}

function requireSameDatabase(database: Database, { dbId }: SyncRequest): void {
  if (dbId === undefined || dbId === database.id) return
  throw conflict(
    'This client belongs to another database: nothing was stored; check its databaseUrl',
  )
}

async function store(database: Database, given: Sync, subject: string) {
  const { request, now, rulesByTable, limits, signal, relieve } = given
  const actor = { ...given.actor, subject }
  const { transactions, clientIdentity: identity } = request
  const found = await database.read((tx) => {
    const hasNews = hasSchemaNews(tx, actor, request, now)
    // The units find the rights of the actor remembered.
    if (transactions.length > 0) accessOf(tx, actor)
    const known = findSyncClient(tx, subject, identity)
    return { hasNews, known, baseOf: basesOf(tx, request) }
  })
  if (found.hasNews) await learnSchema(database, actor, request, now)
  const { known, baseOf } = found
  const isKnown = isNoted(known, request, now)
  const client = isKnown ? known : await noteClient(database, actor, request, now)
  if (transactions.length === 0) return { ...NOTHING, client: client.number }
  const pushed = await pushTransactions(database, {
    actor,
    client,
    isFirst: request.lastPull === undefined,
    transactions,
    baseOf,
    now,
    rulesByTable,
    limits,
    signal,
    relieve,
  })
  return { ...pushed, client: client.number }
}

/**
 * Finds the revision that the client had seen when it made an operation (protocol.md §4.5): from
 * `baseRevs`, else that of its last pull; undefined when the database did not give it out.
 */
function basesOf(
  tx: ReadTx,
  { baseRevs, lastPull }: SyncRequest,
): (operation: Operation) => number | undefined {
  const runs = tx.runs.list()
  const current = tx.revision()
  const sent = lastPull?.serverRevision
  const last = numberOfRevision(runs, current, sent)
  // Mostly all of them are those of the last pull.
  const others = baseRevs.filter(({ serverRev }) => serverRev !== sent)
  if (others.length === 0) return () => last
  const bases = baseRevs.map(({ table, clientRev, serverRev }) => ({
    table,
    clientRev,
    base: serverRev === sent ? last : numberOfRevision(runs, current, serverRev),
  }))
  const byTable = Map.groupBy(
    bases.toSorted((one, other) => other.clientRev - one.clientRev),
    ({ table }) => table,
  )
  return ({ table, rev }) => {
    const found = rev === undefined ? undefined : firstUpTo(byTable.get(table) ?? [], rev)
    return found === undefined ? last : found.base
  }
}

/** The first of a descending list that is not above a revision of the client. */
function firstUpTo<T extends { readonly clientRev: number }>(
  descending: readonly T[],
  rev: number,
): T | undefined {
  let [from, to] = [0, descending.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (descending[middle]!.clientRev <= rev) to = middle
    else from = middle + 1
  }
  return descending[from]
}
