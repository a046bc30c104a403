import type { RealmRef } from './realms'

/** A blob with what its collection depends on. */
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
  find(id: string): BlobState | undefined
  /**
   * The blob, if the owner of the private realm `uploader` uploaded it, or an object in one of
   * these realms references it; realms that are being erased do not count.
   */
  findFor(id: string, uploader: RealmRef | null, realms: ReadonlySet<RealmRef>): Blob | undefined
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
  /** Up to `limit` blobs after this place, or from the first, in order of their hashes, then ids. */
  byContent(after: Pick<Blob, 'hash' | 'id'> | undefined, limit: number): Blob[]
  /** Up to `limit` blobs without a reference since `until` (ms) or earlier, the oldest first. */
  idle(until: number, limit: number): Blob[]
  /** How many of these there are. */
  countIdle(until: number): BlobUsage
  /** Up to `limit` objects that reference the blob; not those of realms that are being erased. */
  references(id: string, limit: number): BlobReference[]
  /** The private realms of its uploaders. */
  uploaders(id: string): RealmRef[]
  /**
   * The place in the blob store where the bytes with this hash are; undefined when no blob has
   * them.
   */
  placeOf(hash: string): string | undefined
  /** True when a content is recorded at this place. */
  isPlaceUsed(place: string): boolean
  /** Up to `limit` places after `after`, in order, whose bytes are not needed any more. */
  spentPlaces(after: string, limit: number): string[]
}

export interface BlobWriter extends BlobReader {
  /** Adds a blob, or another uploader of it; its grace period before collection starts again. */
  put(blob: Blob, uploader: RealmRef | null): void
  /**
   * Removes a blob and its uploaders. When no other blob has its content, the place becomes spent.
   */
  remove(id: string): void
  /**
   * Records where the bytes with this hash are from now on; their former place becomes spent, and
   * so does this one when no blob has them.
   */
  placeContent(hash: string, place: string): void
  /** Forgets a spent place whose bytes are removed. */
  removeSpentPlace(place: string): void
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
