import { link, open, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { hasErrno, inheritOwner, syncPath } from '../../disk'
import { SatchelError } from '../../domain/value/error'
import type { Database } from '../../domain/store/store'
import { randomToken } from '../../domain/value/id'

/**
 * The 32 bytes that seal the secrets of a database: `configured`, else the file `secret.key` in
 * `folder`, which is created (mode 0600) while nothing is sealed yet (design.md §2). Throws
 * `STORAGE_FAILED` when the file is lost or broken.
 */
export async function openSecretKey(
  database: Database,
  folder: string,
  configured: Uint8Array | null,
): Promise<Uint8Array> {
  if (configured !== null) return configured
  const path = join(folder, 'secret.key')
  const kept = await readKey(path)
  if (kept !== undefined) return kept
  const sealed = await database.read((tx) => tx.keys.list())
  if (sealed.length > 0) {
    throw new SatchelError(
      'STORAGE_FAILED',
      `${path} is missing: put it back, or set SATCHEL_SECRET_KEY to the key it held`,
    )
  }
  await createKey(path)
  return (await readKey(path))!
}

async function readKey(path: string): Promise<Uint8Array | undefined> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (hasErrno(error, 'ENOENT')) return undefined
    throw error
  })
  if (text === undefined) return undefined
  const key = Buffer.from(text.trim(), 'base64url')
  if (key.length === KEY_BYTES) return new Uint8Array(key)
  throw new SatchelError(
    'STORAGE_FAILED',
    `${path} does not hold ${KEY_BYTES} bytes in base64url: put the file of this database back`,
  )
}

/** Atomic: a torn key after a power cut would make all sealed secrets unreadable. */
async function createKey(path: string): Promise<void> {
  const draft = `${path}.${randomToken(8)}`
  const file = await open(draft, 'wx', 0o600)
  inheritOwner(draft)
  try {
    await file.writeFile(`${randomToken(KEY_BYTES)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  // A link, unlike a rename, never replaces the key that another process has just made.
  await link(draft, path).catch((error: unknown) => {
    if (!hasErrno(error, 'EEXIST')) throw error
  })
  await unlink(draft)
  await syncPath(join(path, '..'))
}

const KEY_BYTES = 32
