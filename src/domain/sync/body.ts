import { readShaped, type Shape } from '../json/shaped'
import { FIXED_LIMITS } from '../value/fixed-limits'
import { sharedTurn } from '../value/turn'
import type { SpecLimits } from './change'
import { type SyncRequest, syncRequestSteps } from './request'

/**
 * Reads a large request of sync in small steps, between which others get a turn: unknown fields are skipped,
 * and the rest is parsed value by value. `grow` reserves the memory of so many more values. Throws as
 * `readSyncRequest` and `readShaped`.
 */
export async function readSyncBody(
  chunks: AsyncIterable<Uint8Array>,
  limits: SpecLimits,
  grow: (values: number) => Promise<void>,
): Promise<SyncRequest> {
  const body = await readShaped(chunks, REQUEST, { values: FIXED_LIMITS.syncValues.most, grow })
  const steps = syncRequestSteps(body, limits)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    await sharedTurn()
  }
}

/** Deeper values are left out or refused before anything recurses on them; rows may have fewer levels. */
const DEPTH = 1_000
/** A name, a number or another short value. */
const SHORT = value(64 * 1024, 1_000)
const SCHEMA = value(1024 * 1024, 50_000)
/** Very many short texts: to read them one by one would take ten times as long as to parse them in slices. */
const NAMES = value(Infinity, FIXED_LIMITS.syncValues.most)
/** A row, criteria or a changeSpec: one that is too much rejects its transaction. */
const LARGE = value(Infinity, FIXED_LIMITS.rowValues.most, true)

const OPERATION = object({
  type: SHORT,
  txid: SHORT,
  ts: SHORT,
  rev: SHORT,
  userId: SHORT,
  isAdditionalChunk: SHORT,
  keys: NAMES,
  values: listOf(LARGE),
  changeSpecs: listOf(LARGE),
  criteria: LARGE,
  changeSpec: LARGE,
})

/** The fields of protocol.md §4.2 that are read; `$t` says that one is undefined. */
const REQUEST = object({
  v: SHORT,
  dbID: SHORT,
  clientIdentity: SHORT,
  schema: SCHEMA,
  lastPull: object({
    $t: SHORT,
    serverRevision: SHORT,
    realms: NAMES,
    inviteRealms: NAMES,
  }),
  baseRevs: listOf(SHORT),
  y: listOf(object({ type: SHORT, table: SHORT, prop: SHORT })),
  changes: listOf(object({ table: SHORT, muts: listOf(OPERATION) })),
})

function object(fields: Readonly<Record<string, Shape>>): Shape {
  return { kind: 'object', fields: new Map(Object.entries(fields)) }
}

function listOf(of: Shape): Shape {
  return { kind: 'list', of }
}

function value(bytes: number, values: number, mayBeLeftOut = false): Shape {
  return { kind: 'value', limits: { depth: DEPTH, values }, bytes, mayBeLeftOut }
}
