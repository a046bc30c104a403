// Operations with criteria that are remembered: docs/merging.md, "Operations with criteria".

import type { Actor } from '../access/actor'
import type { RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'
import type { CriteriaOperation } from '../store/sync'
import type { Table } from '../store/tables'
import { FIXED_LIMITS } from '../value/fixed-limits'
import { parseStored } from '../value/value'
import { type PropertyChange, readChangeSpec } from './change'
import { type Criteria, readCriteria } from './criteria'

/** A kept operation with criteria, ready to be applied. */
export interface KeptOperation {
  readonly kept: CriteriaOperation
  readonly criteria: Criteria
  readonly change: readonly PropertyChange[]
  readonly actor: Actor
  /** The steps that it takes to hold it against a row. */
  readonly stepsToTest: number
}

/** What the replays of one unit share. */
export interface Replays {
  /** The operations that concern rows of a table, by place and base, each read once. */
  readonly known: Map<Table, Map<string, readonly KeptOperation[]>>
  /** The steps that are left to the unit: other writers wait for it. */
  steps: number
}

/** A step is the comparison of a plain operation with a row, about half a microsecond. */
const STEPS_TO_APPLY = 150
const STEPS_TO_READ = 10
/** Characters of a change that are applied, and of an operation that are read, in a step. */
const APPLIED_CHARACTERS_PER_STEP = 3
const READ_CHARACTERS_PER_STEP = 50
/** Names on the way to indexed values that are followed in a step. */
const NAMES_PER_STEP = 50

/** The steps that it takes to apply an operation to a row of so many values, which is copied. */
export function stepsToApply({ kept }: KeptOperation, values: number): number {
  return (
    STEPS_TO_APPLY +
    Math.ceil((kept.change?.length ?? 0) / APPLIED_CHARACTERS_PER_STEP) +
    2 * values
  )
}

function stepsToRead({ criteria, change }: CriteriaOperation): number {
  return (
    STEPS_TO_READ + Math.ceil((criteria.length + (change?.length ?? 0)) / READ_CHARACTERS_PER_STEP)
  )
}

function stepsToTest({ paths }: Criteria): number {
  let names = 0
  for (const path of paths) names += path.length
  return 1 + Math.floor(names / NAMES_PER_STEP)
}

/** Kept operations that are read for one place and base at the most: the newest of them. */
const MAX_OPERATIONS = 5_000

export function createReplays(): Replays {
  return { known: new Map(), steps: FIXED_LIMITS.replaySteps.most }
}

/** The place of a row while operations are replayed on it. */
export interface Place {
  readonly id: string
  /** Undefined for a realm that is gone, or that the actor of the transaction has lost. */
  readonly realm: RealmRef | undefined
}

/** The operations that a row may have to go through. */
interface Wanted {
  readonly place: Place
  /** They came after this revision. */
  readonly base: number
  /** The user whose rows they are. */
  readonly subject: string
}

/**
 * The operations on a table that concern rows of a place: those of its members, of the
 * owner of a private one, and of the actor alone in a realm that is gone or lost to them.
 */
export function keptOperations(
  { criteriaOps }: ReadTx,
  replays: Replays,
  table: Table,
  { place: { id, realm }, base, subject }: Wanted,
): readonly KeptOperation[] {
  const name = `${realm ?? ''} ${base} ${id}`
  const ofTable = replays.known.get(table) ?? new Map<string, readonly KeptOperation[]>()
  replays.known.set(table, ofTable)
  const found = ofTable.get(name)
  if (found !== undefined) return found
  const isShared = realm !== undefined && id.startsWith('rlm')
  const authors = isShared ? { realm } : { subject: realm === undefined ? subject : id }
  const since = criteriaOps.list(table.number, authors, base, MAX_OPERATIONS)
  const operations = readNewest(since, replays)
  ofTable.set(name, operations)
  return operations
}

/** Reads the newest of them: so many that the unit has steps left to apply them. */
function readNewest(since: readonly CriteriaOperation[], replays: Replays): KeptOperation[] {
  const operations: KeptOperation[] = []
  const least = replays.steps / 2
  for (const kept of since.toReversed()) {
    if (replays.steps < least) break
    replays.steps -= stepsToRead(kept)
    const criteria = readCriteria(JSON.parse(kept.criteria))
    operations.push({
      kept,
      criteria,
      change: kept.change === null ? [] : readChangeSpec(parseStored(kept.change)),
      actor: { subject: kept.subject, email: kept.email, name: null, scopes: new Set<never>() },
      stepsToTest: stepsToTest(criteria),
    })
  }
  return operations.toReversed()
}
