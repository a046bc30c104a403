/** Keeps small secrets of one database, so that a copy of its file does not give them away. */
export interface Vault {
  /** `text`, sealed. It opens only under the same `label`. */
  seal(text: string, label: string): string
  /** Throws `STORAGE_FAILED` when it was sealed with another key or under another label. */
  open(sealed: string, label: string): string
}
