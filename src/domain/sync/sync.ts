import { type Actor, requireStanding, requireWriter } from '../access/actor'
import type { WriteLimits } from '../object/limits'
import type { RulesByTable } from '../object/writing'
import type { Database } from '../store/store'
import { SatchelError } from '../value/error'
import { DAY } from '../value/time'
import { type AnswerPart, answerSync } from './pull'
import { type Pushed, pushTransactions } from './push'
import type { Operation, SyncRequest } from './request'
import { placeRevision } from './revision'
import { learnSchema } from './schema'

export interface Sync {
  readonly actor: Actor
  readonly request: SyncRequest
  /** ms since the epoch. */
  readonly now: number
  readonly rulesByTable: RulesByTable
  /** Of each object. */
  readonly limits: WriteLimits
  /** Called with the first damaged row that the answer leaves out. */
  readonly report?: (damage: SatchelError) => void
  /** The caller waits before it reads on if the answer has several parts: the first one is to be short. */
  readonly isToWait?: boolean
  /** Ends the sync while its changes are not stored: its caller is gone. */
  readonly signal?: AbortSignal
}

/**
 * Stores the changes of a request of sync and answers it (protocol.md §4, Appendix B). When the first
 * part of the answer is there, all that the request changed is durable. Throws `CONFLICT` for a
 * client of another database, `INVALID_TOKEN` for changes of an anonymous caller, and as
 * `learnSchema` and `answerSync`.
 */
export async function* sync(database: Database, given: Sync): AsyncGenerator<AnswerPart> {
  const { actor, request } = given
  requireSameDatabase(database, request)
  const isAnonymous = actor.subject === null
  if (isAnonymous && request.transactions.length > 0) {
    throw new SatchelError('INVALID_TOKEN', 'Changes need an access token: log in')
  }
  const pushed = isAnonymous ? NOTHING : await store(database, given, actor.subject)
  // The changes are stored: a long answer need not hold them.
  const rest = { ...request, transactions: [] }
  const { report = () => undefined, isToWait = false } = given
  yield* answerSync(database, { actor, request: rest, ...pushed, report, isToWait })
}

/**
 * True for a request that clients do not repeat when it fails (protocol.md Appendix C.1): the first
 * one, and the first one of a user who was anonymous before.
 */
export function isFirstSync({ lastPull }: SyncRequest, subject: string | null): boolean {
  return lastPull === undefined || (subject !== null && !lastPull.realms.includes(subject))
}

const NOTHING: Pushed = { named: new Map(), rejections: [], own: new Set() }

function requireSameDatabase(database: Database, { dbId }: SyncRequest): void {
  if (dbId === undefined || dbId === database.id) return
  throw new SatchelError(
    'CONFLICT',
    'This client belongs to another database: nothing was stored; check its databaseUrl',
  )
}

async function store(database: Database, given: Sync, subject: string) {
  const { actor, request, now, rulesByTable, limits, signal } = given
  await learnSchema(database, actor, request, now)
  const client = await noteClient(database, given, subject)
  const { transactions } = request
  if (transactions.length === 0) return NOTHING
  const baseOf = await basesOf(database, request)
  return await pushTransactions(database, {
    actor: { ...actor, subject },
    client,
    transactions,
    baseOf,
    now,
    rulesByTable,
    limits,
    ...(signal === undefined ? {} : { signal }),
  })
}

/** A client that did not change is noted again after this time, ms. */
const NOTED_AGAIN = DAY

/** The client, with the tables that it declares; written only when there is something new. */
async function noteClient(database: Database, { actor, request, now }: Sync, subject: string) {
  const { clientIdentity: identity } = request
  const tables = [...request.tables].flatMap(([name, { isMarked }]) => (isMarked ? [name] : []))
  const known = await database.read(async (tx) => {
    await requireStanding(tx, actor)
    return tx.syncClients.find(subject, identity)
  })
  const isNoted =
    known !== undefined &&
    known.seen > now - NOTED_AGAIN &&
    known.tables.join('\n') === tables.join('\n')
  if (isNoted) return known
  return await database.write(async (tx) => {
    await requireWriter(tx, actor, now)
    const client = { ...(await tx.syncClients.ensure(subject, identity, now)), tables, seen: now }
    await tx.syncClients.put(client)
    return client
  })
}

/**
 * Finds the revision that the client had seen when it made an operation (protocol.md §4.5): from
 * `baseRevs`, else that of its last pull; undefined when the database did not give it out.
 */
async function basesOf(
  database: Database,
  { baseRevs, lastPull }: SyncRequest,
): Promise<(operation: Operation) => number | undefined> {
  const { runs, current } = await database.read(async (tx) => ({
    runs: await tx.runs.list(),
    current: await tx.revision(),
  }))
  const place = (revision: unknown) => placeRevision(runs, current, revision)
  const last = place(lastPull?.serverRevision)
  const bases = baseRevs.map(({ table, clientRev, serverRev }) => ({
    table,
    clientRev,
    base: place(serverRev),
  }))
  const byTable = Map.groupBy(
    bases.toSorted((one, other) => other.clientRev - one.clientRev),
    ({ table }) => table,
  )
  return ({ table, rev }) => {
    const found =
      rev === undefined ? undefined : byTable.get(table)?.find((one) => one.clientRev <= rev)
    return found === undefined ? last : found.base
  }
}
