/** What an export can be written as. On its own, because the command line names them in its help. */
export const EXPORT_FORMATS = ['ndjson', 'json'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
