import { SatchelError, quoted } from '../value/error'
import type { Index } from '../value/schema'
import type { ReadTx } from './store'

export type IndexState = 'building' | 'ready'

export interface TableIndex extends Index {
  /** The engine's number for it. */
  readonly number: number
  readonly state: IndexState
}

/** A table of application objects, or one of the built-in three (protocol.md §6.2, §10). */
export interface Table {
  readonly number: number
  readonly name: string
  /** Key paths; null until a schema says (protocol.md §10.1). */
  readonly primaryKey: readonly string[] | null
  readonly compound: boolean
  /** True for `@` tables: the server makes the key when it is absent. */
  readonly generated: boolean
  readonly idPrefix: string
  /** The stores text as it was declared, the canonical form of the rest. */
  readonly stores: string
  readonly indexes: readonly TableIndex[]
  /** Hidden by `null` in a schema: not reachable, not lost. */
  readonly hidden: boolean
  readonly builtIn: boolean
}

/** The tables every database has, with the keys of protocol.md §6.2; their numbers are 1, 2 and 3. */
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

/** Throws `UNKNOWN_TABLE` for a table that was never declared or is hidden. */
export async function requireTable(tx: ReadTx, name: string): Promise<Table> {
  const table = await tx.tables.find(name)
  if (table !== undefined && !table.hidden) return table
  throw new SatchelError(
    'UNKNOWN_TABLE',
    `There is no table ${quoted(name)}: declare it with satchel schema push, for example {${quoted(name)}: "@id"}`,
  )
}
