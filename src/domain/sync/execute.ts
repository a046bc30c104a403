import { criteriaOf } from './candidates'
import { addOwnerRows, commitRows } from './commit'
import type { Execution } from './execution'
import { enterNewRealms, leaveUnmadeRealms } from './new-realms'
import { applyOperation, type PlacedOperation } from './operations'
import { renewRights, rightsBefore } from './renewal'

/** Executes the operations of a transaction. Throws the refusal of the first that may not be. */
export async function executeAll(
  run: Execution,
  operations: readonly PlacedOperation[],
): Promise<void> {
  const rights = rightsBefore(run, operations)
  await loadNamed(run, operations)
  await enterNewRealms(run, operations)
  for (const operation of operations) await applyOperation(run, operation)
  await leaveUnmadeRealms(run)
  await commitRows(run, () => addOwnerRows(run, run.owned))
  if (rights !== undefined) await renewRights(run, rights)
}

/** Loads the rows of all operations together: each of them may be one row. */
export async function loadNamed(
  { overlay, tx }: Execution,
  operations: readonly PlacedOperation[],
): Promise<void> {
  if (operations.length < 2) return
  if (operations.some(({ operation }) => criteriaOf(operation.action) !== undefined)) return
  for (const [table, some] of Map.groupBy(operations, ({ table: its }) => its)) {
    await overlay.load(
      tx,
      table,
      some.flatMap(({ keys }) => keys),
    )
  }
}
