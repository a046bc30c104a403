import type { Arrival, BlobStore } from '../../src/domain/store/blob-store'
import { SatchelError } from '../../src/domain/value/error'

/** An empty store in a folder of its own. */
export interface BlobStoreFixture extends AsyncDisposable {
  readonly store: BlobStore
  /** The files that are used. */
  readonly records: Set<string>
  /** Called before a look at the records. */
  onLook: () => Promise<void>
  /** Closes the store in good order and opens it again on what it left. */
  reopen(): Promise<BlobStore>
  /** Another store, on what the end of the process at this moment would leave. */
  crash(): Promise<BlobStore>
  /** Takes the last byte of a file away behind the store's back, or changes it. */
  damage(file: string, how: 'shorter' | 'other'): Promise<void>
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
): Promise<Pick<Arrival, 'file' | 'hash' | 'size'>> {
  await using arrival = await store.receive(chunksOf(bytes), ANY_SIZE)
  const { file, hash, size } = arrival
  return await arrival.keep(async () => ({ file, hash, size }))
}

/** All files. */
export async function listed(store: BlobStore): Promise<string[]> {
  return (await Array.fromAsync(store.list())).toSorted()
}

/** The text in a file. */
export async function textIn(store: BlobStore, file: string, size: number): Promise<string> {
  return await new Response((await store.open(file, size)).stream()).text()
}
