import init from './0001_init.sql' with { type: 'text' }

export interface Migration {
  readonly name: string
  readonly sql: string
}

/**
 * In the order they run. A file that was released is never edited: `test/released/releases.json` has the hashes. The
 * newest one is edited in place until then.
 */
export const migrations: readonly Migration[] = [{ name: '0001_init', sql: init }]
