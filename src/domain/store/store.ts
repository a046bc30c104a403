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
  Awaitable,
  Records,
  RecordWriter,
} from './records'
import type { MembershipReader, MembershipWriter } from './memberships'
import type { MailReader, MailWriter } from './mails'
import type { InvitationReader, InvitationWriter } from './invitations'
import type { UserReader, UserWriter } from './users'
import type {
  CodeReader,
  CodeWriter,
  LoginReader,
  LoginWriter,
  RefreshTokenReader,
  RefreshTokenWriter,
  TimeReader,
  TimeWriter,
} from './credentials'
import type { TableReader, TableWriter } from './tables'

/**
 * The seam between the domain and a storage engine (design.md §3). `test/contract/store.ts` is its
 * contract suite: an engine that passes it is done. The engine filters by ids and knows no policy.
 */
export interface Store extends AsyncDisposable {
  /** Names of the databases in this store, sorted. */
  list(): Promise<string[]>
  has(name: string): Promise<boolean>
  /** Opens an existing database, or returns the open one. Throws `UNKNOWN_DATABASE`. */
  open(name: string): Promise<Database>
  /** Throws `CONFLICT` when the name is taken, `UNPROCESSABLE` when it is no database name. */
  create(name: string): Promise<Database>
  /** Closes the database and removes everything of it. Throws `UNKNOWN_DATABASE`. */
  remove(name: string): Promise<void>
}

export interface Database extends AsyncDisposable {
  /** Immutable: tokens name it as their audience, so they survive a copy or a new address. */
  readonly id: string
  readonly name: string
  /**
   * Runs `work` on one consistent snapshot of the committed data. `work` awaits nothing but its `tx`
   * (else it keeps its snapshot or is refused), and the `tx` is dead afterwards. `work` may run again
   * when the engine could not keep the snapshot, so it has no effect but its result.
   */
  read<T>(work: (tx: ReadTx) => Awaitable<T>): Promise<T>
  /**
   * Runs `work` as one unit, all or nothing, durable when the promise resolves. Units are serial.
   * Throws `BUSY` when the unit had to wait too long (it has certainly not run) and `STORAGE_FULL`
   * or `STORAGE_FAILED` when nothing of it was kept. `work` may run again after such a failure, so it
   * has no effect but through its `tx`. After an error of the engine (a `CONFLICT` included) the unit
   * is over, or the part of it that `attempt` ran: catch it outside, never go on with the `tx`.
   */
  write<T>(work: (tx: WriteTx) => Awaitable<T>): Promise<T>
  /**
   * Called once after every commit that changed objects, realms, jobs or mails, or spent contents.
   * Returns the way to stop.
   */
  onCommit(listener: (change: Commit) => void): () => void
}

export interface Commit {
  readonly database: string
  /** The newest revision that became visible. */
  readonly revision: number
  readonly realms: readonly RealmRef[]
  /** A job was put down, moved on or ended. */
  readonly jobs: boolean
  /** A mail was put down or is to be tried at another time. */
  readonly mails: boolean
  /** Bytes of blobs are needed no more. */
  readonly contentSpent: boolean
}

export interface ReadTx {
  /** The newest revision this snapshot holds: no change up to it can still appear. */
  revision(): Awaitable<number>
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
  readonly time: TimeReader
  readonly jobs: Records<Job>
  /**
   * The value loaded under this name since policy last changed (users, members, roles, realms,
   * clients, keys, origins, tables), else `load`s it. Exact on reads and writes alike.
   */
  remember<T>(name: string, load: () => Awaitable<T>): Awaitable<T>
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
  readonly time: TimeWriter
  readonly jobs: RecordWriter<Job>
  /** A new id of `createIds`, its high-water mark kept with the unit. */
  newId(prefix: string, realmId: string): string
  /** Runs a part that may fail alone: when it throws, its changes are gone and the unit goes on. */
  attempt<T>(work: () => Awaitable<T>): Promise<T>
  /** Lets readers and the network in when the unit has run for a while. Call it between batches. */
  breathe(): Promise<void>
}
