import { closeSync, linkSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOwnFile, hasErrno, syncDescriptor, syncPath } from '../../disk'
import { SatchelError } from '../../domain/value/error'
import type { Database } from '../../domain/store/store'
import { randomToken } from '../../domain/value/id'

/**
 * The 32 bytes that seal the secrets of a database: `configured`, else the file `secret.key` in
 * `folder`, which is created (mode 0600) while nothing is sealed yet (design.md §2), and synced if it
 * `isDurable`. Throws `STORAGE_FAILED` when the file is lost or broken.
 */
export async function openSecretKey(
  database: Database,
  folder: string,
  configured: Uint8Array | null,
  isDurable = true,
): Promise<Uint8Array> {
  if (configured !== null) return configured
  const path = join(folder, 'secret.key')
  const kept = readKeyFile(path)
  if (kept !== undefined) return kept
  const sealed = await database.read((tx) => tx.keys.list())
  if (sealed.length > 0) {
    throw new SatchelError(
      'STORAGE_FAILED',
      `${path} is missing: put it back, or set SATCHEL_SECRET_KEY to the key it held`,
    )
  }
  await createKey(path, isDurable)
  return readKeyFile(path)!
}

/** The key in a file; undefined when there is none. Throws `STORAGE_FAILED` for a file without a key. */
export function readKeyFile(path: string): Uint8Array | undefined {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  }
  const key = Buffer.from(text.trim(), 'base64url')
  if (key.length === KEY_BYTES) return new Uint8Array(key)
  throw new SatchelError(
    'STORAGE_FAILED',
    `${path} does not hold ${KEY_BYTES} bytes in base64url: put the file of this database back`,
  )
}

/** Atomic: a torn key after a power cut would make all sealed secrets unreadable. */
async function createKey(path: string, isDurable: boolean): Promise<void> {
  const draft = `${path}.${randomToken(8)}`
  const file = createOwnFile(draft)
  try {
    writeFileSync(file, `${randomToken(KEY_BYTES)}\n`)
    if (isDurable) await syncDescriptor(file)
  } finally {
    closeSync(file)
  }
  try {
    // A link, unlike a rename, never replaces the key that another process has just made.
    linkSync(draft, path)
  } catch (error) {
    if (!hasErrno(error, 'EEXIST')) throw error
  }
  unlinkSync(draft)
  if (isDurable) await syncPath(join(path, '..'))
}

/** Removes the file of a key, if there is one, so that it does not come back at power loss. */
export async function removeKeyFile(path: string): Promise<void> {
  try {
    unlinkSync(path)
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return
    throw error
  }
  await syncPath(join(path, '..'))
}

/** In hex; it is equal for equal keys, and tells nothing else of them. */
export function keyProof(key: Uint8Array): string {
  return new Bun.CryptoHasher('sha256', key).update('satchel-backup').digest('hex')
}

/** The file of a key. */
export function keyFile(key: Uint8Array): Uint8Array {
  return Buffer.from(`${Buffer.from(key).toString('base64url')}\n`)
}

const KEY_BYTES = 32
