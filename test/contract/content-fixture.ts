import type { BlobStore } from '../../src/domain/store/blob-store'
import { SatchelError } from '../../src/domain/value/error'

/** An empty store in a place of its own. */
export interface BlobStoreFixture extends AsyncDisposable {
  readonly store: BlobStore
  /** Closes the store in good order and opens it again on what it left. */
  reopen(): Promise<BlobStore>
  /** Another store, on what the end of the process at this moment would leave. */
  crash(): Promise<BlobStore>
  /** Takes the last byte of a content away behind the store's back, or makes it another. */
  damage(hash: string, how: 'shorter' | 'other'): Promise<void>
}

export type OpenBlobStore = () => Promise<BlobStoreFixture>

export const ANY_SIZE = {
  bytes: Infinity,
  refuse: () => new SatchelError('PAYLOAD_TOO_LARGE', 'too large'),
}

export async function* chunksOf(...parts: readonly (string | Uint8Array)[]) {
  for (const part of parts) yield typeof part === 'string' ? Buffer.from(part) : part
}

export const hashOf = (bytes: string | Uint8Array) =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** Brings a content and keeps it. */
export async function bring(store: BlobStore, bytes: string | Uint8Array): Promise<string> {
  await using arrival = await store.receive(chunksOf(bytes), ANY_SIZE)
  return await arrival.keep(async () => arrival.hash)
}

export async function listed(store: BlobStore): Promise<string[]> {
  return (await Array.fromAsync(store.list())).toSorted()
}
