import type { TokenAnswer } from '../auth/grant/issuer'
import type { TestStore } from '../domain/store/test-store'
import type { Mailbox } from './mailbox'
import type { Message } from '../mail/message'
import type { OpenDatabase, TestDoubles } from './host'
import type { Hosts } from './hosts'

/** Test mode (`--test`): what tests may do with the databases of this server. */
export interface Testing extends TestDoubles {
  /** The bearer token of all that is below. */
  readonly token: string
  /** Called once, when databases can be opened. */
  opened(hosts: Hosts, store: TestStore): void
  /** Called when databases have a seed: `seed` fills one with its first rows. */
  seededBy(seed: (host: OpenDatabase) => Promise<void>): void
  /** Notes the database as it is now as the state to which `reset` returns; it has its seed. */
  begin(host: OpenDatabase): Promise<void>
  snapshot(database: string): Promise<{ readonly id: string }>
  /** Those of the database, the newest first; `created` in ms, by the machine. */
  snapshots(database: string): readonly { readonly id: string; readonly created: number }[]
  /** Returns to a snapshot, without faults. Throws `UNKNOWN_OBJECT`. */
  restore(database: string, id: string): Promise<void>
  removeSnapshot(database: string, id: string): void
  /** Makes a database with an identity of its own; returns its name. */
  fork(database: string, id: string): Promise<string>
  /**
   * Keeps the schema, the clients, keys, origins and settings of the database, empties the rest and
   * applies the seed again. Snapshots stay.
   */
  reset(database: string): Promise<void>
  /** Keeps a mail of the server itself, which was printed. */
  keepMail(message: Message): void
  mailbox(database: string): Mailbox
  login(database: string, login: LoginOrder): Promise<TokenAnswer & { readonly url?: string }>
  /** The time of the database, ms, which `change` changes first. */
  clock(database: string, change: ClockChange): Promise<{ now: number; isFrozen: boolean }>
  /**
   * Adds the login provider for tests to the database, with these people, or with those that it has.
   * Returns its name. Throws `NO_PUBLIC_ADDRESS`.
   */
  openIdp(database: string, people: readonly IdpPerson[] | null): Promise<string>
  /** Logs a person in at a provider; the address to which the browser returns at the end. */
  idpLogin(database: string, login: IdpLogin): Promise<string>
  /** Answers a request for the login provider; 404 while it was not opened. */
  idpRespond(database: string, request: IdpRequest): Promise<IdpAnswer>
  /** The failures that requests of the database meet, which `change` changes first. */
  fault(database: string, change: FaultChange): Fault
  /** The fault for a request; undefined for the addresses for tests and while nothing is to fail. */
  faultFor(request: Request): Fault | undefined
}

/** In the place of a database: the mails of the server itself, for people who create databases. */
export const SERVICE = 'service'

/** How a login at the provider for tests ends. */
export const IDP_FAILURES = ['denied', 'unverified', 'wrong-nonce', 'slow', 'down'] as const

/** A person at the login provider for tests. */
export interface IdpPerson {
  readonly email: string
  readonly name: string | null
  /** Null when the login succeeds. */
  readonly failure: (typeof IDP_FAILURES)[number] | null
}

/** A request for the login provider for tests, from a browser or from this server. */
export interface IdpRequest {
  /** Below its own address: `authorize`. */
  readonly path: string
  readonly query: URLSearchParams
  /** The body of a POST; empty for others. */
  readonly form: URLSearchParams
  /** The header. */
  readonly authorization: string | null
}

export interface IdpAnswer {
  readonly status: number
  readonly type?: string
  readonly body?: string
  /** For a redirect. */
  readonly location?: string
}

/** A login at the provider for tests without a browser. */
export interface IdpLogin {
  /** The e-mail address of the person. */
  readonly as: string
  /** The name of the provider. */
  readonly provider: string
  readonly redirectUri: string
}

/** How a server is to fail. */
export interface Fault {
  /** ms that each request takes longer. */
  readonly latency: number
  /** The share of requests that are answered with 503, from 0 to 1. */
  readonly errorRate: number
  /** True when no request is executed and every connection breaks. */
  readonly offline: boolean
  /** True when requests are executed and the connection breaks before the answer. */
  readonly loseReplies: boolean
}

/** A change of a fault; null changes nothing. */
export interface FaultChange {
  /** A duration: `200ms`. */
  readonly latency: string | null
  readonly errorRate: number | null
  readonly offline: boolean | null
  readonly loseReplies: boolean | null
}

/** A login without a mail. */
export interface LoginOrder {
  readonly email: string
  readonly name: string | null
  /** PEM; when given, the answer has a refresh token. */
  readonly publicKey: string | null
  /** A page of the application: the answer has the address with which the page is logged in. */
  readonly page: string | null
}

/** A change of a clock as a test asks for it; null changes nothing. */
export interface ClockChange {
  /** A duration: `31d`, `1h30m`, `-2m`. */
  readonly advance: string | null
  /** A time, as ISO 8601. */
  readonly set: string | null
  /** True stops the clock, false lets it run on. */
  readonly freeze: boolean | null
}
