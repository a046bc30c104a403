import type { Scope } from '../value/scope'

/** The three views on the data of a database (spec.md §1, §4). */
export type ViewName = 'all' | 'my' | 'public'

export interface View {
  /** Scopes that reading needs; null when anonymous callers may read. */
  readonly read: readonly Scope[] | null
  readonly write: readonly Scope[]
}

const GLOBAL: readonly Scope[] = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']

export const VIEWS: Readonly<Record<ViewName, View>> = {
  all: { read: ['ACCESS_DB', 'GLOBAL_READ'], write: GLOBAL },
  my: { read: ['ACCESS_DB'], write: ['ACCESS_DB'] },
  public: { read: null, write: GLOBAL },
}
