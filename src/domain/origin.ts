/** A browser origin that may call the database (protocol.md §11). */
export interface Origin {
  /** As it was listed: `https://app.example.com`, `capacitor://localhost`, `app:Name`, `myapp:`. */
  readonly id: string
  /** ms since the epoch. */
  readonly created: number
}
