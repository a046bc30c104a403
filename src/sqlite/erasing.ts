import type { RealmRef } from '../domain/realm'
import { loadErasing } from './state'
import type { Scope } from './tx'

/** Realms whose rows are on their way out: not there for anyone (design.md §4). */
export function erasing(scope: Scope): ReadonlySet<RealmRef> {
  return scope.unit?.group.realmsTouched === true
    ? loadErasing(scope.connection)
    : scope.committed.erasing
}
