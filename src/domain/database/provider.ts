import type { Clock } from '../../clock'
import { quoted, SatchelError } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'
import type { Provider } from '../store/records'

/** Adds the provider, or replaces the one with its name, which keeps its place. */
export async function putProvider(
  tx: WriteTx,
  clock: Clock,
  draft: Omit<Provider, 'created'>,
): Promise<Provider> {
  const known = await tx.providers.find(draft.id)
  const provider = { ...draft, created: known?.created ?? clock.now() }
  await tx.providers.put(provider)
  return provider
}

/** Removes the provider. Throws `UNKNOWN_PROVIDER`. */
export async function removeProvider(tx: WriteTx, id: string): Promise<void> {
  if (!(await tx.providers.remove(id))) throw unknown(id)
}

/** In the order they were added. */
export async function listProviders(tx: ReadTx): Promise<readonly Provider[]> {
  return tx.remember('providers', async () => {
    const providers = await tx.providers.list()
    return providers.toSorted((a, b) => a.created - b.created)
  })
}

/** Throws `UNKNOWN_PROVIDER`. */
export async function getProvider(tx: ReadTx, id: string): Promise<Provider> {
  const provider = (await listProviders(tx)).find((candidate) => candidate.id === id)
  if (provider === undefined) throw unknown(id)
  return provider
}

function unknown(id: string): SatchelError {
  return new SatchelError('UNKNOWN_PROVIDER', `No login provider ${quoted(id)}`)
}
