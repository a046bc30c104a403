import { isDatabaseName } from '../value/database-name'
import { quoted, SatchelError } from '../value/error'
import { isRecord } from '../value/value'
import type { CopyFacts } from '../store/copy'
import type { KeyFacts } from './frames'

/** The format of backups that this program writes and reads. */
const FORMAT = 1

/** Everything that is in a backup, written last: without it a folder is no backup. */
export interface Manifest {
  readonly format: typeof FORMAT
  /** The version of the program that made it. */
  readonly version: string
  /** ISO 8601, of the beginning. */
  readonly created: string
  readonly databases: readonly ManifestDatabase[]
  /** All files but the blobs, which `blobs.ndjson` of each database lists. */
  readonly files: readonly ManifestFile[]
}

export interface ManifestDatabase {
  readonly name: string
  readonly facts: CopyFacts
  readonly key: KeyFacts
  readonly blobs: {
    readonly count: number
    readonly bytes: number
    /** The hashes of blobs that were damaged already, and are missing here. */
    readonly damaged: readonly string[]
  }
}

export interface ManifestFile {
  /** With slashes, below the folder of the backup. */
  readonly path: string
  readonly size: number
  /** SHA-256 in hex. */
  readonly hash: string
}

export const MANIFEST = 'manifest.json'
/** The list of the blobs of a database: lines of JSON in the order of their hashes. */
export const BLOB_LIST = 'blobs.ndjson'
/** The list of the users of a database that were deleted in the two years before: lines of JSON. */
export const ERASED_LIST = 'erased.ndjson'

export function folderOf(database: string): string {
  return `databases/${database}`
}

/** The file of a blob in a backup. */
export function blobPath(database: string, hash: string): string {
  return `${folderOf(database)}/blobs/${hash}`
}

/** The text of the file, which begins with the hash of the rest, and that hash. */
export function writeManifest(manifest: Omit<Manifest, 'format'>): {
  readonly text: string
  readonly hash: string
} {
  const body = JSON.stringify({ format: FORMAT, ...manifest })
  const hash = hashOf(body)
  return { text: `{"sha256":"${hash}","manifest":${body}}\n`, hash }
}

/** Throws `DAMAGED`, and `NEWER_DATA` for a later format. */
export function readManifest(text: string): { readonly manifest: Manifest; readonly hash: string } {
  const [, hash, body] = /^\{"sha256":"([\da-f]{64})","manifest":(.*)\}\n$/s.exec(text) ?? []
  if (hash === undefined || body === undefined || hashOf(body) !== hash) throw damaged()
  const manifest: unknown = JSON.parse(body)
  if (!isRecord(manifest)) throw damaged()
  if (manifest['format'] !== FORMAT) {
    throw new SatchelError(
      'NEWER_DATA',
      `The backup was made by a newer version of Satchel (${JSON.stringify(manifest['version'])}): use that version or a newer one`,
    )
  }
  const known = manifest as unknown as Manifest
  // They become names of folders.
  const foreign = known.databases.find(({ name }) => !isDatabaseName(name))
  if (foreign === undefined) return { manifest: known, hash }
  throw new SatchelError('DAMAGED', `${MANIFEST} names a database ${quoted(foreign.name)}`)
}

function hashOf(text: string): string {
  return new Bun.CryptoHasher('sha256').update(text).digest('hex')
}

function damaged(): SatchelError {
  return new SatchelError('DAMAGED', `${MANIFEST} is damaged: this backup cannot be used`)
}
