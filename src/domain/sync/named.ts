/** The keys that the operations of one request name, in wire form, by table. */
export type Named = ReadonlyMap<string, ReadonlyMap<string, NamedKey>>

/** What a request did to one key: it decides how the answer brings its client up to date. */
export interface NamedKey {
  /** The revision that the client had seen when it changed the row; undefined when unknown. */
  readonly base: number | undefined
  /**
   * The row is what the client has assumed: every operation on it was applied as it was sent, and
   * nobody else had changed or removed it after `base`. False for a repeated transaction.
   */
  readonly isAsSent: boolean
  /** A transaction that names the key was rejected: the client needs the whole row. */
  readonly isRejected: boolean
  /**
   * The revision in which the transaction changed the row, of a repeated one too; undefined when it
   * changed nothing.
   */
  readonly revision: number | undefined
  /**
   * The top-level properties that the operations wrote; undefined when the client may not have the
   * row any more, because it deleted it.
   */
  readonly names: ReadonlySet<string> | undefined
}

/** A transaction that was rejected, as the answer lists it (protocol.md §4.3). */
export interface Rejection {
  readonly txid: string
  /** The code of the refusal. */
  readonly name: string
  readonly message: string
}
