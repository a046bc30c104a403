/** The verbs of a store that only test mode has: snapshots of whole databases, kept in memory. */
export interface TestStore {
  /** The database as of its last commit, for `restore` and `fork`. Throws `UNKNOWN_DATABASE`. */
  image(name: string): Promise<DatabaseImage>
  /**
   * Closes the database and replaces all its rows by those of an image that was taken of it. Revisions
   * that it gave out since then are not repeated: the next change begins a run. Throws
   * `UNKNOWN_DATABASE`.
   */
  restore(name: string, image: DatabaseImage): Promise<void>
  /**
   * Makes a database of an image of `source`, with an identity of its own as `Store.adopt` says, and
   * with what the source has besides rows. Throws `CONFLICT` when the name is taken, `UNPROCESSABLE`
   * when it is no database name.
   */
  fork(name: string, image: DatabaseImage, source: string): Promise<void>
  /**
   * Closes the database and removes all its rows but the tables, clients, keys, origins, providers and
   * settings; revisions are not repeated. Bytes of blobs stay. Throws `UNKNOWN_DATABASE`.
   */
  empty(name: string): Promise<void>
}

/** All rows of a database at one commit, in a form that only its engine reads. */
export interface DatabaseImage {
  readonly bytes: Uint8Array
}
