/**
 * A new database file with its schema and built-in tables, without an identity: compressed with zstd, in
 * base64. The build puts it here (build.ts); where the program runs from its sources, files are migrated.
 */
export const BLANK: string | null = null
