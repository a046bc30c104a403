import { join } from 'node:path'
import type { Migration } from '../../migrations/sqlite/index'
import releases from './releases.json'

/** A version that people have data of: the SHA-256 of each of its migrations, in order. */
export interface Release {
  readonly version: string
  readonly hashes: readonly string[]
}

/** Each release adds an entry and never edits one: `bun test/released/freeze.ts <version>`. */
export const RELEASED: readonly Release[] = releases

export const RELEASES_FILE = join(import.meta.dir, 'releases.json')

/** The data folder that a release has made, packed. */
export function archiveOf(version: string): string {
  return join(import.meta.dir, `${version}.json.zst`)
}

export function hashOf(migration: Migration | undefined): string {
  return new Bun.CryptoHasher('sha256').update(migration?.sql ?? '').digest('hex')
}
