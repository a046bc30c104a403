import type { WriteTx } from './store'

/** Keeps small secrets of one database, so that a copy of its file does not give them away. */
export interface Vault {
  /** `text`, sealed. It opens only under the same `label`. */
  seal(text: string, label: string): string
  /** Throws `STORAGE_FAILED` when it was sealed with another key or under another label. */
  open(sealed: string, label: string): string
}

/** A sealed text of a database, to be sealed anew under another key. */
export interface SealedText {
  readonly sealed: string
  readonly label: string
  /** True for one that does no harm when it cannot be opened. */
  readonly mayBeLost?: true
  /** Puts another sealed text in its place. */
  replace(tx: WriteTx, sealed: string): void
}
