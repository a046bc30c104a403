import { calculateJwkThumbprint, type JWK, importJWK, type JSONWebKeySet } from 'jose'
import type { Clock } from '../../clock'
import type { Database, ReadTx, WriteTx, Write } from '../../domain/store/store'
import type { SealedText } from '../../domain/store/vault'
import { sealAsync, unseal, unsealAsync } from './seal'
import type { SigningKey } from '../../domain/store/records'

/**
 * Ensures a signing key and a published successor, and removes retired keys whose last token has
 * expired. `keptFor`: the longest a token can outlive its key, ms.
 */
export async function ensureKeys(
  database: Database,
  clock: Clock,
  secretKey: Uint8Array,
  keptFor: number,
): Promise<void> {
  const now = clock.now()
  const keys = await database.read((tx) => tx.keys.list())
  if (isComplete(keys) && !keys.some((key) => isOver(key, now, keptFor))) return
  const spares = await Promise.all([generateKey(secretKey, now), generateKey(secretKey, now)])
  await database.write((tx) => {
    prune(tx, now, keptFor)
    const states = tx.keys.list().map((key) => key.state)
    if (!states.includes('current')) tx.keys.put({ ...spares[0], state: 'current' })
    if (!states.includes('next')) tx.keys.put({ ...spares[1], state: 'next' })
  })
}

/**
 * From this commit the published `next` key signs, a new one is published in its place, and the old
 * one verifies until its last token has expired: no token fails (promise 16). Returns the new `kid`.
 */
export async function rotateKeys(
  database: Database,
  clock: Clock,
  secretKey: Uint8Array,
  keptFor: number,
  write: Write = (work) => database.write(work),
): Promise<string> {
  await ensureKeys(database, clock, secretKey, keptFor)
  const now = clock.now()
  const spare = await generateKey(secretKey, now)
  return write((tx) => {
    prune(tx, now, keptFor)
    const keys = tx.keys.list()
    const next = keys.find((key) => key.state === 'next')
    // Before anything changes: a key that cannot be opened must never become the signing key.
    if (next === undefined) throw new Error('ensureKeys left no next key')
    unseal(secretKey, next.sealedPrivateKey, labelOf(next.id))
    for (const key of keys) {
      if (key.state === 'current') tx.keys.put({ ...key, state: 'retired', retired: now })
    }
    tx.keys.put({ ...next, state: 'current' })
    tx.keys.put({ ...spare, state: 'next' })
    return next.id
  })
}

/** True when no token that this key signed can still be valid. */
export function isOver(key: SigningKey, now: number, keptFor: number): boolean {
  return key.retired !== null && key.retired + keptFor < now
}

/** The private keys of a database as they are sealed. */
export function sealedKeys(tx: ReadTx): SealedText[] {
  return tx.keys.list().map((key) => ({
    sealed: key.sealedPrivateKey,
    label: labelOf(key.id),
    replace: (tx, sealedPrivateKey) => tx.keys.put({ ...key, sealedPrivateKey }),
  }))
}

/** Throws `STORAGE_FAILED` when the key was sealed with another secret key. */
export async function openPrivateKey(secretKey: Uint8Array, key: SigningKey): Promise<CryptoKey> {
  const text = await unsealAsync(secretKey, key.sealedPrivateKey, labelOf(key.id))
  return await crypto.subtle.importKey('jwk', JSON.parse(text) as JWK, P256, false, ['sign'])
}

/** The public key as it is published: with its `kid`, use and algorithm. */
export function publicJwk(key: SigningKey): JWK {
  const jwk = JSON.parse(key.publicKey) as JWK
  return { ...jwk, kid: key.id, use: 'sig', alg: 'ES256' }
}

const P256 = { name: 'ECDSA', namedCurve: 'P-256' }

async function generateKey(secretKey: Uint8Array, now: number): Promise<SigningKey> {
  const { privateKey } = await crypto.subtle.generateKey(P256, true, ['sign', 'verify'])
  const { kty, crv, x, y, d } = await crypto.subtle.exportKey('jwk', privateKey)
  const jwk = { kty, crv, x, y } as JWK
  const id = await calculateJwkThumbprint(jwk)
  return {
    id,
    state: 'next',
    publicKey: JSON.stringify(jwk),
    sealedPrivateKey: await sealAsync(secretKey, JSON.stringify({ ...jwk, d }), labelOf(id)),
    created: now,
    retired: null,
  }
}

function isComplete(keys: readonly SigningKey[]): boolean {
  return keys.some((key) => key.state === 'current') && keys.some((key) => key.state === 'next')
}

function prune(tx: WriteTx, now: number, keptFor: number): void {
  for (const key of tx.keys.list()) {
    if (isOver(key, now, keptFor)) tx.keys.remove(key.id)
  }
}

function labelOf(id: string): string {
  return `signing key ${id}`
}

type VerifyingKey = Awaited<ReturnType<typeof importJWK>>

export interface Signer {
  /** The `kid`. */
  readonly id: string
  readonly privateKey: CryptoKey
}

/** The keys of one database, ready for use: opened once, exact after every rotation. */
export interface KeyRing {
  signer(): Promise<Signer>
  /** Undefined for a `kid` that is not, or no longer, a key of this database. */
  verifier(id: string): Promise<VerifyingKey | undefined>
  published(): Promise<JSONWebKeySet>
}

/**
 * Opens the keys of a database, as `ensureKeys` leaves them; with `isLazy` those of a new one are made at
 * their first use. Throws `STORAGE_FAILED` when the keys were sealed with another secret key.
 */
export async function openKeyRing(
  database: Database,
  clock: Clock,
  secretKey: Uint8Array,
  keptFor: number,
  isLazy = false,
): Promise<KeyRing> {
  let opened: Signer | undefined
  let isEnsured = false
  let ensuring: Promise<void> | undefined
  const verifiers = new Map<string, VerifyingKey>()

  async function ensure(): Promise<void> {
    try {
      await ensureKeys(database, clock, secretKey, keptFor)
      isEnsured = true
    } finally {
      ensuring = undefined
    }
  }

  async function load(): Promise<readonly SigningKey[]> {
    if (!isEnsured) await (ensuring ??= ensure())
    const keys = await database.read((tx) => tx.remember('signing keys', () => tx.keys.list()))
    const now = clock.now()
    return keys.filter((key) => !isOver(key, now, keptFor))
  }

  async function signer(): Promise<Signer> {
    const current = (await load()).find((key) => key.state === 'current')
    if (current === undefined) throw new Error(`database ${database.name} has no signing key`)
    if (opened?.id !== current.id) {
      opened = { id: current.id, privateKey: await openPrivateKey(secretKey, current) }
    }
    return opened
  }

  const kept = isLazy ? await database.read((tx) => tx.keys.list()) : undefined
  if (kept?.length !== 0) await signer()

  return {
    signer,

    async verifier(id) {
      const key = (await load()).find((key) => key.id === id)
      if (key === undefined) {
        verifiers.delete(id)
        return undefined
      }
      const known = verifiers.get(id) ?? (await importJWK(publicJwk(key), 'ES256'))
      verifiers.set(id, known)
      return known
    },

    async published() {
      return { keys: (await load()).map(publicJwk) }
    },
  }
}
