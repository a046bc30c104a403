import { declareTables } from '../object/declare'
import type { TableSchema } from '../value/schema'
import type { Database, WriteTx } from '../store/store'
import type { Declaration } from './entry'
import type { Table } from '../store/tables'

/** What a file says about the database itself, all of it together. */
export interface Declared {
  readonly schemas: Map<string, TableSchema | null>
  readonly idPrefixes: Map<string, string>
  sealed: boolean | undefined
}

export function nothingDeclared(): Declared {
  return { schemas: new Map(), idPrefixes: new Map(), sealed: undefined }
}

/** Adds a declaration; what came later counts. */
export function addDeclaration(declared: Declared, declaration: Declaration): void {
  const { schemas = [], idPrefixes = [], sealed = declared.sealed } = declaration
  for (const [table, schema] of schemas) declared.schemas.set(table, schema)
  for (const [table, prefix] of idPrefixes) declared.idPrefixes.set(table, prefix)
  declared.sealed = sealed
}

/** Throws `CONFLICT` or `UNPROCESSABLE`. `now` in ms. */
export async function declare(tx: WriteTx, declared: Declared, now: number): Promise<void> {
  const { schemas, idPrefixes, sealed } = declared
  await declareTables(tx, schemas, now, idPrefixes)
  if (sealed !== undefined) await tx.tables.seal(sealed)
}

/** The tables by name as they will be: they are declared, looked at, and that is taken back. */
export async function rehearse(
  database: Database,
  declared: Declared,
  now: number,
): Promise<ReadonlyMap<string, Table>> {
  const rehearsal = new Error('a rehearsal, taken back')
  let tables: readonly Table[] = []
  try {
    await database.write(async (tx) => {
      await declare(tx, declared, now)
      tables = await tx.tables.list()
      throw rehearsal
    })
  } catch (error) {
    if (error !== rehearsal) throw error
  }
  return new Map(tables.map((table) => [table.name, table]))
}
