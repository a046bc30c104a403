import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { SatchelError } from '../../domain/value/error'
import type { Vault } from '../../domain/store/vault'

/**
 * Encrypts a small text with a 256-bit key: AES-256-GCM, a new random nonce each time. It opens
 * only under the same `label`, so that a sealed text cannot take the place of another.
 */
export function seal(key: Uint8Array, text: string, label: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(ALGORITHM, key, nonce)
  cipher.setAAD(Buffer.from(label))
  const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final()])
  return VERSION + Buffer.concat([sealed, cipher.getAuthTag()]).toString('base64url')
}

/** The text that was sealed. Throws `STORAGE_FAILED` when key, label or text are not the same. */
export function unseal(key: Uint8Array, sealed: string, label: string): string {
  if (!sealed.startsWith(VERSION)) {
    throw new SatchelError(
      'STORAGE_FAILED',
      'A secret was sealed by a newer version of Satchel: use that version or a newer one',
    )
  }
  const bytes = Buffer.from(sealed.slice(VERSION.length), 'base64url')
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(label))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new SatchelError(
      'STORAGE_FAILED',
      'A secret of this database was sealed with another key: put its own secret.key back, or ' +
        'set SATCHEL_SECRET_KEY to the key it was sealed with',
      { cause },
    )
  }
}

const ALGORITHM = 'aes-256-gcm'
const VERSION = 'v1.'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals with the secret key of a database (design.md §2). */
export function createVault(secretKey: Uint8Array): Vault {
  return {
    seal: (text, label) => seal(secretKey, text, label),
    open: (sealed, label) => unseal(secretKey, sealed, label),
  }
}
