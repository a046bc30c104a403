import type { KeyObject } from 'node:crypto'
import { importJWK, type JSONWebKeySet } from 'jose'
import type { Clock } from '../../clock'
import type { Database } from '../../domain/store/store'
import { isOver, openPrivateKey, publicJwk } from './key'
import type { SigningKey } from '../../domain/store/records'

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

export function createKeyRing(
  database: Database,
  clock: Clock,
  secretKey: Uint8Array,
  keptFor: number,
): KeyRing {
  let opened: Signer | undefined
  const verifiers = new Map<string, VerifyingKey>()

  async function load(): Promise<readonly SigningKey[]> {
    const keys = await database.read((tx) => tx.remember('signing keys', () => tx.keys.list()))
    const now = clock.now()
    return keys.filter((key) => !isOver(key, now, keptFor))
  }

  return {
    async signer() {
      const current = (await load()).find((key) => key.state === 'current')
      if (current === undefined) throw new Error(`database ${database.name} has no signing key`)
      if (opened?.id !== current.id) {
        const privateKey = openPrivateKey(secretKey, current)
        opened = { id: current.id, privateKey: await toCryptoKey(privateKey) }
      }
      return opened
    },

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

function toCryptoKey(key: KeyObject): Promise<CryptoKey> {
  const pkcs8 = key.export({ type: 'pkcs8', format: 'der' })
  return crypto.subtle.importKey('pkcs8', pkcs8, { name: 'ECDSA', namedCurve: 'P-256' }, false, [
    'sign',
  ])
}
