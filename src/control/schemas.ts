import { declareTables } from '../domain/declare'
import { parseSchemaFile } from '../domain/schema-file'
import type { ReadTx } from '../domain/store'
import { text } from './fields'
import { operation } from './operation'

/** The tables of a database as a schema file has them, and the indexes that are not complete yet. */
export interface ShownSchema {
  /** Table name to stores text, null for a hidden table. */
  readonly schema: Readonly<Record<string, string | null>>
  readonly building: readonly { readonly table: string; readonly index: string }[]
}

export const schemaOperations = {
  /** The file is the upload. */
  'schema.push': operation({ database: text }, async (workspace, input, { upload }) => {
    const { database } = await workspace.open(input.database)
    const schemas = parseSchemaFile(await new Response(upload ?? null).text())
    await database.write((tx) => declareTables(tx, schemas, workspace.clock.now()))
    return await database.read((tx) => showSchema(tx, [...schemas.keys()]))
  }),

  'schema.show': operation({ database: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read((tx) => showSchema(tx))
  }),
}

/** Of these tables, or of all but the built-in ones. */
async function showSchema(tx: ReadTx, names?: readonly string[]): Promise<ShownSchema> {
  const tables = (await tx.tables.list()).filter(
    ({ name, builtIn }) => names?.includes(name) ?? !builtIn,
  )
  return {
    schema: Object.fromEntries(
      tables.map(({ name, hidden, stores }) => [name, hidden ? null : stores]),
    ),
    building: tables.flatMap(({ name: table, indexes }) =>
      indexes.flatMap(({ name: index, state }) => (state === 'ready' ? [] : [{ table, index }])),
    ),
  }
}
