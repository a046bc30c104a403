import init from './0001_init.sql' with { type: 'text' }

export interface Migration {
  readonly name: string
  readonly sql: string
}

/**
 * In the order they run. Until 0.1.0 is released `0001` is edited in place; from then on a released
 * file is never edited (`test/released` holds the hashes).
 */
export const migrations: readonly Migration[] = [{ name: '0001_init', sql: init }]
