import type { Database } from '../store/store'
import type { ExportPiece, Selection } from './export-head'
import { exportLines } from './line-export'
import { exportSections } from './section-export'

export const EXPORT_FORMATS = ['ndjson', 'json', 'zip'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export type TextFormat = Exclude<ExportFormat, 'zip'>

/**
 * The schema, the demo users and all objects of a database, or the selected ones, as a file that
 * `importFile` reads (design.md §6, protocol.md §9.4); a zip is `exportArchive`. Each piece is a short read of its own: the
 * file has every object that existed throughout. Hidden tables and realms that are being erased are
 * left out. Throws `UNKNOWN_TABLE`.
 */
export function exportDatabase(
  database: Database,
  format: TextFormat,
  selection: Selection,
): AsyncGenerator<ExportPiece> {
  return format === 'json' ? exportSections(database, selection) : exportLines(database, selection)
}
