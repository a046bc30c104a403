import type { RealmRef } from './realms'

/** A blob with what its collection depends on. */
export interface BlobState extends StoredBlob {
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
  find(id: string): BlobState | undefined
  /**
   * The blob, if the owner of the private realm `uploader` uploaded it, or an object in one of
   * these realms references it; realms that are being erased do not count.
   */
  findFor(
    id: string,
    uploader: RealmRef | null,
    realms: ReadonlySet<RealmRef>,
  ): StoredBlob | undefined
  isUploadedBy(id: string, uploader: RealmRef | null): boolean
  /** True when an object in another realm references the blob, whether it exists or not. */
  isReferencedOutside(id: string, realm: RealmRef | null): boolean
  /**
   * The blobs of one uploader, or with null of the whole database; equal contents count each time.
   */
  usage(uploader: RealmRef | null): BlobUsage
  /**
   * Up to `limit` blobs whose ids come after `after`, in order: all, or those that nothing
   * references.
   */
  list(after: string, limit: number, onlyIdle?: boolean): BlobState[]
  /** Up to `limit` blobs after this one, or from the first, in order of their files, then ids. */
  byFile(after: Pick<StoredBlob, 'file' | 'id'> | undefined, limit: number): StoredBlob[]
  /** Up to `limit` blobs without a reference since `until` (ms) or earlier, the oldest first. */
  idle(until: number, limit: number): StoredBlob[]
  /** How many of these there are. */
  countIdle(until: number): BlobUsage
  /** Up to `limit` objects that reference the blob; not those of realms that are being erased. */
  references(id: string, limit: number): BlobReference[]
  /** The private realms of its uploaders. */
  uploaders(id: string): RealmRef[]
  /** True when a blob has its bytes in this file. */
  isFileUsed(file: string): boolean
}

export interface BlobWriter extends BlobReader {
  /**
   * Adds a blob, or another uploader of it; its grace period before collection starts again. The bytes of
   * a known blob are in this file from now on.
   */
  put(blob: StoredBlob, uploader: RealmRef | null): void
  /** Records that the bytes of a known blob are in this file from now on. */
  setFile(id: string, file: string): void
  /** Removes a blob and its uploaders. */
  remove(id: string): void
}

/** A blob with the name of the file that the blob store has its bytes in. */
export interface StoredBlob extends Blob {
  readonly file: string
}

/**
 * Binary data beside the objects that reference it (spec.md §2.7, protocol.md §8). Its bytes never
 * change.
 */
export interface Blob {
  /** Chosen by the client that uploaded it. */
  readonly id: string
  /** SHA-256 of the bytes in hex, 64 characters. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
  /** The content type, as it was given. */
  readonly type: string
  /** When it was first uploaded, ms. */
  readonly created: number
}
