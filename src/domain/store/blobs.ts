import type { RealmRef } from './realms'
import type { Awaitable } from './records'

/** A blob as the one who keeps the storage in order sees it. */
export interface BlobState extends Blob {
  /** Since when nothing references it, ms; null while something does. */
  readonly idleSince: number | null
}

/** An object that references a blob. */
export interface BlobReference {
  readonly table: string
  readonly realm: RealmRef
  readonly key: string
}

export interface BlobUsage {
  readonly bytes: number
  readonly blobs: number
}

export interface BlobReader {
  find(id: string): Awaitable<BlobState | undefined>
  /**
   * The blob, if it was uploaded by the user with the private realm `uploader`, or an object in one of
   * these realms references it; realms that are being erased hold nothing.
   */
  findFor(
    id: string,
    uploader: RealmRef | null,
    realms: ReadonlySet<RealmRef>,
  ): Awaitable<Blob | undefined>
  isUploadedBy(id: string, uploader: RealmRef | null): Awaitable<boolean>
  /** True when an object in another realm than this one references the blob, be it there or not. */
  isReferencedOutside(id: string, realm: RealmRef | null): Awaitable<boolean>
  /** What one uploader brought, or with null the whole database holds: blobs that are equal count each. */
  usage(uploader: RealmRef | null): Awaitable<BlobUsage>
  /** Up to `limit` blobs whose ids come after `after`, in order: all, or those that nothing references. */
  list(after: string, limit: number, onlyIdle?: boolean): Awaitable<BlobState[]>
  /** Up to `limit` blobs after this one, or from the first, in order of their hashes, then ids. */
  byContent(after: Pick<Blob, 'hash' | 'id'> | undefined, limit: number): Awaitable<Blob[]>
  /** Up to `limit` blobs that nothing references since `until` or before, ms, the longest waiting first. */
  idle(until: number, limit: number): Awaitable<Blob[]>
  /** How many those are in all. */
  countIdle(until: number): Awaitable<BlobUsage>
  /** Up to `limit` objects that reference the blob; not those of realms that are being erased. */
  references(id: string, limit: number): Awaitable<BlobReference[]>
  /** The private realms of those who brought the blob. */
  uploaders(id: string): Awaitable<RealmRef[]>
  /** Up to `limit` contents whose hashes come after `after`, in order: each once, however many blobs have it. */
  contents(after: string, limit: number): Awaitable<Pick<Blob, 'hash' | 'size'>[]>
  /** Up to `limit` blobs that have this content. */
  ofContent(hash: string, limit: number): Awaitable<Blob[]>
  /** True while some blob has this content. */
  isStored(hash: string): Awaitable<boolean>
  /** Up to `limit` hashes after `after`, in order, that no blob has any more and that are not done with. */
  spent(after: string, limit: number): Awaitable<string[]>
}

export interface BlobWriter extends BlobReader {
  /** Notes a blob, and one more who brought it; its grace before it is collected begins anew. */
  put(blob: Blob, uploader: RealmRef | null): Awaitable<void>
  /** Forgets a blob and who brought it. When no other has its content, its hash is spent. */
  remove(id: string): Awaitable<void>
  /** The content with this hash is removed. */
  settle(hash: string): Awaitable<void>
}

/** Binary data beside the objects that reference it (spec.md §2.7, protocol.md §8). Its bytes never change. */
export interface Blob {
  /** Chosen by the client that uploaded it. */
  readonly id: string
  /** SHA-256 of the bytes in hex, 64 characters: the name under which they lie in the blob store. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
  /** The content type, as it was given. */
  readonly type: string
  /** When it was first uploaded, ms. */
  readonly created: number
}
