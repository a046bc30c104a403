// The operations of a transaction, one after the other, with the rights from before it:
// docs/merging.md, "Transactions".

import { criteriaOf } from './candidates'
import { addOwnerRows, commitRows } from './commit'
import type { Execution } from './transaction'
import { enterNewRealms, leaveUnmadeRealms } from './new-realms'
import { applyOperation, type PlacedOperation } from './operations'
import { renewRights, rightsBefore } from './renewal'
import type { Work } from '../value/work'

/** Executes the operations of a transaction. Throws the refusal of the first that may not be. */
export function* executeAll(run: Execution, operations: readonly PlacedOperation[]): Work {
  const rights = rightsBefore(run, operations)
  yield* loadNamed(run, operations)
  yield* enterNewRealms(run, operations)
  for (const operation of operations) yield* applyOperation(run, operation)
  leaveUnmadeRealms(run)
  yield* commitRows(run, () => addOwnerRows(run, run.owned))
  if (rights !== undefined) renewRights(run, rights)
}

/** Loads the rows of all operations together: each of them may be one row. */
export function* loadNamed(run: Execution, operations: readonly PlacedOperation[]): Work {
  if (operations.length < 2) return
  if (operations.some(({ operation }) => criteriaOf(operation.action) !== undefined)) return
  for (const [table, some] of Map.groupBy(operations, ({ table: its }) => its)) {
    yield* run.overlay.load(
      run,
      table,
      some.flatMap(({ keys }) => keys),
    )
  }
}
