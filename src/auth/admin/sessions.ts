import type { Clock } from '../../clock'
import { SatchelError } from '../../domain/value/error'
import { randomToken } from '../../domain/value/id'
import { type Scope, SCOPES } from '../../domain/value/scope'
import { hashSecret, newSecret, sameSecret } from '../../domain/value/secret'
import { HOUR, MINUTE, SECOND } from '../../domain/value/time'
import { createSteadyClock } from '../steady-clock'
import { createOnce } from '../once'
import { type AdminRole, createSeal } from './seal'

/** The rights of a login to the page for administrators. */
export interface AdminRights {
  /** The only database; null: all of them, and the server. */
  readonly database: string | null
  readonly isReadOnly: boolean
  /** The client of a person who has proven its address; null: the owner of the data folder let them in. */
  readonly client: { readonly id: string; readonly email: string } | null
}

/** A login to the page, which is in memory: a restart ends it. Times are ms since the epoch. */
export interface AdminSession extends AdminRights {
  readonly id: string
  /** The IP address that logged in. */
  readonly address: string
  readonly began: number
  /** The latest end, however often it is used. */
  readonly ends: number
  /** The end unless it is used before. */
  readonly idleAt: number
  /** Until then it may show secrets. */
  readonly confirmedUntil: number
}

/** A session at the time of a request. */
export interface LiveSession extends AdminSession {
  /** The scopes of the client at this time; all of them for the owner of the data folder. */
  readonly scopes: readonly Scope[]
  /** The time of the request, by a clock that does not go back. */
  readonly at: number
}

/** The one-time link of a new session, or the code that confirms one. */
export type LinkOrder =
  | (Omit<AdminRights, 'client'> & { readonly life: number | null })
  | 'confirmation'

/** The two halves that a browser keeps: one in a cookie, one in a tab. */
export interface OpenedSession {
  readonly session: LiveSession
  readonly cookie: string
  readonly key: string
}

/** Answers that go on, which end with their session. */
export interface SessionStream extends Disposable {
  /** Aborted with a `SatchelError` when the session has ended or has other scopes. */
  readonly signal: AbortSignal
}

/** Disposing ends all answers that go on. */
export interface AdminSessions extends Disposable {
  /** Makes a code that is good once, for ten minutes. */
  invite(order: LinkOrder): { readonly code: string; readonly expires: number }
  redeem(code: string): LinkOrder | undefined
  /** `life` in ms, at most twelve hours. Throws `SESSION_ENDED` when the client is gone meanwhile. */
  begin(rights: AdminRights, life: number | null, address: string): Promise<OpenedSession>
  /** The session of both halves, which is used by this: one of the cookies, and the key. Throws `SESSION_ENDED`. */
  use(cookies: readonly string[], key: string): Promise<LiveSession>
  /** The session with this id if one of the cookies is its half, for the bearer of a ticket. Throws the same. */
  useByCookie(cookies: readonly string[], id: string): Promise<LiveSession>
  /** Lets the session show secrets again. */
  confirm(id: string): void
  /** The newest first. */
  list(): readonly AdminSession[]
  /** Returns how many ended: one with this id, or all, and then all links too. */
  end(id: string | null): number
  stream(session: LiveSession): SessionStream
}

export interface SessionParts {
  readonly clock: Clock
  /** The scopes of a client of a database; undefined when it is gone or has expired. */
  readonly findScopes: (database: string, client: string) => Promise<readonly Scope[] | undefined>
  /** Called when a session has begun. Must not throw. */
  readonly began?: (session: AdminSession) => void
  /** Calls `work` again and again until it is disposed. */
  readonly every: (ms: number, work: () => void) => Disposable
}

const LINK_LIFE_MS = 10 * MINUTE
const IDLE_MS = 30 * MINUTE
const LONGEST_MS = 12 * HOUR
const CONFIRMED_MS = 10 * MINUTE
const LOOK_EVERY_MS = SECOND
/** A stream ends when a look at its client takes longer. */
const LOOK_PATIENCE_MS = 10 * SECOND
/** Beyond these the oldest link, or the session that was used least recently, ends: one of a client first. */
const MAX_LINKS = 100
const MAX_SESSIONS = 100
const MAX_SESSIONS_OF_CLIENT = 10
/** How many cookies of a request are looked at. */
const MAX_COOKIES = 50

interface Entry {
  readonly session: AdminSession
  readonly keyHash: string
  used: number
  confirmed: number
}

/** A stream with the scopes that it began with. */
interface Following {
  readonly session: LiveSession
  readonly controller: AbortController
}

/** The sessions of the page for administrators (admin.md §4). */
export function createAdminSessions({
  clock: machine,
  findScopes,
  began,
  every,
}: SessionParts): AdminSessions {
  // Sessions that have ended stay so when the clock of the machine is set back.
  const clock = createSteadyClock(machine)
  const seal = createSeal(clock)
  const links = createOnce<LinkOrder>(clock, LINK_LIFE_MS, MAX_LINKS)
  const entries = new Map<string, Entry>()
  const streams = new Set<Following>()
  /** When the looks began that are under way, by the ids of their sessions. */
  const looks = new Map<string, number>()
  let looking: Disposable | undefined

  async function begin(
    rights: AdminRights,
    life: number | null,
    address: string,
  ): Promise<OpenedSession> {
    const now = clock.now()
    const key = newSecret()
    const ends = now + Math.min(life ?? LONGEST_MS, LONGEST_MS)
    const session = {
      ...rights,
      // A letter first: at a terminal a hyphen would begin an option.
      id: `s${randomToken(16)}`,
      address,
      began: now,
      ends,
      idleAt: 0,
      confirmedUntil: 0,
    }
    const entry = { session, keyHash: hashSecret(key), used: now, confirmed: now }
    const scopes = await scopesOf(session)
    makeRoom(rights, now)
    entries.set(session.id, entry)
    began?.(stateOf(entry))
    return {
      session: { ...stateOf(entry), scopes, at: now },
      cookie: await seal.close({ id: session.id, role: roleOf(session), ends }),
      key,
    }
  }

  /** Removes the sessions that have ended, and one that was used least recently where there are too many. */
  function makeRoom({ client }: AdminRights, now: number): void {
    for (const [id, entry] of entries) if (isOver(entry, now)) end(id)
    const all = [...entries.values()].toSorted((one, other) => one.used - other.used)
    const ofClients = all.filter(({ session }) => session.client !== null)
    const own = ofClients.filter(({ session }) => session.client?.id === client?.id)
    const isFull = all.length >= MAX_SESSIONS
    const [oldest] =
      own.length >= MAX_SESSIONS_OF_CLIENT ? own : isFull ? [...ofClients, ...all] : []
    if (oldest !== undefined) end(oldest.session.id)
  }

  async function find(
    cookies: readonly string[],
    isRight: (entry: Entry) => boolean,
  ): Promise<LiveSession> {
    for (const cookie of cookies.slice(0, MAX_COOKIES)) {
      const entry = entries.get((await seal.open(cookie)) ?? '')
      if (entry !== undefined && isRight(entry)) return await useEntry(entry)
    }
    throw sessionEnded()
  }

  async function useEntry(entry: Entry): Promise<LiveSession> {
    const scopes = await scopesOf(entry.session)
    const now = clock.now()
    if (isOver(entry, now) || !entries.has(entry.session.id)) {
      end(entry.session.id)
      throw sessionEnded()
    }
    entry.used = now
    return { ...stateOf(entry), scopes, at: now }
  }

  /** Throws `SESSION_ENDED`, and ends the session, when its client is gone. */
  async function scopesOf({ id, client, database }: AdminSession): Promise<readonly Scope[]> {
    if (client === null || database === null) return SCOPES
    const scopes = await findScopes(database, client.id)
    if (scopes !== undefined) return scopes
    end(id)
    throw sessionEnded()
  }

  function end(id: string): boolean {
    endStreams(streamsOf(id), sessionEnded())
    return entries.delete(id)
  }

  /** Ends what is over, and looks at the clients of streams: at each session by itself, because a database may be slow. */
  function look(): void {
    const now = clock.now()
    for (const [id, entry] of entries) if (isOver(entry, now)) end(id)
    const sessions = new Map([...streams].map(({ session }) => [session.id, session]))
    for (const [id, session] of sessions) {
      const begun = looks.get(id)
      if (begun === undefined) void lookAt(session, now)
      else if (begun + LOOK_PATIENCE_MS <= now) endStreams(streamsOf(id), scopesUnknown())
    }
  }

  /** Ends the streams of a session whose client is gone, has other scopes, or cannot be looked up. */
  async function lookAt(session: LiveSession, now: number): Promise<void> {
    if (session.client === null) return
    const own = streamsOf(session.id)
    looks.set(session.id, now)
    try {
      const scopes = (await scopesOf(session)).join()
      endStreams(
        own.filter((stream) => stream.session.scopes.join() !== scopes),
        scopesChanged(),
      )
    } catch (error) {
      endStreams(own, error instanceof SatchelError ? error : scopesUnknown(error))
    } finally {
      looks.delete(session.id)
    }
  }

  function streamsOf(id: string): Following[] {
    return [...streams].filter(({ session }) => session.id === id)
  }

  return {
    invite: (order) => links.issue(order),
    redeem: (code) => links.take(code),
    begin,
    use: (cookies, key) => find(cookies, ({ keyHash }) => sameSecret(hashSecret(key), keyHash)),
    useByCookie: (cookies, id) => find(cookies, ({ session }) => session.id === id),
    confirm(id) {
      const entry = entries.get(id)
      if (entry !== undefined) entry.confirmed = clock.now()
    },
    list() {
      const now = clock.now()
      const live = [...entries.values()].filter((entry) => !isOver(entry, now))
      return live.map(stateOf).toReversed()
    },
    end(id) {
      if (id === null) links.clear()
      const ids = id === null ? [...entries.keys()] : [id]
      return ids.filter(end).length
    },
    stream(session) {
      const stream = { session, controller: new AbortController() }
      streams.add(stream)
      looking ??= every(LOOK_EVERY_MS, look)
      if (!entries.has(session.id)) stream.controller.abort(sessionEnded())
      return {
        signal: stream.controller.signal,
        [Symbol.dispose]() {
          streams.delete(stream)
          if (streams.size > 0) return
          looking?.[Symbol.dispose]()
          looking = undefined
        },
      }
    },
    [Symbol.dispose]() {
      endStreams(streams, stopping())
    },
  }
}

/** Only the owner of the data folder, without a limit to one database, sees the server. */
export function roleOf({ client, database }: AdminRights): AdminRole {
  return client === null && database === null ? 'operator' : 'client'
}

function stateOf({ session, used, confirmed }: Entry): AdminSession {
  return { ...session, idleAt: used + IDLE_MS, confirmedUntil: confirmed + CONFIRMED_MS }
}

function isOver({ session, used }: Entry, now: number): boolean {
  return session.ends <= now || used + IDLE_MS <= now
}

function endStreams(streams: Iterable<Following>, error: SatchelError): void {
  for (const { controller } of streams) controller.abort(error)
}

function scopesChanged(): SatchelError {
  return new SatchelError('NOT_AUTHORIZED', 'The scopes of this client were changed: try again')
}

function scopesUnknown(cause?: unknown): SatchelError {
  const sentence = 'The scopes of this client could not be read: try again'
  return new SatchelError('BUSY', sentence, { cause, retryAfter: 5 })
}

function stopping(): SatchelError {
  return new SatchelError('BUSY', 'The server is stopping', { retryAfter: 5 })
}

export function sessionEnded(): SatchelError {
  return new SatchelError('SESSION_ENDED', 'You are not logged in, or the login has ended')
}
