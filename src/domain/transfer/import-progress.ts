import type { Job } from '../store/records'

/** How far an import has come that goes on after its command or the server ended. */
export interface ImportProgress {
  /** The name of the file; null for standard input and for requests. */
  readonly file: string | null
  /** How many rows of the file are applied, and how many it has. */
  readonly row: number
  readonly rows: number
}

/** The progress of an import; null for other jobs, and for an import of an earlier version. */
export function progressOfImport({ kind, state }: Job): ImportProgress | null {
  const { file, row, rows } = state
  if (kind !== 'import' || typeof row !== 'number' || typeof rows !== 'number') return null
  return { file: typeof file === 'string' ? file : null, row, rows }
}

/** `the import of cities.json at row 120,000 of 170,000`. */
export function describeProgress({ file, row, rows }: ImportProgress): string {
  const subject = file === null ? 'an import' : `the import of ${file}`
  return `${subject} at row ${row.toLocaleString('en')} of ${rows.toLocaleString('en')}`
}

/** The phase in which an import waits for an earlier one of the same file. */
export const FOLLOWING = 'Following'
