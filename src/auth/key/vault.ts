import type { Vault } from '../../domain/store/vault'
import { seal, unseal } from './seal'

/** Seals with the secret key of a database (design.md §2). */
export function createVault(secretKey: Uint8Array): Vault {
  return {
    seal: (text, label) => seal(secretKey, text, label),
    open: (sealed, label) => unseal(secretKey, sealed, label),
  }
}
