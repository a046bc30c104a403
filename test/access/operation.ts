import type { ViewName } from '../../src/domain/access/view'
import {
  putAllMine,
  putAnywhere,
  putPublic,
  removeAnywhere,
  removeMine,
  removePublic,
  type Verdict,
} from './oracle'
import type { Person, Value, World } from './oracle-world'

/** One write, as data: the oracle judges it, the database carries it out. */
export type Operation =
  | {
      readonly verb: 'put'
      readonly view: ViewName
      readonly table: string
      readonly objects: readonly Value[]
    }
  | {
      readonly verb: 'remove'
      readonly view: ViewName
      readonly table: string
      readonly key: string
    }

export const put = (table: string, ...objects: readonly Value[]): Operation => ({
  verb: 'put',
  view: 'my',
  table,
  objects,
})

export const remove = (table: string, key: string): Operation => ({
  verb: 'remove',
  view: 'my',
  table,
  key,
})

export const through = (view: ViewName, operation: Operation): Operation => ({
  ...operation,
  view,
})

/** The oracle’s verdict on an operation. Beyond `/my` the writer has GLOBAL_WRITE. */
export const judge = (world: World, person: Person, operation: Operation): Verdict => {
  const { view, table } = operation
  if (operation.verb === 'remove') {
    const { key } = operation
    switch (view) {
      case 'my':
        return removeMine(world, person, table, key)
      case 'all':
        return removeAnywhere(world, table, key)
      case 'public':
        return removePublic(world, table, key)
    }
  }
  if (view === 'my') return putAllMine(world, person, table, operation.objects)
  let verdict: Verdict = { allowed: true, world }
  for (const object of operation.objects) {
    if (!verdict.allowed) return verdict
    verdict =
      view === 'all'
        ? putAnywhere(verdict.world, person, table, object)
        : putPublic(verdict.world, person, table, object)
  }
  return verdict
}
