import { SatchelError } from '../domain/error'
import { EXPORT_FORMATS, exportDatabase, type ExportFormat } from '../domain/transfer/export'
import { importFile } from '../domain/transfer/import'
import { flag, number, optional, text } from './fields'
import { operation } from './operation'

export const transferOperations = {
  /** The file is the upload, of `size` bytes when that is known; progress is in bytes. */
  import: operation(
    {
      database: text,
      table: optional(text),
      realm: optional(text),
      atomic: flag,
      dryRun: flag,
      size: optional(number),
    },
    async (workspace, input, { upload, progress }) => {
      const { table, realm, size } = input
      using held = await workspace.hold(input.database)
      return await importFile(held.database, workspace.clock, upload ?? new Blob().stream(), {
        target: table === null ? null : { table, realm },
        isAtomic: input.atomic,
        isDryRun: input.dryRun,
        limits: workspace.importLimits,
        size,
        progress: progress ?? (() => undefined),
      })
    },
  ),

  /** The file is the download; progress is in objects. */
  export: operation(
    { database: text, format: text, table: optional(text), realm: optional(text) },
    async (workspace, input, { download, progress }) => {
      const { table, realm } = input
      using held = await workspace.hold(input.database)
      const pieces = exportDatabase(held.database, formatOf(input.format), { table, realm })
      let objects = 0
      for await (const piece of pieces) {
        await download?.(Buffer.from(piece.text))
        objects += piece.objects
        progress?.(objects, null)
      }
      return { objects }
    },
  ),
}

function formatOf(name: string): ExportFormat {
  const format = EXPORT_FORMATS.find((candidate) => candidate === name)
  if (format !== undefined) return format
  throw new SatchelError('INVALID_REQUEST', `format must be one of ${EXPORT_FORMATS.join(', ')}`)
}
