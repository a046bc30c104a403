import { SatchelError } from '../domain/value/error'
import { createBlobCensus, exportArchive } from '../domain/transfer/archive-export'
import {
  EXPORT_FORMATS,
  type ExportFormat,
  type Selection,
  type TextFormat,
  exportDatabase,
} from '../domain/transfer/export'
import { importFile } from '../domain/transfer/import'
import { ZIP } from '../zip/format'
import { flag, number, optional, text } from './fields'
import { type Streams, operation } from './operation'
import type { OpenDatabase } from '../host/workspace'

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
      return await importFile(contextOf(held), workspace.clock, upload ?? new Blob().stream(), {
        target: table === null ? null : { table, realm },
        isAtomic: input.atomic,
        isDryRun: input.dryRun,
        limits: workspace.importLimits,
        size,
        progress: progress ?? (() => undefined),
      })
    },
  ),

  /** The file is the download; progress is in objects and blobs. */
  export: operation(
    { database: text, format: text, table: optional(text), realm: optional(text) },
    async (workspace, input, streams) => {
      const { table, realm } = input
      using held = await workspace.hold(input.database)
      const format = formatOf(input.format)
      return format === 'zip'
        ? await exportZip(held, workspace.clock.now(), { table, realm }, streams)
        : await exportText(held, format, { table, realm }, streams)
    },
  ),
}

async function exportZip(
  held: OpenDatabase,
  now: number,
  selection: Selection,
  { download, progress }: Streams,
) {
  let exported = { objects: 0, blobs: 0 }
  const pieces = exportArchive(contextOf(held), now, selection, (count) => {
    exported = count
    progress?.(count.objects + count.blobs, null)
  })
  for await (const piece of pieces) await download?.(piece)
  return { ...exported, leftOut: 0 }
}

/** `leftOut` are the blobs that a text has no place for. */
async function exportText(
  { database }: OpenDatabase,
  format: TextFormat,
  selection: Selection,
  { download, progress }: Streams,
) {
  const census = createBlobCensus(selection)
  let objects = 0
  for await (const piece of exportDatabase(database, format, selection)) {
    await download?.(Buffer.from(piece.text))
    census.add(piece)
    objects += piece.values.length
    progress?.(objects, null)
  }
  return { objects, blobs: 0, leftOut: await database.read((tx) => census.count(tx)) }
}

function contextOf({ database, blobs, scratch }: OpenDatabase) {
  return { database, contents: blobs, archives: ZIP, scratch }
}

function formatOf(name: string): ExportFormat {
  const format = EXPORT_FORMATS.find((candidate) => candidate === name)
  if (format !== undefined) return format
  throw new SatchelError('INVALID_REQUEST', `format must be one of ${EXPORT_FORMATS.join(', ')}`)
}
