import type { Clock } from '../../clock'
import { quoted, SatchelError } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'
import type { Provider } from '../store/records'

/** Adds the provider, or replaces the one with its name, which keeps its place. */
export function putProvider(tx: WriteTx, clock: Clock, draft: Omit<Provider, 'created'>): Provider {
  const known = tx.providers.find(draft.id)
  const provider = { ...draft, created: known?.created ?? clock.now() }
  tx.providers.put(provider)
  return provider
}

/** Removes the provider. Throws `UNKNOWN_PROVIDER`. */
export function removeProvider(tx: WriteTx, id: string): void {
  if (!tx.providers.remove(id)) throw unknown(id)
}

/** In the order they were added. */
export function listProviders(tx: ReadTx): readonly Provider[] {
  return tx.remember('providers', () => {
    const providers = tx.providers.list()
    return providers.toSorted((a, b) => a.created - b.created)
  })
}

/** Throws `UNKNOWN_PROVIDER`. */
export function getProvider(tx: ReadTx, id: string): Provider {
  const provider = listProviders(tx).find((candidate) => candidate.id === id)
  if (provider === undefined) throw unknown(id)
  return provider
}

function unknown(id: string): SatchelError {
  return new SatchelError('UNKNOWN_PROVIDER', `No login provider ${quoted(id)}`)
}
