import { untilJobEnds } from '../domain/job/job-end'
import { parseSchemaFile } from '../domain/json/schema-file'
import { indexJobs, pushSchema, reportSchema } from '../domain/object/schema-report'
import type { Database } from '../domain/store/store'
import { flag, text } from './fields'
import { operation, type Streams } from './operation'

export const schemaOperations = {
  /** The file is the upload; with `wait`, progress is in objects whose index entries are made. */
  'schema.push': operation(
    { database: text, wait: flag },
    async (workspace, input, { upload, progress }) => {
      using held = await workspace.hold(input.database)
      const { database } = held
      const schemas = parseSchemaFile(await new Response(upload ?? null).text())
      const names = [...schemas.keys()]
      const now = workspace.clock.now()
      const change = await database.write((tx) => pushSchema(tx, schemas, now))
      if (input.wait) await untilBuilt(database, names, progress)
      return { change, ...(await database.read((tx) => reportSchema(tx, names))) }
    },
  ),

  'schema.show': operation({ database: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read((tx) => reportSchema(tx))
  }),
}

/** Resolves when the indexes of these tables are complete. */
async function untilBuilt(
  database: Database,
  names: readonly string[],
  progress: Streams['progress'],
): Promise<void> {
  const jobs = await database.read(async (tx) => {
    const tables = await tx.tables.list()
    return indexJobs(
      tx,
      tables.filter(({ name }) => names.includes(name)),
    )
  })
  const total = jobs.reduce((sum, job) => sum + (job.total ?? 0), 0)
  let ended = 0
  for (const job of jobs) {
    await untilJobEnds(database, job.id, ({ done }) => progress?.(ended + done, total))
    ended += job.total ?? 0
  }
}
