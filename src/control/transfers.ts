import { requireWriter } from '../domain/access/actor'
import { IMPORT, READ } from '../domain/access/door'
import {
  createBlobCensus,
  type ExportCount,
  exportArchive,
} from '../domain/transfer/archive-export'
import {
  EXPORT_FORMATS,
  exportDatabase,
  type Selection,
  type TextFormat,
} from '../domain/transfer/export'
import type { DamagedObject } from '../domain/transfer/rows'
import { importFile } from '../domain/transfer/import'
import { aborted, SatchelError } from '../domain/value/error'
import type { DataFolder } from '../host/data-folder'
import type { OpenDatabase } from '../host/host'
import { flag, number, oneOf, optional, text, type Values } from './fields'
import { CHOICE, PREFIX, readChoice } from './objects'
import { onDatabase, type Streams } from './operation'

export const transferOperations = {
  /** The file is the upload, of `size` bytes and with this name if they are known; progress is in bytes. */
  import: onDatabase(
    {
      scopes: IMPORT,
      effect: 'write',
      summary: 'Import a file',
      asks: ({ dryRun }) => dryRun,
      input: {
        table: optional(text),
        realm: optional(text),
        atomic: flag,
        dryRun: flag,
        size: optional(number),
        name: optional(text),
      },
    },
    async (opened, { table, realm, ...input }, context) => {
      const { folder, actor, upload, progress, signal, note } = context
      await note()
      return await importInto(folder, opened, upload ?? new Blob().stream(), {
        target: table === null ? null : { table, realm },
        isAtomic: input.atomic,
        isDryRun: input.dryRun,
        size: input.size,
        name: input.name,
        progress: progress ?? (() => undefined),
        allow: (tx) => requireWriter(tx, actor, opened.clock.now()),
        signal,
      })
    },
  ),

  /**
   * The file is the download; progress is in objects and blobs. A filter, a text or a beginning of keys chooses objects of
   * one table.
   */
  export: onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'Export to a file',
      input: {
        format: oneOf(EXPORT_FORMATS),
        table: optional(text),
        realm: optional(text),
        ...CHOICE,
        prefix: PREFIX,
      },
      sendsFile: true,
    },
    async (opened, { format, ...input }, { now, ...streams }) => {
      const selection = readSelection(input)
      return format === 'zip'
        ? await exportZip(opened, now, selection, streams)
        : await exportText(opened, format, selection, streams)
    },
  ),
}

interface Selecting extends Values<typeof CHOICE> {
  readonly table: string | null
  readonly realm: string | null
  readonly prefix: string | null
}

/** Throws `INVALID_REQUEST`. */
function readSelection({ table, realm, prefix, ...given }: Selecting): Selection {
  const choice = { ...readChoice(given), prefix: prefix ?? '' }
  if (Object.values(choice).every((part) => part === '')) return { table, realm }
  if (table !== null) return { table, realm, choice }
  throw new SatchelError('INVALID_REQUEST', 'To choose objects of an export, name their table')
}

/** Ends an export that nobody reads, also where it has nothing to write. Throws `BUSY`. */
function requireReader(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw aborted()
}

/** Imports a file as `importFile` does, within the limits of the folder. */
export function importInto(
  { importLimits: limits }: DataFolder,
  opened: OpenDatabase,
  file: AsyncIterable<Uint8Array>,
  options: Omit<Parameters<typeof importFile>[3], 'limits'>,
) {
  return importFile(opened.transfer, opened.clock, file, { ...options, limits })
}

async function exportZip(
  opened: OpenDatabase,
  now: number,
  selection: Selection,
  { download, progress, signal }: Streams,
) {
  let exported: ExportCount = { objects: 0, blobs: 0, damaged: [] }
  const pieces = exportArchive(opened.transfer, now, selection, (count) => {
    exported = count
    requireReader(signal)
    progress?.(count.objects + count.blobs, null)
  })
  for await (const piece of pieces) await download?.(piece)
  return { ...exported, leftOut: 0 }
}

/** `leftOut` counts the blobs, which a text format cannot hold. */
async function exportText(
  { database }: OpenDatabase,
  format: TextFormat,
  selection: Selection,
  { download, progress, signal }: Streams,
) {
  const census = createBlobCensus(selection)
  const damaged: DamagedObject[] = []
  let objects = 0
  for await (const piece of exportDatabase(database, format, selection)) {
    requireReader(signal)
    if (piece.text !== '') await download?.(Buffer.from(piece.text))
    census.add(piece)
    objects += piece.values.length
    damaged.push(...piece.damaged)
    progress?.(objects, null)
  }
  return { objects, blobs: 0, damaged, leftOut: await database.read((tx) => census.count(tx)) }
}
