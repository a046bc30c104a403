import { readFileSync } from 'node:fs'
import process from 'node:process'
import { SatchelError } from '../domain/value/error'
import { isBucket, openBucketTarget, readCredentials } from './bucket'
import { openFolderTarget } from './folder'
import type { Target } from './target'

/** The settings of targets. */
export interface TargetSettings {
  /** Seals backups in a bucket. */
  readonly backupKey: Uint8Array | null
  /** A file with that key, 32 bytes in base64. */
  readonly backupKeyFile: string | null
  /** Backups in a bucket are not sealed. */
  readonly backupPlain: boolean
}

/** Small files that a process writes and syncs together when nobody else needs its threads. */
const SYNCS_AT_ONCE = 64

/**
 * A folder, or a bucket `s3://bucket/prefix`. `isBeside`: this process serves others, who must not wait for a folder on a
 * disk that hangs. Throws `UNPROCESSABLE` when something that a bucket needs is missing.
 */
export function openTarget(
  address: string,
  settings: TargetSettings,
  { isBeside = false } = {},
): Target {
  if (!isBucket(address)) {
    return openFolderTarget(address, isBeside ? {} : { syncsAtOnce: SYNCS_AT_ONCE })
  }
  const { AWS_ENDPOINT_URL: endpoint, AWS_REGION: region } = process.env
  const key = settings.backupPlain ? null : requireKey(settings)
  const credentials = readCredentials(process.env)
  return openBucketTarget(address, { key, endpoint, region, credentials })
}

function requireKey({ backupKey, backupKeyFile }: TargetSettings): Uint8Array {
  if (backupKey !== null) return backupKey
  if (backupKeyFile !== null) return readKeyFile(backupKeyFile)
  throw new SatchelError(
    'UNPROCESSABLE',
    'A backup in a bucket is sealed: set SATCHEL_BACKUP_KEY or --backup-key-file to 32 random bytes in base64 (openssl rand -base64 32) and keep them elsewhere too, or give --backup-plain',
  )
}

function readKeyFile(file: string): Uint8Array {
  const text = readText(file)
  const key = Buffer.from(text, 'base64')
  if (key.length === 32) return new Uint8Array(key)
  throw new SatchelError('UNPROCESSABLE', `${file} must hold 32 random bytes in base64`)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    throw new SatchelError('UNPROCESSABLE', `The key file ${file} cannot be read`, { cause })
  }
}
