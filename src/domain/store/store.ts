import type { AuditReader, AuditWriter } from './audit'
import type { BlobReader, BlobWriter } from './blobs'
import type { ObjectReader, ObjectWriter } from './objects'
import type { RealmRef, RealmReader, RealmWriter } from './realms'
import type {
  Job,
  Provider,
  Origin,
  Client,
  SigningKey,
  Setting,
  Prunable,
  Records,
  RecordWriter,
} from './records'
import type { MembershipReader, MembershipWriter } from './memberships'
import type { MailReader, MailWriter } from './mails'
import type { DatabaseCopy } from './copy'
import type { CheckedStep, MeaningOf } from './integrity'
import type { InvitationReader, InvitationWriter } from './invitations'
import type { UserReader, UserWriter } from './users'
import type {
  CodeReader,
  CodeWriter,
  LoginReader,
  LoginWriter,
  RefreshTokenReader,
  RefreshTokenWriter,
} from './credentials'
import type {
  AppliedReader,
  AppliedWriter,
  CriteriaOperationReader,
  CriteriaOperationWriter,
  RunReader,
  SyncClientReader,
  SyncClientWriter,
} from './sync'
import type { TableReader, TableWriter } from './tables'

/**
 * The seam between the domain and a storage engine (design.md §3). `test/contract/store.ts` is its
 * contract suite: an engine that passes it is done. The engine filters by ids and knows no policy.
 */
export interface Store extends AsyncDisposable {
  /** Names of the databases in this store, sorted. */
  list(): Promise<string[]>
  has(name: string): Promise<boolean>
  /**
   * Opens an existing database, or returns the open one. Throws `UNKNOWN_DATABASE`, and
   * `COPIED_DATABASE` for a copy of another database of this store until it is adopted.
   */
  open(name: string): Promise<Database>
  /** Throws `CONFLICT` when the name is taken, `UNPROCESSABLE` when it is no database name. */
  create(name: string): Promise<Database>
  /**
   * Gives a copy of another database of this store an identity of its own: keys, logins, codes and
   * queued mails of the original are not part of it. Throws `UNKNOWN_DATABASE`, and `CONFLICT` when the
   * database is no copy.
   */
  adopt(name: string): Promise<void>
  /** Closes the database and removes everything of it. Throws `UNKNOWN_DATABASE`. */
  remove(name: string): Promise<void>
  /**
   * Closes the database and writes its files anew, so that they hold nothing of removed rows. `progress` gets bytes.
   * Throws `UNKNOWN_DATABASE`, and `STORAGE_FULL` or `STORAGE_FAILED`: then they are as they were.
   */
  compact(name: string, progress?: (done: number, total: number) => void): Promise<Compacted>
}

/** The size of a database before and after it was written anew, in bytes. */
export interface Compacted {
  readonly before: number
  readonly after: number
}

export interface Database extends AsyncDisposable {
  /** Immutable: tokens name it as their audience, so they survive a copy or a new address. */
  readonly id: string
  readonly name: string
  /**
   * Runs `work` on one consistent snapshot of the committed data. `work` is a plain function: it has no
   * effect but its result, and may run several times. The `tx` is dead afterwards. An error is a rejected promise.
   */
  read<T>(work: (tx: ReadTx) => T): Promise<T>
  /**
   * Runs `work` as one unit, all or nothing, durable when the promise resolves. Units are serial. `work` is a
   * plain function for a few milliseconds, and may run several times: it has no effect but through its `tx`. Throws `BUSY` when
   * the unit had to wait too long (it has certainly not run), and `STORAGE_FULL` or `STORAGE_FAILED` when nothing of it
   * was kept. After an error of the engine (a `CONFLICT` included) the unit is over, or the part of it that
   * `attempt` ran: catch it outside, never go on with the `tx`.
   */
  write<T>(work: (tx: WriteTx) => T, options?: WriteOptions): Promise<T>
  /**
   * `write` for long work, which awaits nothing but its steps, one after the other. Still one unit: all or
   * nothing, and no other unit runs meanwhile. Between two steps the engine lets readers and the network in, and may end
   * the unit: after its time budget, when its caller is gone, and when it awaits something else for seconds.
   */
  writeSteps<T>(work: (step: Step) => Promise<T>, options?: WriteOptions): Promise<T>
  /**
   * Calls `listener` once for each commit that has something to announce, in the order of their
   * revisions, whichever process made it. In the process that made it, the call comes before the
   * units are answered. A commit that the listener hears of can be read. Returns the way to stop.
   */
  onCommit(listener: (commit: Commit) => void): () => void
  /**
   * The commits that took a revision after this one, in order, their earlier units left out.
   * Undefined when the engine no longer knows all of them: then look at everything again.
   */
  commitsAfter(revision: number): Promise<readonly Commit[] | undefined>
  /**
   * Asks for a duty: background work that one holder at a time does, among all processes that have
   * the database open. It may be granted at once; `granted` is called when that happens later.
   */
  duty(name: DutyName, granted: () => void): Duty
  /**
   * Looks for damage in the structure of the engine's files, then in all rows. Each step is a short read, or
   * unit, of its own: others are served meanwhile, and their changes cause no faults. With `accepts`, rows that
   * were changed by hand get new checksums, entries that are missing are added and stale ones removed; the
   * faults are those that remain. Objects that are accepted take the revision of their unit.
   */
  verify(
    meaningOf: MeaningOf,
    accepts: boolean,
    programPart?: WriteOptions['programPart'],
  ): AsyncIterable<CheckedStep>
  /** Holds the latest commit until it is disposed, to be backed up. Others are served meanwhile. */
  copy(): Promise<DatabaseCopy>
}

/**
 * A step of a unit: a plain function, for a few milliseconds. It may run several times, so that it keeps what it wants
 * to keep by returning it. When it throws, the unit fails, caught or not, unless an attempt is around it.
 */
export interface Step {
  <T>(work: (tx: WriteTx) => T): Promise<T>
  /** Steps that may fail together: when `part` throws, their changes are gone and the unit goes on. */
  attempt<T>(part: () => Promise<T>): Promise<T>
}

export type DutyName = 'jobs' | 'mails' | 'blobs' | 'history'

/** Disposing gives the duty back, or stops asking for it. */
export interface Duty extends AsyncDisposable {
  /**
   * False until the duty is granted and after it is lost: then finish the unit under way and stop.
   */
  readonly isMine: boolean
}

export interface WriteOptions {
  /** Names the part of the program that writes to listeners. Opaque to the engine. */
  readonly programPart?: string | null
  /** The user who writes, or the API client for a token of its own: listeners are told. */
  readonly subject?: string | null
  /** The number of the sync client whose changes the unit makes: its tombstones name it, and listeners are told. */
  readonly client?: number
  /** Ends a unit that is not committed: its caller is gone. The promise rejects with `BUSY`. */
  readonly signal?: AbortSignal | undefined
  /** For imports in one unit: it may take longer than the time budget of a unit. */
  readonly isUnbounded?: boolean
  /**
   * A hint for an engine that commits units together: the unit hardly ever fails after its first change,
   * so that it is worth running those before it again when it does.
   */
  readonly rarelyFails?: boolean
}

/** The announcement of a commit: plain JSON, so that it can come from another process. */
export interface Commit {
  /** The name of the database. */
  readonly database: string
  /** The newest revision that became visible. */
  readonly revision: number
  /**
   * The units that took a revision, in order: those that changed objects, realms or policy, kept
   * an operation with criteria or rejected a transaction.
   */
  readonly units: readonly CommitUnit[]
  /** A job was stored, changed or removed. */
  readonly jobs: boolean
  /** A mail was stored or postponed. */
  readonly mails: boolean
  /** Files that a blob had its bytes in, and has not any more; another blob may have the same. */
  readonly leftFiles: readonly string[]
}

/** Lists have each entry once, in no order. */
export interface CommitUnit {
  readonly revision: number
  /** Realms that came, went, or have or had an object that changed. */
  readonly realms: readonly RealmRef[]
  /** Names of the tables with objects that changed. */
  readonly tables: readonly string[]
  /**
   * User ids, or e-mail addresses without a user id, whose memberships, private realm or user
   * changed: a membership that is stored again as it is changes nothing. A role may be that of very
   * many members, who are not named: when `tables` has `roles`, the members of the unit's `realms`
   * are concerned, and when `rlm-public` is one of these, everybody with a role.
   */
  readonly subjects: readonly string[]
  /**
   * The records of policy that changed, as `<table> <id>`: `clients c1`, `origins https://app.example.com`,
   * `logins l1` for a login that was revoked. `everything` after rows were changed by hand.
   */
  readonly records: readonly string[]
  /** The writer: `programPart`, `subject` and `client` as they were given to `write`. */
  readonly programPart: string | null
  readonly subject: string | null
  readonly client: number | null
}

export interface ReadTx {
  /** The newest revision this snapshot holds: no change up to it can still appear. */
  revision(): number
  /** The time that tokens and codes go by, ms, which does not go back (promise 11). */
  latestTime(): number
  readonly tables: TableReader
  readonly objects: ObjectReader
  readonly blobs: BlobReader
  readonly realms: RealmReader
  readonly memberships: MembershipReader
  readonly users: UserReader
  readonly clients: Records<Client>
  readonly keys: Records<SigningKey>
  readonly refreshTokens: RefreshTokenReader
  readonly codes: CodeReader
  readonly invitations: InvitationReader
  readonly mails: MailReader
  readonly origins: Records<Origin>
  readonly settings: Records<Setting>
  readonly providers: Records<Provider>
  readonly logins: LoginReader
  readonly jobs: Records<Job>
  readonly runs: RunReader
  readonly syncClients: SyncClientReader
  readonly applied: AppliedReader
  readonly criteriaOps: CriteriaOperationReader
  readonly audit: AuditReader
  /**
   * The value loaded under this name, while nothing has changed that `load` read: users, memberships,
   * realms, rows of built-in tables, clients, keys, origins, providers, settings, revoked logins and
   * declarations of tables count, application objects and the rest do not. Exact on reads and writes
   * alike: an engine may forget too much, never too little. `load` reads nothing but its `tx`.
   */
  remember<T>(name: string, load: () => T): T
  /** Calls `load` with these two, so that no function is made for each call. */
  remember<T, A, B>(name: string, load: (one: A, other: B) => T, one: A, other: B): T
}

/** A remembered value that a unit brings up to date itself. */
export interface Renewal<T> {
  readonly value: T
  /**
   * Remembers the result of `follow` in its place: for this unit and, once it is committed, for everybody, while
   * nothing has changed that the value was loaded from or that `follow` reads.
   */
  keep(follow: () => T): T
}

export interface WriteTx extends ReadTx {
  readonly tables: TableWriter
  readonly objects: ObjectWriter
  readonly blobs: BlobWriter
  readonly realms: RealmWriter
  readonly memberships: MembershipWriter
  readonly users: UserWriter
  readonly clients: RecordWriter<Client>
  readonly keys: RecordWriter<SigningKey>
  readonly refreshTokens: RefreshTokenWriter
  readonly codes: CodeWriter
  readonly invitations: InvitationWriter
  readonly mails: MailWriter
  readonly origins: RecordWriter<Origin>
  readonly settings: RecordWriter<Setting>
  readonly providers: RecordWriter<Provider>
  readonly logins: LoginWriter
  readonly jobs: RecordWriter<Job>
  readonly syncClients: SyncClientWriter
  readonly applied: AppliedWriter
  readonly criteriaOps: CriteriaOperationWriter
  readonly audit: AuditWriter
  /** The revision of this unit: that of all its changes, or of the first one if it comes. */
  unitRevision(): number
  /** A new id of `createIds`, its high-water mark kept with the unit. */
  newId(prefix: string, realmId: string): string
  /** Sets the latest time, which is no policy: no commit tells of it. */
  setLatestTime(time: number): void
  /** Forgets up to `limit` rows of a kind from before this time, ms; how many it forgot. */
  prune(kind: Prunable, before: number, limit: number): number
  /** Removes the codes of an address or user id, the invitations that went to it and the mails that wait for it. */
  forgetAddress(address: string): void
  /** Runs a part that may fail alone: when it throws, its changes are gone and the unit goes on. */
  attempt<T>(work: () => T): T
  /** The value that is remembered under this name, before the unit changes what it was loaded from. */
  renewal<T>(name: string): Renewal<T> | undefined
}

/** Runs a unit that writes: `Database.write`, or what a caller adds to it. */
export type Write = <T>(work: (tx: WriteTx) => T) => Promise<T>
