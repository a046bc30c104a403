import type { RealmRef } from '../domain/store/realm'
import type { Scope } from './scope'
import { loadErasing } from './state'

/** Realms whose rows are on their way out: not there for anyone (design.md §4). */
export function erasing({ connection, committed, unit }: Scope): ReadonlySet<RealmRef> {
  if (unit?.group.realmsTouched !== true) return committed.erasing
  unit.group.erasing ??= loadErasing(connection)
  return unit.group.erasing
}
