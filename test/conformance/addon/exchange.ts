/** One of the add-on's operations that matter here (protocol.md §4.4). */
interface Operation {
  readonly type: string
  readonly keys: readonly string[]
  readonly values?: readonly Readonly<Record<string, unknown>>[]
}

export type TableOperations = readonly {
  readonly table: string
  readonly muts: readonly Operation[]
}[]

/**
 * What a sync would do with the objects of a device, by REST: stores what was put there, and gives it
 * everything that its user sees. Values with bytes or BlobRefs in them go through as they are.
 */
export async function exchange(
  databaseUrl: string,
  authorization: string,
  tables: readonly string[],
  changes: TableOperations,
): Promise<TableOperations> {
  for (const { table, muts } of changes) {
    for (const { values = [] } of muts) await push(databaseUrl, authorization, table, values)
  }
  return await Promise.all(
    tables.map(async (table) => {
      const values = await pull(databaseUrl, authorization, table)
      const keys = values.map(({ id }) => String(id))
      return { table, muts: values.length === 0 ? [] : [{ type: 'upsert', keys, values }] }
    }),
  )
}

async function push(
  databaseUrl: string,
  authorization: string,
  table: string,
  values: readonly unknown[],
): Promise<void> {
  const answer = await fetch(`${databaseUrl}/my/${table}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(values),
  })
  if (!answer.ok) throw new Error(`${table} is not stored: ${await answer.text()}`)
}

async function pull(
  databaseUrl: string,
  authorization: string,
  table: string,
): Promise<Readonly<Record<string, unknown>>[]> {
  const answer = await fetch(`${databaseUrl}/my/${table}`, { headers: { authorization } })
  if (!answer.ok) throw new Error(`${table} is not read: ${await answer.text()}`)
  return (await answer.json()) as Readonly<Record<string, unknown>>[]
}
