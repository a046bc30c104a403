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
  const bytes = sealedBytes(sealed)
  try {
    const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(label))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch (cause) {
    throw otherKey(cause)
  }
}

const ALGORITHM = 'aes-256-gcm'
const VERSION = 'v1.'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `seal` for the keys of a start, without `node:crypto`, which takes long to load. */
export async function sealAsync(key: Uint8Array, text: string, label: string): Promise<string> {
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES))
  const bytes = Buffer.from(text)
  const sealed = await crypto.subtle.encrypt(
    gcm(nonce, label),
    await importKey(key, 'encrypt'),
    bytes,
  )
  return VERSION + Buffer.concat([nonce, Buffer.from(sealed)]).toString('base64url')
}

/** `unseal` for the keys of a start. */
export async function unsealAsync(key: Uint8Array, sealed: string, label: string): Promise<string> {
  const bytes = sealedBytes(sealed)
  try {
    const nonce = bytes.subarray(0, NONCE_BYTES)
    const text = await crypto.subtle.decrypt(
      gcm(nonce, label),
      await importKey(key, 'decrypt'),
      bytes.subarray(NONCE_BYTES),
    )
    return Buffer.from(text).toString('utf8')
  } catch (cause) {
    throw otherKey(cause)
  }
}

function gcm(nonce: Uint8Array<ArrayBuffer>, label: string) {
  return {
    name: 'AES-GCM',
    iv: nonce,
    additionalData: Buffer.from(label),
    tagLength: 8 * TAG_BYTES,
  }
}

function importKey(key: Uint8Array, usage: 'encrypt' | 'decrypt'): Promise<CryptoKey> {
  return crypto.subtle.importKey('raw', new Uint8Array(key), 'AES-GCM', false, [usage])
}

/** Throws `STORAGE_FAILED` for a later format. */
function sealedBytes(sealed: string): Buffer<ArrayBuffer> {
  if (sealed.startsWith(VERSION)) return Buffer.from(sealed.slice(VERSION.length), 'base64url')
  throw new SatchelError(
    'STORAGE_FAILED',
    'A secret was sealed by a newer version of Satchel: use that version or a newer one',
  )
}

function otherKey(cause: unknown): SatchelError {
  return new SatchelError(
    'STORAGE_FAILED',
    'A secret of this database was sealed with another key: put its own secret.key back, or ' +
      'set SATCHEL_SECRET_KEY to the key it was sealed with',
    { cause },
  )
}

/**
 * A key of 32 bytes for one purpose, derived from the secret key of a database (HKDF with SHA-256,
 * RFC 5869).
 */
export function deriveKey(secretKey: Uint8Array, salt: string, purpose: string): Uint8Array {
  const extracted = new Bun.CryptoHasher('sha256', salt).update(secretKey).digest()
  return new Bun.CryptoHasher('sha256', extracted).update(purpose).update('\x01').digest()
}

/** Seals with the secret key of a database (design.md §2). */
export function createVault(secretKey: Uint8Array): Vault {
  return {
    seal: (text, label) => seal(secretKey, text, label),
    open: (sealed, label) => unseal(secretKey, sealed, label),
  }
}
