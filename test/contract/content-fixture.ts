import type { Arrival, BlobStore } from '../../src/domain/store/blob-store'
import { SatchelError } from '../../src/domain/value/error'
import type { TestClock } from '../auth/setup'

/** An empty store in a place of its own. */
export interface BlobStoreFixture extends AsyncDisposable {
  readonly store: BlobStore
  /** The time at which bytes are stored. */
  readonly clock: TestClock
  /** Another process on the same bytes. */
  another(): BlobStore
  /** Closes the store in good order and opens it again on what it left. */
  reopen(): Promise<BlobStore>
  /** Another store, on what the end of the process at this moment would leave. */
  crash(): Promise<BlobStore>
  /** Takes the last byte at a place away behind the store's back, or changes it. */
  damage(place: string, how: 'shorter' | 'other'): Promise<void>
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

/** Stores a content, which stays. */
export async function bring(
  store: BlobStore,
  bytes: string | Uint8Array,
): Promise<Pick<Arrival, 'place' | 'hash' | 'size'>> {
  await using arrival = await store.receive(chunksOf(bytes), ANY_SIZE)
  const { hash, size } = arrival
  return await arrival.keep(async () => ({ place: arrival.place, hash, size }))
}

/** All places. */
export async function listed(store: BlobStore): Promise<string[]> {
  return (await Array.fromAsync(store.list())).toSorted()
}

/** The text at a place. */
export async function textAt(store: BlobStore, place: string, size: number): Promise<string> {
  return await new Response((await store.open(place, size)).stream()).text()
}
