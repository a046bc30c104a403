/** A blob, as `blob.list` has it. */
export interface BlobInfo {
  readonly ref: string
  readonly size: number
  readonly type: string
  readonly hash: string
  /** ISO text. */
  readonly created: string
  /** Null while an object references it. */
  readonly unreferencedSince: string | null
}
