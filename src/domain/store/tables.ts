import type { KeyRule } from '../value/key'
import type { Index } from '../value/schema'

export type IndexState = 'building' | 'ready'

export interface TableIndex extends Index {
  /** The engine's number for it. */
  readonly number: number
  readonly state: IndexState
}

/** A table of application objects, or one of the built-in three (protocol.md §6.2, §10). */
export interface Table extends KeyRule {
  readonly number: number
  readonly idPrefix: string
  /** The stores text as it was declared, the canonical form of the rest. */
  readonly stores: string
  readonly indexes: readonly TableIndex[]
  /** Hidden by `null` in a schema: not reachable, not lost. */
  readonly hidden: boolean
  readonly builtIn: boolean
}

/**
 * The tables every database has, with the keys of protocol.md §6.2; their numbers are 1, 2 and 3.
 */
export const BUILT_IN_TABLES: readonly Pick<
  Table,
  'name' | 'primaryKey' | 'compound' | 'generated' | 'idPrefix' | 'stores'
>[] = [
  {
    name: 'realms',
    primaryKey: ['realmId'],
    compound: false,
    generated: true,
    idPrefix: 'rlm',
    stores: '@realmId',
  },
  {
    name: 'members',
    primaryKey: ['id'],
    compound: false,
    generated: true,
    idPrefix: 'mmb',
    stores: '@id',
  },
  {
    name: 'roles',
    primaryKey: ['realmId', 'name'],
    compound: true,
    generated: false,
    idPrefix: '',
    stores: '[realmId+name]',
  },
]

/** The declaration of a table; numbers are the engine's. */
export type TableDeclaration = Omit<Table, 'number' | 'indexes' | 'builtIn'> & {
  readonly indexes: readonly { readonly name: string; readonly multi: boolean }[]
}

export interface TableReader {
  find(name: string): Table | undefined
  /** All tables, hidden ones too, in the order they were declared. */
  list(): readonly Table[]
  isSealed(): boolean
}

export interface TableWriter extends TableReader {
  /** Creates the table, or replaces the declaration of the one with the same name. */
  put(declaration: TableDeclaration): Table
  setIndexState(index: number, state: IndexState): void
  seal(sealed: boolean): void
}
